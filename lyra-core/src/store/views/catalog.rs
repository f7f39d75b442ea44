//! The available views: the built-in ones, and those of a user's folder.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use minijinja::Environment;
use serde::Serialize;
use serde_json::{Map, Value};

use super::header::{self, Column, Header, TemplateFault};
use super::params::{CURRENT_YEAR, TASK_ID, ViewParameter, ViewParams, suggestion};
use super::render::{RenderedView, environment, given, render_body, used, written_out};
use super::scan::{SqlMark, scan};
use crate::error::{Error, Result};

/// Extension of template files.
const EXTENSION: &str = ".sql.j2";
/// Longest template in bytes: the SQL guard's limit for one statement.
const MAX_TEMPLATE_BYTES: usize = 32_768;
/// Maximum number of parameters of a view; when it is loaded, every combination of present and missing
/// parameters is tested.
const MAX_PARAMETERS: usize = 8;

macro_rules! templates {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("sql/", $name, ".sql.j2")))),*]
    };
}

/// The built-in templates, by name.
const BUILT_IN: [(&str, &str); 28] = templates![
    "v_bibliographic_coupling",
    "v_citation_age_gap",
    "v_citation_chains",
    "v_citation_clusters",
    "v_citation_flow",
    "v_claim_evidence_summary",
    "v_claim_origins",
    "v_claim_temporal_support",
    "v_contradictions",
    "v_controversy_by_era",
    "v_emerging_consensus",
    "v_evidence_chain",
    "v_evidence_freshness",
    "v_evidence_timeline",
    "v_hub_pages",
    "v_hypothesis_evidence",
    "v_judge_agreement",
    "v_open_judgements",
    "v_orphan_sources",
    "v_outdated_evidence",
    "v_prisma",
    "v_reference_candidates",
    "v_review_records",
    "v_screening",
    "v_screening_agreement",
    "v_source_authority",
    "v_source_impact",
    "v_unsupported_claims",
];

/// The description, parameters and columns of a view.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ViewInfo {
    /// Name, starting with `v_`.
    pub name: String,
    /// The question that it answers.
    pub description: String,
    /// Its parameters. `task_id` is accepted by every view and ignored by those without it here.
    pub parameters: Vec<ViewParameter>,
    /// Names of its columns, in order.
    pub columns: Vec<String>,
    /// Those of them that are left out unless [`ViewColumns::All`](crate::ViewColumns) is requested:
    /// columns that repeat another column, and columns that are rarely needed.
    pub extra_columns: Vec<String>,
    /// The contents of each column.
    pub column_descriptions: BTreeMap<String, String>,
    /// The order of its rows; it is total, so that paging is stable.
    pub order: Option<String>,
}

impl ViewInfo {
    /// Whether the view can be restricted to one task; otherwise it covers the whole graph.
    pub fn is_task_scoped(&self) -> bool {
        self.parameters.iter().any(|p| p.name == TASK_ID)
    }
}

/// A file in a user's folder of views that cannot be used as a view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BrokenView {
    /// The name that the view would have.
    pub name: String,
    /// The file.
    pub file: PathBuf,
    /// The line with the error, counted from 1, if known.
    pub line: Option<usize>,
    /// The error.
    pub reason: String,
}

impl BrokenView {
    /// Advice for all of them.
    pub(crate) const ADVICE: &str =
        "docs/views.md shows the form of a view file under \"Views of your own\"";

    /// The error and its line, without the folder of the file.
    pub(crate) fn fault(&self) -> String {
        match self.line {
            Some(line) => format!("line {line}: {}", self.reason),
            None => self.reason.clone(),
        }
    }
}

impl fmt::Display for BrokenView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "view file {}", self.file.display())?;
        match self.line {
            Some(line) => write!(f, ", line {line}: {}", self.reason),
            None => write!(f, ": {}", self.reason),
        }
    }
}

#[derive(Debug, Clone)]
struct View {
    info: ViewInfo,
    /// The template without its header.
    body: String,
    /// None if a parameter other than the task is required.
    unscoped: Option<Unscoped>,
}

/// A view rendered without parameters, used for stored views.
#[derive(Debug, Clone)]
struct Unscoped {
    defaults: Map<String, Value>,
    sql: String,
}

/// All available views, by name.
///
/// ```
/// use lyra_core::store::views::{ViewCatalog, ViewParams};
/// let catalog = ViewCatalog::builtin()?;
/// let view = catalog.render("v_contradictions", &ViewParams::new(2026).with_task("task_0a1b2c3d"))?;
/// assert!(view.sql.contains(":task_id") && !view.sql.contains("task_0a1b2c3d"));
/// assert_eq!(view.bindings["task_id"], "task_0a1b2c3d");
/// let inside_another = format!("WITH x AS ({}) SELECT count(*) FROM x", view.sql);
/// # assert!(!inside_another.contains(';'));
/// # Ok::<(), lyra_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ViewCatalog {
    env: Environment<'static>,
    views: BTreeMap<String, View>,
}

impl ViewCatalog {
    /// The views that come with the library.
    pub fn builtin() -> Result<Self> {
        static PARSED: LazyLock<std::result::Result<ViewCatalog, String>> =
            LazyLock::new(ViewCatalog::parse_builtin);
        PARSED.clone().map_err(Error::internal)
    }

    /// A test checks the built-in templates as the files of a user are checked. That takes too long for
    /// the start of every program.
    fn parse_builtin() -> std::result::Result<Self, String> {
        let mut catalog = Self {
            env: environment(),
            views: BTreeMap::new(),
        };
        for (name, source) in BUILT_IN {
            header::parse(source)
                .and_then(|header| catalog.insert(name, source, header))
                .map_err(|fault| format!("{name}, line {}: {}", fault.line, fault.reason))?;
        }
        Ok(catalog)
    }

    /// The same catalog with the `*.sql.j2` files of `dir`, which add views or replace those of the same
    /// name.
    ///
    /// Fails with `NotFound` if there is no such folder, and with `InvalidInput`, which names the file,
    /// line and reason, if a file is not a valid view.
    pub fn with_folder(mut self, dir: &Path) -> Result<Self> {
        for file in Self::files_of(dir)? {
            self.add_file(&file).map_err(|broken| {
                Error::invalid(broken.to_string()).with_hint(BrokenView::ADVICE)
            })?;
        }
        Ok(self)
    }

    /// The view files of a folder, by name; `NotFound` if there is no such folder.
    pub(crate) fn files_of(dir: &Path) -> Result<Vec<PathBuf>> {
        let unreadable = |e: std::io::Error| {
            Error::not_found(format!("views: cannot read {}: {e}", dir.display()))
                .with_hint("give a folder that holds *.sql.j2 files, or none")
                .with_source(e)
        };
        let mut files = Vec::new();
        for entry in std::fs::read_dir(dir).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            if view_name(&path).is_some() && path.is_file() {
                files.push(path);
            }
        }
        files.sort();
        Ok(files)
    }

    /// Adds one file; nothing changes if it is not a valid view.
    pub(crate) fn add_file(&mut self, file: &Path) -> std::result::Result<(), BrokenView> {
        let name = view_name(file).unwrap_or_default();
        let broken = |fault: TemplateFault| BrokenView {
            name: name.to_owned(),
            file: file.to_owned(),
            line: Some(fault.line),
            reason: fault.reason,
        };
        let bytes = std::fs::read(file).map_err(|e| BrokenView {
            line: None,
            ..broken(TemplateFault::new(1, format!("cannot be read: {e}")))
        })?;
        let source = String::from_utf8(bytes).map_err(|e| {
            let good = &e.as_bytes()[..e.utf8_error().valid_up_to()];
            let line = 1 + good.iter().filter(|b| **b == b'\n').count();
            broken(TemplateFault::new(line, "the text is not UTF-8"))
        })?;
        let source = source.trim_start_matches('\u{feff}').replace("\r\n", "\n");
        self.add(name, &source).map_err(broken)
    }

    fn add(&mut self, name: &str, source: &str) -> Result<(), TemplateFault> {
        if !(name.starts_with("v_") && header::is_name(name)) {
            // A stored view takes precedence over a table of the same name, so a name without the prefix
            // could hide a table.
            return Err(TemplateFault::new(
                1,
                format!("the name {name:?} must start with v_ and hold only a-z, 0-9 and _"),
            ));
        }
        if source.len() > MAX_TEMPLATE_BYTES {
            let reason = format!(
                "{} bytes is too long: the limit is {MAX_TEMPLATE_BYTES}",
                source.len()
            );
            return Err(TemplateFault::new(1, reason));
        }
        let header = header::parse(source)?;
        let body = &source[header.body_start..];
        check_text(body, &header)?;
        self.check_renderings(name, body, &header)?;
        self.insert(name, source, header)
    }

    fn insert(&mut self, name: &str, source: &str, header: Header) -> Result<(), TemplateFault> {
        let body = &source[header.body_start..];
        let unscoped = self.unscoped(name, body, &header)?;
        let names = |which: fn(&&Column) -> bool| {
            let chosen = header.columns.iter().filter(which);
            chosen.map(|column| column.name.clone()).collect()
        };
        let (columns, extra_columns) = (names(|_| true), names(|column| column.is_extra));
        let described = header.columns.into_iter();
        let info = ViewInfo {
            name: name.to_owned(),
            description: header.description,
            parameters: header.parameters,
            columns,
            extra_columns,
            column_descriptions: described.map(|c| (c.name, c.description)).collect(),
            order: header.order,
        };
        self.views.insert(
            name.to_owned(),
            View {
                info,
                body: body.to_owned(),
                unscoped,
            },
        );
        Ok(())
    }

    /// Renders every combination of present and missing parameters, so that errors are found before the
    /// first query.
    fn check_renderings(
        &self,
        name: &str,
        body: &str,
        header: &Header,
    ) -> Result<(), TemplateFault> {
        let names: Vec<&str> = header.parameters.iter().map(|p| p.name.as_str()).collect();
        for combination in 0..1_u32 << names.len() {
            let chosen = names
                .iter()
                .enumerate()
                .map(|(i, n)| (*n, combination >> i & 1 == 1))
                .collect();
            let sql = render_body(&self.env, name, body, &chosen)
                .map_err(|fault| header.in_file(fault))?;
            let first = scan(&sql).into_iter().next().map(|f| f.mark);
            let is_query = matches!(&first, Some(SqlMark::Word(word))
                if ["select", "with"].contains(&word.to_lowercase().as_str()));
            if !is_query {
                let blank = body.lines().take_while(|l| l.trim().is_empty()).count();
                return Err(TemplateFault::new(
                    header.body_line + blank,
                    "the SQL must start with SELECT or WITH",
                ));
            }
        }
        Ok(())
    }

    /// The view without parameters; none if it requires more than a task.
    fn unscoped(
        &self,
        name: &str,
        body: &str,
        header: &Header,
    ) -> Result<Option<Unscoped>, TemplateFault> {
        if header
            .parameters
            .iter()
            .any(|p| p.required && p.name != TASK_ID)
        {
            return Ok(None);
        }
        let defaults: Map<String, Value> = header
            .parameters
            .iter()
            .map(|p| (p.name.clone(), p.default.clone().unwrap_or(Value::Null)))
            .collect();
        let mut chosen = given(&header.parameters, &defaults);
        if let Some(year) = chosen.get_mut(CURRENT_YEAR) {
            *year = true;
        }
        let sql =
            render_body(&self.env, name, body, &chosen).map_err(|fault| header.in_file(fault))?;
        Ok(Some(Unscoped { defaults, sql }))
    }

    /// Every view, by name.
    pub fn list(&self) -> Vec<ViewInfo> {
        self.views.values().map(|v| v.info.clone()).collect()
    }

    /// The view of that name, or `NotFound` with the nearest name and all names.
    pub fn info(&self, name: &str) -> Result<&ViewInfo> {
        self.view(name).map(|v| &v.info)
    }

    /// The template of a view without its header, and the environment that renders it.
    pub(super) fn template(&self, name: &str) -> Result<(&str, &Environment<'static>)> {
        self.view(name).map(|view| (view.body.as_str(), &self.env))
    }

    fn view(&self, name: &str) -> Result<&View> {
        self.views.get(name).ok_or_else(|| {
            let names: Vec<&str> = self.views.keys().map(String::as_str).collect();
            Error::not_found(format!("no view {name:?}"))
                .with_hint(suggestion(name, &names, "views"))
        })
    }

    /// The SQL of a view with the values to bind.
    ///
    /// Fails with `NotFound` for an unknown view; with `InvalidInput` for an unknown parameter, a value
    /// of the wrong type, and a missing required parameter.
    pub fn render(&self, name: &str, params: &ViewParams) -> Result<RenderedView> {
        let view = self.view(name)?;
        let values = params.resolve(name, &view.info.parameters)?;
        let chosen = given(&view.info.parameters, &values);
        let sql = render_body(&self.env, name, &view.body, &chosen)
            .map_err(|fault| Error::internal(format!("view {name}: {}", fault.reason)))?;
        let bindings = used(&sql, values);
        Ok(RenderedView { sql, bindings })
    }

    /// Name and SELECT of every view in a form without parameters, for temporary views.
    ///
    /// They are not restricted to a task; a task-scoped view has a `task_id` column to filter by. The
    /// other parameters have their default values, and `current_year` is written as a number. A user's
    /// view that requires more than a task is left out.
    pub fn temp_views(&self, current_year: i32) -> Vec<(String, String)> {
        let written = |(name, view): (&String, &View)| {
            let unscoped = view.unscoped.as_ref()?;
            let sql = written_out(&unscoped.sql, &unscoped.defaults, current_year);
            Some((name.clone(), sql))
        };
        self.views.iter().filter_map(written).collect()
    }
}

/// Checks that the header cannot make: the parameters in the SQL, and that it is one statement.
fn check_text(body: &str, header: &Header) -> Result<(), TemplateFault> {
    if header.parameters.len() > MAX_PARAMETERS {
        return Err(TemplateFault::new(
            1,
            format!("more than {MAX_PARAMETERS} parameters"),
        ));
    }
    for found in scan(body) {
        let reason = match found.mark {
            SqlMark::Parameter(name) if header.parameters.iter().any(|p| p.name == name) => {
                continue;
            }
            SqlMark::Word(_) => continue,
            SqlMark::Parameter(name) => {
                format!("the header does not declare the parameter :{name}")
            }
            SqlMark::ForeignParameter(c) => {
                format!("parameters are written :name, not with {c:?}")
            }
            SqlMark::Semicolon => "one statement only, without a semicolon".to_owned(),
        };
        return Err(TemplateFault::new(
            header.body_line + found.line - 1,
            reason,
        ));
    }
    Ok(())
}

/// The name of the view in a file, if the file name is that of a view.
pub(crate) fn view_name(file: &Path) -> Option<&str> {
    file.file_name()?.to_str()?.strip_suffix(EXTENSION)
}
