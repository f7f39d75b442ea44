//! The tokenizer of a model.

use super::folder::ModelFolder;
use super::folder::SAME_MODEL;
use crate::error::{Error, ErrorKind, Result};
use tokenizers::Tokenizer;

/// The tokenizer without truncation and padding, whatever its file says. Each of its tokens has a
/// row in the model's table.
pub(super) fn read(folder: &ModelFolder) -> Result<Tokenizer> {
    let place = folder.tokenizer.display();
    let broken = |why: String| {
        Error::new(
            ErrorKind::Backend,
            format!("{place} is no tokenizer: {why}"),
        )
        .with_hint("expected the tokenizer.json of a Hugging Face fast tokenizer")
    };
    let bytes = std::fs::read(&folder.tokenizer).map_err(|e| broken(e.to_string()))?;
    let mut tokenizer = Tokenizer::from_bytes(bytes).map_err(|e| broken(e.to_string()))?;
    tokenizer
        .with_truncation(None)
        .map_err(|e| broken(e.to_string()))?
        .with_padding(None);
    check_vocabulary(folder, &tokenizer)?;
    Ok(tokenizer)
}

/// The error for a tokenizer that fails on a text.
pub(super) fn failed(error: &tokenizers::Error) -> Error {
    let message = format!("the tokenizer failed on a text: {error}");
    Error::new(ErrorKind::Backend, message)
}

/// The error for special tokens that leave no space for a text.
pub(super) fn no_room(folder: &ModelFolder, limit: usize, special: usize) -> Error {
    let place = folder.tokenizer.display();
    let message = format!(
        "{place}: a limit of {limit} tokens per text leaves no room beside {special} special tokens"
    );
    Error::new(ErrorKind::Backend, message).with_hint(SAME_MODEL)
}

/// Checks that every token has a row in the table of token embeddings.
fn check_vocabulary(folder: &ModelFolder, tokenizer: &Tokenizer) -> Result<()> {
    let greatest = tokenizer.get_vocab(true).into_values().max();
    let (Some(rows), Some(greatest)) = (folder.vocabulary, greatest) else {
        return Ok(());
    };
    if usize::try_from(greatest).is_ok_and(|id| id < rows) {
        return Ok(());
    }
    let message = format!(
        "{} has a token with the id {greatest}, but the model has only {rows} tokens",
        folder.tokenizer.display()
    );
    Err(Error::new(ErrorKind::Backend, message).with_hint(SAME_MODEL))
}
