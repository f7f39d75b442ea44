//! The parts of a configuration that use the network, a recording or a replay.

use super::EngineConfig;
use crate::clock::{Clock, ShiftedClock, format_ms, parse_ms};
use crate::documents::Documents;
use crate::error::{Error, ErrorKind, Result};
use crate::models::{BuiltinClaimExtractor, BuiltinStanceJudge, StaticEmbedder};
use crate::ports::{DocumentParser, Fetcher, SearchProvider};
use crate::record::Live;
use crate::research::pipeline::Limits;
use std::sync::Arc;

/// The configuration with a record between the engine and the outside world, or in place of it.
pub(super) fn wire(mut config: EngineConfig) -> Result<(EngineConfig, Option<Arc<ShiftedClock>>)> {
    let Some(record) = config.record.clone() else {
        return Ok((config, None));
    };
    if !config.fetchers.is_empty() {
        let message = "fetchers of a program's own are not recorded";
        return Err(Error::new(ErrorKind::Unsupported, message)
            .with_hint("leave EngineConfig::fetchers empty where EngineConfig::record is set"));
    }
    let mut clock = None;
    let wired = if record.is_recording() {
        record.listen(live(&mut config)?)?
    } else {
        let header = record.header()?;
        if config.limits == Limits::default() {
            config.limits = header.limits;
        }
        let began = parse_ms(&header.began).unwrap_or(0);
        let shifted = Arc::new(ShiftedClock::beginning(Arc::clone(&config.clock), began));
        config.clock = Arc::clone(&shifted) as Arc<dyn Clock>;
        clock = Some(shifted);
        record.answer()?
    };
    // Models that the caller of a replay names are used directly: that is why they were named.
    if record.is_recording() {
        config.embedder = wired.embedder;
        config.claim_extractor = wired.extractor;
        config.stance_judge = wired.judge;
    } else {
        config.embedder = config.embedder.or(wired.embedder);
        config.claim_extractor = config.claim_extractor.or(wired.extractor);
        config.stance_judge = config.stance_judge.or(wired.judge);
    }
    config.fetchers = vec![wired.fetcher];
    config.providers = wired.providers;
    config.search = crate::web::ProvidersConfig::default();
    config.retractions_csv = wired.retractions;
    Ok((config, clock))
}

fn live(config: &mut EngineConfig) -> Result<Live> {
    let mut providers: Vec<Arc<dyn SearchProvider>> = config.providers.clone();
    providers.extend(config.search.build(&config.clock)?);
    let embedder = match &config.embedder {
        Some(embedder) => Arc::clone(embedder),
        None => Arc::new(StaticEmbedder::new()?),
    };
    let parser = config.parser.as_ref();
    Ok(Live {
        began: format_ms(config.clock.now_ms()),
        limits: config.limits,
        parser: parser.map_or_else(|| Documents.setup(), |parser| parser.setup()),
        fetcher: web_fetcher(config),
        providers,
        embedder,
        extractor: (config.claim_extractor.clone())
            .unwrap_or_else(|| Arc::new(BuiltinClaimExtractor)),
        judge: (config.stance_judge.clone()).unwrap_or_else(|| Arc::new(BuiltinStanceJudge)),
        corpus: config.corpus.clone(),
        retractions: config.retractions_csv.clone(),
    })
}

#[cfg(feature = "http")]
pub(super) fn web_fetcher(config: &EngineConfig) -> Option<Arc<dyn Fetcher>> {
    let options = crate::web::HttpOptions {
        allow_private_hosts: config.allow_private_hosts,
        ..crate::web::HttpOptions::default()
    };
    Some(Arc::new(crate::web::HttpFetcher::new(options)))
}

#[cfg(not(feature = "http"))]
pub(super) fn web_fetcher(_config: &EngineConfig) -> Option<Arc<dyn Fetcher>> {
    None
}
