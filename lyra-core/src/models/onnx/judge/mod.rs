//! Cross-encoders: a premise and a hypothesis go through the graph together, and three scores give
//! their relation.

mod labels;
mod pair;

use super::folder::ModelFolder;
use super::graph::{Declared, TokenRow};
use super::model::{OnnxModel, OnnxOptions, batches};
use crate::error::{Error, ErrorKind, Result};
use crate::ports::{StanceJudge, StancePair, Verdict};
use labels::{CROSS_ENCODER, Labels};
use std::sync::Arc;

/// A cross-encoder for natural language inference, run by ONNX Runtime.
///
/// Premise and hypothesis are joined by the tokenizer's template for pairs. If they are too long,
/// the end of the premise is truncated; the hypothesis is truncated only if it leaves less than a
/// quarter of the space. The scores become probabilities by softmax, and `id2label` of
/// `config.json` assigns them to relations.
///
/// ```no_run
/// use lyra_core::models::{OnnxOptions, OnnxStanceJudge};
/// use lyra_core::ports::{StanceJudge, StancePair};
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let judge = OnnxStanceJudge::open(&OnnxOptions::new("models/nli-deberta-v3-base"))?;
/// let verdicts = judge
///     .judge(&[StancePair::new("Falls were more frequent with drug X.", "Drug X increases the risk of falls.")])
///     .await?;
/// println!("{} ({:.2})", verdicts[0].relation, verdicts[0].confidence);
/// # Ok::<(), lyra_core::Error>(()) });
/// ```
#[derive(Debug, Clone)]
pub struct OnnxStanceJudge {
    classifier: Arc<Classifier>,
}

struct Classifier {
    model: OnnxModel,
    labels: Labels,
    /// Maximum number of tokens of a pair, without special ones.
    room: usize,
}

impl std::fmt::Debug for Classifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Classifier")
            .field("id", &self.model.id)
            .field("labels", &self.labels)
            .field("folder", &self.model.folder)
            .finish_non_exhaustive()
    }
}

impl OnnxStanceJudge {
    /// Opens a model: loads the library and the graph, and runs it once to check that graph,
    /// tokenizer and classes match. Blocks; a graph of 90 MB takes about a second.
    pub fn open(options: &OnnxOptions) -> Result<Self> {
        let folder = ModelFolder::read(&options.model, options.file.as_deref())?;
        let labels = Labels::read(&folder)?;
        let settings = format!("pairs|{}|{labels:?}", folder.max_tokens);
        let (model, ()) = OnnxModel::open(options, folder, &settings, scores_of)?;
        let room = pair::room(&model)?;
        let classifier = Classifier {
            model,
            labels,
            room,
        };
        classifier.try_out()?;
        Ok(Self {
            classifier: Arc::new(classifier),
        })
    }
}

#[async_trait::async_trait]
impl StanceJudge for OnnxStanceJudge {
    fn judge_id(&self) -> &str {
        &self.classifier.model.id
    }

    fn is_builtin(&self) -> bool {
        false
    }

    fn setup(&self) -> Option<String> {
        let Classifier { model, labels, .. } = &*self.classifier;
        let (graph, tokens) = (model.folder.graph.display(), model.max_tokens);
        Some(format!(
            "{graph}; scores for {labels}; {tokens} tokens a pair"
        ))
    }

    async fn judge(&self, pairs: &[StancePair]) -> Result<Vec<Verdict>> {
        let classifier = Arc::clone(&self.classifier);
        let pairs = pairs.to_vec();
        tokio::task::spawn_blocking(move || classifier.judge(&pairs))
            .await
            .map_err(|e| Error::internal(format!("the judge stopped unexpectedly: {e}")))?
    }
}

impl Classifier {
    fn judge(&self, pairs: &[StancePair]) -> Result<Vec<Verdict>> {
        let mut rows = Vec::with_capacity(pairs.len());
        for pair in pairs {
            rows.push(pair::encode(&self.model.tokenizer, pair, self.room)?);
        }
        let lengths: Vec<usize> = rows.iter().map(pair::PairTokens::len).collect();
        let mut judged: Vec<(usize, Verdict)> = Vec::with_capacity(pairs.len());
        for batch in batches(&lengths, self.model.graph.max_batch()) {
            let of_batch: Vec<TokenRow<'_>> = batch.iter().map(|&at| rows[at].row()).collect();
            for (at, scores) in batch.into_iter().zip(self.run(&of_batch)?) {
                judged.push((at, self.verdict(scores)?));
            }
        }
        // Every row contains the template's tokens, so no row was left out as empty.
        judged.sort_by_key(|(at, _)| *at);
        Ok(judged.into_iter().map(|(_, verdict)| verdict).collect())
    }

    fn verdict(&self, scores: [f32; 3]) -> Result<Verdict> {
        let found = self.labels.verdict(scores);
        let (relation, confidence) = found.ok_or_else(|| {
            let message = "the model gave a score that is not finite";
            Error::new(ErrorKind::Backend, message)
        })?;
        Ok(Verdict::new(relation, confidence))
    }

    /// The scores of each row, in the model's order.
    fn run(&self, rows: &[TokenRow<'_>]) -> Result<Vec<[f32; 3]>> {
        self.model.graph.run(rows, |shape, values| {
            let (scores, rest) = values.as_chunks::<3>();
            let fits = shape == [rows.len(), 3] && rest.is_empty();
            fits.then(|| scores.to_vec())
        })
    }

    /// Judges two words, and runs the graph on the token with the greatest id.
    fn try_out(&self) -> Result<()> {
        let place = self.model.folder.graph.display();
        let probe = StancePair::new("probe".to_owned(), "probe".to_owned());
        let named = |e: Error| e.context(&place);
        self.judge(&[probe]).map_err(named)?;
        let greatest = [self.model.greatest_token()];
        self.run(&[TokenRow::single(&greatest)]).map_err(named)?;
        Ok(())
    }
}

/// The output with one score per class: `logits`, or the only one with one row per pair.
fn scores_of(outputs: &[Declared]) -> Result<(String, ())> {
    let rows: Vec<&Declared> = outputs
        .iter()
        .filter(|output| output.is_of_rank(2) && output.name != "sentence_embedding")
        .collect();
    let logits = rows.iter().find(|output| output.name == "logits");
    let found = match (logits, rows.as_slice()) {
        (Some(logits), _) => logits,
        (None, [one]) => one,
        (None, _) => {
            return Err(unfit(format!(
                "no output of the graph ({}) holds scores of pairs",
                Declared::names(outputs)
            )));
        }
    };
    match found.last() {
        None | Some(3) => Ok((found.name.clone(), ())),
        Some(n) => Err(unfit(format!(
            "the graph gives {n} scores a pair ({}); expected 3",
            found.name
        ))),
    }
}

fn unfit(message: String) -> Error {
    Error::new(ErrorKind::Unsupported, message).with_hint(CROSS_ENCODER)
}
