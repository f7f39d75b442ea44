//! Search providers in Python.

use super::claims::entry;
use super::{Callable, id_of, listed, own_name, refuse_async};
use crate::error::invalid;
use lyra_core::Result;
use lyra_core::ports::{SearchHit, SearchProvider, SearchQuery};
use lyra_core::store::model::DocumentMeta;
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::path::Path;
use std::sync::Arc;

#[derive(Debug)]
pub(crate) struct PythonProvider {
    callable: Callable,
    name: String,
    is_academic: bool,
}

impl PythonProvider {
    pub(crate) fn new(function: Bound<'_, PyAny>, graph: Arc<Path>) -> PyResult<Self> {
        if !function.is_callable() {
            return Err(invalid(format!(
                "a provider is of type {}; expected a name, a dict with a name, or something to call \
                 with a query and a limit",
                function.get_type().name()?
            )));
        }
        refuse_async("a provider", &function)?;
        let name = match own_name(&function, "name")? {
            Some(own) => own,
            None => {
                let id = id_of(&function, "name")?;
                id.rsplit('.').next().unwrap_or(&id).to_owned()
            }
        };
        let is_academic = match function.getattr_opt("is_academic")? {
            Some(own) => own.extract()?,
            None => false,
        };
        let callable = Callable::new(function, "search provider", &name, graph);
        Ok(Self {
            callable,
            name,
            is_academic,
        })
    }
}

#[async_trait::async_trait]
impl SearchProvider for PythonProvider {
    fn name(&self) -> &str {
        &self.name
    }

    async fn search(&self, query: &SearchQuery) -> Result<Vec<SearchHit>> {
        let (text, limit) = (query.text.clone(), query.limit);
        self.callable
            .call(move |function| {
                let found = function.call1((text, limit))?;
                let wanted = "a list of hits: addresses, or dicts with a url";
                let mut rank = 0;
                listed(&found, limit, wanted, |hit| {
                    rank += 1;
                    read(hit, rank)
                })
            })
            .await
    }

    fn is_academic(&self) -> bool {
        self.is_academic
    }
}

/// A hit as returned by the callable: an address, or a dict with `url` and further metadata.
fn read(given: &Bound<'_, PyAny>, rank: usize) -> PyResult<SearchHit> {
    if let Ok(url) = given.cast::<PyString>() {
        return Ok(SearchHit {
            url: url.to_str()?.to_owned(),
            rank,
            ..SearchHit::default()
        });
    }
    let entry = |name: &str| entry(given, name);
    let text = |name: &str| -> PyResult<Option<String>> {
        entry(name)?.map(|entry| entry.extract()).transpose()
    };
    let url = text("url")?.ok_or_else(|| invalid("a hit has no \"url\""))?;
    let title = text("title")?;
    let meta = DocumentMeta {
        title: title.clone(),
        authors: entry("authors")?.map_or_else(|| Ok(Vec::new()), |entry| entry.extract())?,
        year: entry("year")?.map(|entry| entry.extract()).transpose()?,
        published_date: text("published_date")?,
        venue: text("venue")?,
        doi: text("doi")?,
        pmid: text("pmid")?,
        pmcid: text("pmcid")?,
        arxiv_id: text("arxiv_id")?,
        language: text("language")?,
        ..DocumentMeta::default()
    };
    Ok(SearchHit {
        url,
        rank,
        title,
        snippet: text("snippet")?,
        meta,
        abstract_text: text("abstract")?,
        ..SearchHit::default()
    })
}
