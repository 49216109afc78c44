//! Adversarial training: min over θ of Σᵢ max over ‖x'ᵢ − xᵢ‖ ≤ ε of l(yᵢ, g(x'ᵢ)). The inner maximum is PGD, the outer
//! step is that of the trainer, at x'ᵢ (Madry et al. 2018).

use tove_data::Batch;
use tove_nn::{Layer, Pass, Scored, TrainingTask};
use tove_tensor::Tensor;

use super::model::DifferentiableModel;
use super::pgd::Pgd;
use super::result::AttackResult;
use crate::{Result, TrustError};

/// A task of the [`Trainer`](tove_nn::Trainer) that trains at the inputs an attack finds.
///
/// Each step costs one pass forward and back per step of the inner attack, and one for the parameters. The attack sees the net
/// in evaluation (no dropout, running statistics) and leaves it as it is. Labels are class numbers. In evaluation the scores are
/// those of the task itself, and the accuracy under the attack beside them.
///
/// ```
/// use tove_data::{Key, sets};
/// use tove_nn::{Classification, Mlp, Progress, Rng, Trainer};
/// use tove_optim::Adam;
/// use tove_trust::robustness::{AdversarialTask, AttackNorm, Pgd};
/// let moons = sets::two_moons(200, 0.1, Key::new(1))?;
/// let mut net = Mlp::new(&[2, 32, 2], &mut Rng::new(0));
/// let task = AdversarialTask::new(Classification::new(), Pgd::new(AttackNorm::LInf).steps(5), 0.1);
/// let mut trainer = Trainer::new(Adam::new(0.01)).epochs(20).progress(Progress::Silent);
/// let report = trainer.fit(&mut net, &task, &moons, Some(&moons))?;
/// assert!(report.score("robust accuracy") > Some(0.7));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct AdversarialTask<T> {
    task: T,
    attack: Pgd,
    eps: f64,
    clean: f64,
}

impl<T> AdversarialTask<T> {
    /// Trains for `task` at the inputs that the attack finds within `eps`. With a budget of 0 it is ordinary training.
    pub fn new(task: T, attack: Pgd, eps: f64) -> AdversarialTask<T> {
        AdversarialTask { task, attack, eps, clean: 0.0 }
    }

    /// The weight of the loss at the inputs as they are, from 0 (initially) to 1; the rest is that of the loss under attack.
    #[must_use]
    pub fn clean_weight(self, clean: f64) -> AdversarialTask<T> {
        AdversarialTask { clean, ..self }
    }

    /// The batch with the inputs that the attack finds.
    fn attacked<M: Layer + ?Sized>(&self, net: &M, batch: &Batch, pass: &Pass) -> tove_nn::Result<Batch> {
        let fault = |problem: String| tove_nn::Error::setting("AdversarialTask", "setting", problem);
        if !(0.0..=1.0).contains(&self.clean) {
            return Err(fault(format!("`clean_weight` is {}; give a number from 0 to 1", self.clean)));
        }
        if self.eps == 0.0 {
            return Ok(batch.clone());
        }
        let key = pass.next_key();
        let x = pass.as_eval(|pass| {
            let model = |x: &Tensor| -> Result<Tensor> { Ok(net.forward(x, pass)?) };
            self.attack.perturb_with(&model, &batch.x, &batch.y, self.eps, key)
        });
        match x {
            Ok(x) => Ok(Batch { x, y: batch.y.clone() }),
            Err(TrustError::Net(error)) => Err(error),
            Err(TrustError::Tensor(error)) => Err(error.into()),
            Err(error) => Err(fault(format!("cannot attack the batch: {error}"))),
        }
    }
}

impl<M: Layer + ?Sized, T: TrainingTask<M>> TrainingTask<M> for AdversarialTask<T> {
    fn loss(&self, net: &M, batch: &Batch, pass: &Pass) -> tove_nn::Result<Tensor> {
        let attacked = self.attacked(net, batch, pass)?;
        let loss = self.task.loss(net, &attacked, pass)?;
        if self.clean == 0.0 || self.eps == 0.0 {
            return Ok(loss);
        }
        // The statistics of the attacked batch have been taken already.
        let clean = pass.keeping_buffers(|pass| self.task.loss(net, batch, pass))?;
        Ok(loss * (1.0 - self.clean) + clean * self.clean)
    }

    fn weight(&self, batch: &Batch) -> tove_nn::Result<f64> {
        self.task.weight(batch)
    }

    fn scores(&self, net: &M, batch: &Batch, pass: &Pass) -> tove_nn::Result<Vec<Scored>> {
        let mut scores = self.task.scores(net, batch, pass)?;
        let attacked = self.attacked(net, batch, pass)?;
        let worst = self.task.scores(net, &attacked, pass)?;
        let accuracy = worst.into_iter().find(|score| score.name == "accuracy");
        scores.extend(accuracy.map(|score| Scored { name: "robust accuracy", ..score }));
        Ok(scores)
    }
}

/// A point of a [`trade_off_curve`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TradeOffPoint {
    /// The budget of the training.
    pub training_eps: f64,
    /// Accuracy without perturbation.
    pub clean: f64,
    /// Accuracy under the attack: an upper bound on the accuracy under the worst perturbation.
    pub robust: f64,
    /// The attack, with its settings.
    pub attack: String,
}

/// Trains a model for each budget and measures its accuracy with and without an attack: what robustness costs.
///
/// `train(eps)` gives the model; `attack(model)` runs the same attack on each, on data that were not trained on.
///
/// # Errors
/// No budgets, or budgets that are negative or not finite; a training or an attack that fails.
pub fn trade_off_curve<M: DifferentiableModel>(
    budgets: &[f64],
    mut train: impl FnMut(f64) -> Result<M>,
    attack: impl Fn(&M) -> Result<AttackResult>,
) -> Result<Vec<TradeOffPoint>> {
    if budgets.is_empty() || budgets.iter().any(|eps| !(*eps >= 0.0 && eps.is_finite())) {
        let problem = format!("the budgets are {budgets:?}; give at least one, and numbers of at least 0");
        return Err(TrustError::argument("trade_off_curve", problem));
    }
    let point = |&training_eps: &f64| {
        let found = attack(&train(training_eps)?)?;
        let (clean, robust) = (found.standard_accuracy(), found.robust_accuracy());
        Ok(TradeOffPoint { training_eps, clean, robust, attack: found.attack })
    };
    budgets.iter().map(point).collect()
}
