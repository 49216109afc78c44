//! Model stealing and transfer: a surrogate trained on answers of the target, attacked in its place.
//!
//! Inputs that break one model often break another one that was trained on similar data. How often is an empirical matter:
//! nothing guarantees a success.

use tove_data::TensorDataset;
use tove_nn::{Classification, Layer, Mlp, Pass, Progress, Rng, Trainer};
use tove_optim::Adam;
use tove_tensor::{DType, Key, Tensor, TryNorm, TryOps};

use super::model::{DifferentiableModel, QueryModel, class_scores};
use super::rows::{Batch, classes};
use super::rules::InputRules;
use crate::{Result, TrustError};

const WHAT: &str = "ModelStealing";

/// Rows that a model is asked about at a time.
const CHUNK: usize = 1024;

/// What a thief learns from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StolenAnswers {
    /// Predicted classes.
    #[default]
    Labels,
    /// Probabilities: the softmax of the scores. Give a target whose scores are logits.
    Scores,
}

/// Trains a surrogate on the answers of a target.
///
/// The queries are the inputs of the thief, and noisy copies of them up to the number of queries. The surrogate is an MLP; without
/// hidden layers it is softmax regression.
///
/// ```
/// use tove_tensor::{DType, Key, Tensor, TryOps};
/// use tove_trust::robustness::{ModelStealing, agreement};
/// let w = Tensor::from([[1.0f32, 0.0], [-2.0, 0.0]]);
/// let target = |x: &Tensor| Ok(x.try_matmul(&w)?);
/// let own = Key::new(1).normal([200, 2], DType::F32);
/// let stolen = ModelStealing::new(400).hidden(&[]).epochs(30).steal(&target, &own)?;
/// assert!(agreement(&target, &stolen, &Key::new(2).normal([500, 2], DType::F32))? > 0.95);
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ModelStealing {
    queries: usize,
    answers: StolenAnswers,
    hidden: Vec<usize>,
    epochs: usize,
    noise: f64,
    rules: InputRules,
    seed: u64,
}

impl ModelStealing {
    /// A thief with so many queries, who sees predicted classes and trains an MLP with a hidden layer of 64.
    pub fn new(queries: usize) -> ModelStealing {
        ModelStealing {
            queries,
            answers: StolenAnswers::Labels,
            hidden: vec![64],
            epochs: 30,
            noise: 0.1,
            rules: InputRules::default(),
            seed: 0,
        }
    }

    /// What the target shows.
    #[must_use]
    pub fn answers(self, answers: StolenAnswers) -> ModelStealing {
        ModelStealing { answers, ..self }
    }

    /// Widths of the hidden layers of the surrogate.
    #[must_use]
    pub fn hidden(self, hidden: &[usize]) -> ModelStealing {
        ModelStealing { hidden: hidden.to_vec(), ..self }
    }

    /// Epochs of its training; initially 30.
    #[must_use]
    pub fn epochs(self, epochs: usize) -> ModelStealing {
        ModelStealing { epochs, ..self }
    }

    /// Standard deviation of the noise of copies, in units of the columns; initially 0.1.
    #[must_use]
    pub fn noise(self, noise: f64) -> ModelStealing {
        ModelStealing { noise, ..self }
    }

    /// The inputs that may be asked about.
    #[must_use]
    pub fn rules(self, rules: InputRules) -> ModelStealing {
        ModelStealing { rules, ..self }
    }

    /// Decides noise, first weights and order; initially 0.
    #[must_use]
    pub fn seed(self, seed: u64) -> ModelStealing {
        ModelStealing { seed, ..self }
    }

    /// Asks the target and trains the surrogate; `inputs` need no labels.
    ///
    /// # Errors
    /// No inputs, queries or epochs; noise that is negative; a target that gives a single class for all queries.
    pub fn steal(&self, target: &dyn QueryModel, inputs: &Tensor) -> Result<StolenModel> {
        if self.queries == 0 || self.epochs == 0 {
            let problem = format!("{} queries and {} epochs; give at least one of each", self.queries, self.epochs);
            return Err(TrustError::argument(WHAT, problem));
        }
        if !(self.noise >= 0.0 && self.noise.is_finite()) {
            return Err(TrustError::argument(
                WHAT,
                format!("the noise is {}; give a number of at least 0", self.noise),
            ));
        }
        let batch = Batch::read(WHAT, inputs)?;
        let queries = self.queries(&batch)?;
        let (answers, count) = self.ask(target, &queries)?;
        let width = batch.width();
        let x =
            queries.tensor_of(queries.values().to_vec())?.to_dtype(DType::F32).try_reshape([queries.len(), width])?;
        let set = TensorDataset::new(x, answers).map_err(tove_nn::Error::from)?;
        let sizes: Vec<usize> = std::iter::once(width).chain(self.hidden.iter().copied()).chain([count]).collect();
        let mut net = Mlp::try_new(&sizes, &mut Rng::new(self.seed))?;
        let mut trainer = Trainer::new(Adam::new(3e-3)).epochs(self.epochs).seed(self.seed).progress(Progress::Silent);
        trainer.fit(&mut net, &Classification::new(), &set, None)?;
        Ok(StolenModel { net, queries: queries.len() as u64 })
    }

    /// The inputs, and noisy copies of them.
    fn queries(&self, batch: &Batch) -> Result<Batch> {
        let space = self.rules.space(WHAT, batch)?;
        space.admit(WHAT, batch)?;
        let width = batch.width();
        let mut values = Vec::with_capacity(self.queries * width);
        for query in 0..self.queries {
            let x = batch.row(query % batch.len());
            let mut point = x.to_vec();
            if query >= batch.len() {
                let mut delta = vec![0.0; width];
                tove_tensor::random::fill_normal(Key::new(self.seed).fold(query as u64), &mut delta);
                delta.iter_mut().zip(&space.scale).for_each(|(delta, scale)| *delta *= self.noise * scale);
                let everywhere = (super::AttackNorm::LInf, f64::MAX);
                space.project(everywhere.0, everywhere.1, x, &mut delta);
                space.place(everywhere, x, x, &delta, &mut point);
            }
            values.extend(point);
        }
        Ok(batch.with(values))
    }

    /// Targets of the surrogate, and the number of classes.
    fn ask(&self, target: &dyn QueryModel, queries: &Batch) -> Result<(Tensor, usize)> {
        let chunks = queries.values().chunks(CHUNK * queries.width());
        let tensors = chunks.map(|rows| queries.tensor_of_rows(rows.to_vec(), rows.len() / queries.width()));
        if self.answers == StolenAnswers::Scores {
            let mut parts = Vec::new();
            for x in tensors {
                let scores = class_scores(WHAT, target.query_scores(&x?)?)?;
                parts.push(scores.to_dtype(DType::F32).try_softmax(1)?);
            }
            let all = Tensor::try_concat(&parts.iter().collect::<Vec<_>>(), 0)?;
            let count = all.dims()[1];
            return Ok((all, count));
        }
        let mut labels = Vec::new();
        for x in tensors {
            labels.extend(target.query_labels(&x?)?);
        }
        let count = labels.iter().max().map_or(0, |most| most + 1);
        if labels.iter().all(|label| Some(label) == labels.first()) {
            let problem = "the target gives the same class for all queries";
            return Err(TrustError::data(WHAT, problem, "give inputs of several classes, or more noise"));
        }
        Ok((Tensor::from_slice(&labels.iter().map(|&label| label as i64).collect::<Vec<_>>()), count))
    }
}

/// A surrogate: a net that imitates another model.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StolenModel {
    /// The net, on inputs as rows of type f32.
    pub net: Mlp,
    /// Rows that the target was asked about.
    pub queries: u64,
}

impl DifferentiableModel for StolenModel {
    fn scores(&self, x: &Tensor) -> Result<Tensor> {
        let x = if x.dtype() == DType::F32 { x.clone() } else { x.try_to_dtype(DType::F32)? };
        let rows = x.dims().first().copied().unwrap_or(1);
        Ok(self.net.forward(&x.try_reshape([rows, x.numel() / rows.max(1)])?, &Pass::eval())?)
    }
}

/// The share of inputs for which two models predict the same class.
///
/// # Errors
/// No inputs, or inputs that a model refuses.
pub fn agreement(first: &dyn QueryModel, second: &dyn QueryModel, x: &Tensor) -> Result<f64> {
    Batch::read("agreement", x)?;
    let (first, second) = (first.query_labels(x)?, second.query_labels(x)?);
    Ok(first.iter().zip(&second).filter(|(a, b)| a == b).count() as f64 / first.len().max(1) as f64)
}

/// Sends inputs that were found with a surrogate to the target: successes are those of the target, and so is the list of inputs
/// that are wrong already, which the target gets as they are.
///
/// `attack(x, labels)` runs the attack on the surrogate, for all rows: [`Pgd::perturb`](super::Pgd::perturb) gives perturbed
/// inputs whether the surrogate is right or not.
///
/// # Errors
/// Inputs or labels that do not fit; perturbed inputs of another shape.
pub fn transfer(
    target: &dyn QueryModel,
    x: &Tensor,
    labels: &Tensor,
    attack: impl FnOnce(&Tensor, &Tensor) -> Result<Tensor>,
) -> Result<Vec<Transferred>> {
    const WHAT: &str = "transfer";
    let batch = Batch::read(WHAT, x)?;
    let truth = classes(WHAT, labels, batch.len())?;
    let moved = attack(x, labels)?;
    if moved.dims() != x.dims() {
        let problem = format!("the attack gives inputs of shape {} for {}", moved.shape(), x.shape());
        return Err(TrustError::data(WHAT, problem, "return one perturbed input per row"));
    }
    let (before, after) = (target.query_labels(x)?, target.query_labels(&moved)?);
    let outcome = |((before, after), truth)| Transferred { already_wrong: before != truth, success: after != truth };
    Ok(before.into_iter().zip(after).zip(truth).map(outcome).collect())
}

/// What the target says to an input found with a surrogate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Transferred {
    /// Whether the target was wrong before.
    pub already_wrong: bool,
    /// Whether the target is wrong at the perturbed input.
    pub success: bool,
}

impl Transferred {
    /// Of the inputs that the target predicted right, the share that no longer is; `None` if there were none.
    pub fn success_rate(outcomes: &[Transferred]) -> Option<f64> {
        let right: Vec<&Transferred> = outcomes.iter().filter(|outcome| !outcome.already_wrong).collect();
        let broken = right.iter().filter(|outcome| outcome.success).count();
        (!right.is_empty()).then(|| broken as f64 / right.len() as f64)
    }
}
