//! `doctor`, `views`: what there is.

use super::config::Settings;
use super::output::Output;
use lyra_core::Engine;
use lyra_core::{Error, Result};
use std::process::ExitCode;

pub(super) fn run(settings: &Settings) -> Result<ExitCode> {
    let mut out = Output::new();
    let file = settings
        .file
        .as_ref()
        .map_or("none".to_owned(), |path| path.display().to_string());
    out.line(&format!("config file    {file}"))?;
    out.line(&format!("database       {}", settings.db.display()))?;
    for folder in &settings.corpus {
        out.line(&format!("corpus         {}", folder.display()))?;
    }
    out.line(&format!("embedder       {}", settings.embedder.choice))?;
    if let Some(judge) = &settings.judge {
        out.line(&format!("judge          {}", judge.choice))?;
    }
    if let Some(llm) = &settings.llm {
        out.line(&format!("language model {}", llm.describe()))?;
    }
    out.line("")?;
    let mut code = ExitCode::SUCCESS;
    // Where a model cannot be opened, the rest is looked at with the built-in one.
    let mut config = super::plain_config(settings);
    for (what, opened) in [
        ("embedder", super::open_embedder(settings, &mut config)),
        (
            "language model",
            super::open_language_model(settings, &mut config),
        ),
        ("stance judge", super::open_judge(settings, &mut config)),
    ] {
        if let Err(error) = opened {
            failed(&mut out, what, &error)?;
            code = ExitCode::FAILURE;
        }
    }
    let opened = super::make_folder(settings).and_then(|()| Engine::open(config));
    let engine = match opened {
        Ok(engine) => engine,
        Err(error) => {
            failed(&mut out, "database", &error)?;
            out.finish()?;
            return Ok(ExitCode::FAILURE);
        }
    };
    for check in engine.doctor() {
        let mark = if check.ok { "ok  " } else { "FAIL" };
        out.line(&format!("{mark}  {}: {}", check.name, check.detail))?;
        if let Some(advice) = &check.advice {
            out.line(&format!("      {advice}"))?;
        }
        if !check.ok {
            code = ExitCode::FAILURE;
        }
    }
    out.finish()?;
    Ok(code)
}

fn failed(out: &mut Output, what: &str, error: &Error) -> Result<()> {
    out.line(&format!("FAIL  {what}: {}", error.message()))?;
    match error.hint() {
        Some(hint) => out.line(&format!("      {hint}")),
        None => Ok(()),
    }
}

pub(super) fn views(engine: &Engine) -> Result<()> {
    let mut out = Output::new();
    for view in engine.list_views() {
        out.line(&format!("{}\t{}", view.name, view.description))?;
    }
    out.finish()
}
