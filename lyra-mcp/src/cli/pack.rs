//! `pack` and `unpack`.

use super::config::Settings;
use super::output::{Output, json};
use super::{Global, open};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use lyra_core::{
    Engine, EngineConfig, Error, ErrorKind, PackKey, PackOptions, PackReport, PackTexts, Record,
    Result, StatedLicence, WholeFile, rows_of_pack, unpack_pack, verify_pack,
};
use std::io::{BufReader, BufWriter, Seek, SeekFrom};
use std::path::{Path, PathBuf};

#[derive(Args)]
pub(super) struct Pack {
    /// The task
    #[arg(long, value_name = "ID")]
    task: String,
    /// The new file
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Which page texts are included: all, those whose licence is known to allow it, or none
    #[arg(long, value_parser = texts(), default_value = "licensed")]
    texts: PackTexts,
    /// The licence of the pages whose addresses begin with this prefix, such as
    /// https://journals.plos.org/=CC-BY-4.0; may be given several times
    #[arg(long, value_name = "ADDRESS=LICENCE")]
    licence: Vec<StatedLicence>,
    /// The record of the run, whose list is included
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    /// The private key for the signature (Ed25519, PEM), created if it does not exist [default:
    /// lyra/pack-key.pem in the user's configuration folder]
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
}

#[derive(Args)]
pub(super) struct Unpack {
    /// The pack
    #[arg(value_name = "FILE")]
    pack: PathBuf,
    /// Check the signature, every hash and every quote; this is always done, with or
    /// without the flag
    #[arg(long)]
    verify: bool,
    /// The public key that must have signed it (PEM)
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Extract the files into this folder, which must be new or empty
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

fn texts() -> impl TypedValueParser<Value = PackTexts> {
    PossibleValuesParser::new(PackTexts::ALL.map(|(name, _)| name))
        .try_map(|name| name.parse::<PackTexts>())
}

pub(super) fn pack(settings: &Settings, options: Pack) -> Result<()> {
    let engine = open(settings)?;
    let key = match &options.key {
        Some(path) => PackKey::load_or_make(path)?,
        None => usual_key()?,
    };
    let mut out = BufWriter::new(WholeFile::create(&options.out)?);
    let what = PackOptions {
        task_id: options.task,
        texts: options.texts,
        licences: options.licence,
        record: options.record.as_deref().map(Record::latest_place),
    };
    let summary = engine.pack(&mut out, &what, &key)?;
    let file = out
        .into_inner()
        .map_err(|e| unwritable(&options.out, e.error()))?;
    file.finish()?;
    crate::log::line(&format!("packed {}", json(&summary)?));
    Ok(())
}

fn usual_key() -> Result<PackKey> {
    let folder = super::config::user_config_folder().join("lyra");
    super::make_private_folder(&folder).map_err(|e| unwritable(&folder, &e))?;
    PackKey::load_or_make(&folder.join("pack-key.pem"))
}

pub(super) fn unpack(flags: &Global, options: &Unpack) -> Result<()> {
    let key = options.key.as_deref();
    let report = match &flags.db {
        Some(db) => import(&options.pack, key, db)?,
        None => verify_pack(&options.pack, key)?,
    };
    if let Some(folder) = &options.out {
        unpack_pack(&options.pack, key, folder)?;
    }
    if key.is_none() {
        crate::log::line(
            "note: the signature was checked with the key in the pack; --key FILE checks whose \
             key it is",
        );
    }
    let mut out = Output::new();
    out.line(&json(&report)?)?;
    out.finish()
}

/// Imports the rows of a pack into a new graph after all checks have passed.
fn import(pack: &Path, key: Option<&Path>, db: &Path) -> Result<PackReport> {
    if db.exists() {
        let message = format!("there is something at {} already", db.display());
        return Err(Error::invalid(message)
            .with_hint("a pack is read into a new database: give another name with --db"));
    }
    let place = Path::new("a temporary file");
    let mut rows = tempfile::tempfile().map_err(|e| unwritable(place, &e))?;
    let report = rows_of_pack(pack, key, &mut BufWriter::new(&mut rows))?;
    rows.seek(SeekFrom::Start(0))
        .map_err(|e| unwritable(place, &e))?;
    let engine = Engine::open(EngineConfig::new(db))?;
    super::runtime()?.block_on(engine.import_jsonl(BufReader::new(rows)))?;
    Ok(report)
}

fn unwritable(place: &Path, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Backend, format!("{}: {error}", place.display()))
}
