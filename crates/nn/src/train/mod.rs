//! The training loop: shuffle, batch, forward, backward, step, evaluate, remember the best.
//!
//! Everything random is a function of the seed and the place in the run, so a run repeats bit for bit, for any number of
//! threads, and a run that was interrupted and resumed from its checkpoint gives the bits of one that was not.
//!
//! ```
//! use tove_data::TensorDataset;
//! use tove_nn::{Classification, Mlp, Progress, Rng, Trainer};
//! use tove_optim::Adam;
//! use tove_tensor::Tensor;
//!
//! let x = Tensor::from([[0.0f32, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]);
//! let xor = TensorDataset::new(x, Tensor::from([0i64, 1, 1, 0]))?;
//! let mut net = Mlp::new(&[2, 16, 2], &mut Rng::new(1));
//! let mut trainer = Trainer::new(Adam::new(0.05)).epochs(100).batch_size(4).progress(Progress::Silent);
//! let report = trainer.fit(&mut net, &Classification::new(), &xor, Some(&xor))?;
//! assert_eq!(report.score("accuracy"), Some(1.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod average;
mod callback;
mod check;
mod checkpoint;
mod collective;
mod descent;
mod evaluation;
mod interrupt;
mod loader;
mod log;
mod numbers;
mod report;
mod resume;
mod run;
mod task;
mod tensorboard;
mod whole_set;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tove_data::Dataset;
use tove_optim::{Optimizer, OptimizerState, ReduceOnPlateau, Schedule};

use crate::{Module, Result};

pub use callback::{Callback, Step};
pub use collective::{Collective, Local};
pub use evaluation::evaluate;
pub use interrupt::interrupt_flag;
pub use loader::Flow;
pub use log::Progress;
pub use report::{Ending, Scores, TrainingPoint, TrainingReport};
pub use task::{Better, Classification, Regression, Scored, TrainingTask};

/// How long to train.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    Epochs(usize),
    Steps(u64),
}

/// When to stop early.
#[derive(Clone, Debug, PartialEq)]
struct Patience {
    /// Evaluations without improvement that are put up with.
    evaluations: usize,
    /// What counts as an improvement.
    margin: f64,
}

/// Trains nets. Settings are given by the methods; see the [module's documentation](self).
pub struct Trainer<'c> {
    optimizer: Box<dyn Optimizer>,
    /// The optimizer as it was given: every fit starts from it.
    initial: OptimizerState,
    /// Whether a fit was begun.
    used: bool,
    warm_start: bool,
    /// The step size that the schedule multiplies.
    learning_rate: f64,
    length: Length,
    batch_size: usize,
    accumulate: usize,
    evaluation_batch: usize,
    shuffle: bool,
    drop_last: bool,
    seed: u64,
    evaluate_every: Option<u64>,
    watch: String,
    patience: Option<Patience>,
    restore_best: bool,
    average: Option<f64>,
    clip_norm: Option<f64>,
    clip_value: Option<f64>,
    schedule: Option<Schedule>,
    plateau: Option<ReduceOnPlateau>,
    checkpoint: Option<PathBuf>,
    checkpoint_every: Option<u64>,
    log: Option<PathBuf>,
    tensorboard: Option<PathBuf>,
    progress: Progress,
    stop: Option<Arc<AtomicBool>>,
    /// What Ctrl-C and SIGTERM raise.
    signal: Option<Arc<AtomicBool>>,
    callbacks: Vec<Box<dyn Callback + 'c>>,
    collective: Box<dyn Collective>,
}

impl<'c> Trainer<'c> {
    /// Ten epochs of shuffled batches of 32 with this optimiser.
    ///
    /// L-BFGS is different: its line search and its memory of the curvature need the loss of the same data again and
    /// again. With it a step is one call of [`step_with`](tove_optim::Optimizer::step_with) on the whole training set, which is
    /// an epoch; `batch_size` only says in pieces of how many samples the set goes through the net; gradients cannot be
    /// clipped; what dropout and augmentation draw stays the same; and the run ends with [`Ending::Converged`] when there
    /// is nothing left to improve.
    ///
    /// ```
    /// use tove_data::TensorDataset;
    /// use tove_nn::{Ending, Linear, Progress, Regression, Rng, Trainer};
    /// use tove_optim::Lbfgs;
    /// use tove_tensor::Tensor;
    /// let (x, y) = (Tensor::from([[0.0f32], [1.0], [2.0]]), Tensor::from([[1.0f32], [3.0], [5.0]]));
    /// let mut line = Linear::new(1, 1, &mut Rng::new(0));
    /// let mut trainer = Trainer::new(Lbfgs::default()).progress(Progress::Silent);
    /// let report = trainer.fit(&mut line, &Regression, &TensorDataset::new(x, y)?, None)?;
    /// assert_eq!(report.ending, Ending::Converged);
    /// assert!((line.weight.item::<f32>() - 2.0).abs() < 1e-3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(optimizer: impl Optimizer + 'static) -> Trainer<'c> {
        Trainer {
            learning_rate: optimizer.learning_rate(),
            initial: optimizer.state(),
            used: false,
            warm_start: false,
            optimizer: Box::new(optimizer),
            length: Length::Epochs(10),
            batch_size: 32,
            accumulate: 1,
            evaluation_batch: 256,
            shuffle: true,
            drop_last: false,
            seed: 0,
            evaluate_every: None,
            watch: "loss".into(),
            patience: None,
            restore_best: false,
            average: None,
            clip_norm: None,
            clip_value: None,
            schedule: None,
            plateau: None,
            checkpoint: None,
            checkpoint_every: None,
            log: None,
            tensorboard: None,
            progress: Progress::Auto,
            stop: None,
            signal: None,
            callbacks: Vec::new(),
            collective: Box::new(Local),
        }
    }

    /// Trains for so many epochs.
    #[must_use]
    pub fn epochs(self, epochs: usize) -> Self {
        Trainer { length: Length::Epochs(epochs), ..self }
    }

    /// Trains for so many steps, however many epochs that is.
    #[must_use]
    pub fn steps(self, steps: u64) -> Self {
        Trainer { length: Length::Steps(steps), ..self }
    }

    /// Samples per step; initially 32.
    #[must_use]
    pub fn batch_size(self, batch_size: usize) -> Self {
        Trainer { batch_size, ..self }
    }

    /// Batches per step; initially 1. The gradient of a step is that of the mean over all their samples, as of one large
    /// batch, in the memory of a small one: Σ wᵢ Lᵢ / Σ wᵢ with the weights that the task gives its batches
    /// ([`TrainingTask::weight`]), which know of class weights and ignored rows. Batch norm sees each batch by itself.
    #[must_use]
    pub fn accumulate(self, batches: usize) -> Self {
        Trainer { accumulate: batches, ..self }
    }

    /// Samples per batch of an evaluation; initially 256. It changes the speed, not the scores.
    #[must_use]
    pub fn evaluation_batch(self, evaluation_batch: usize) -> Self {
        Trainer { evaluation_batch, ..self }
    }

    /// Whether every epoch has an order of its own; initially it does.
    #[must_use]
    pub fn shuffle(self, shuffle: bool) -> Self {
        Trainer { shuffle, ..self }
    }

    /// Whether a last batch with fewer samples than the others is left out; initially it is kept.
    #[must_use]
    pub fn drop_last(self, drop_last: bool) -> Self {
        Trainer { drop_last, ..self }
    }

    /// Decides the order of samples, dropout and augmentation; initially 0.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Trainer { seed, ..self }
    }

    /// Evaluates every so many steps instead of after each epoch.
    #[must_use]
    pub fn evaluate_every(self, steps: u64) -> Self {
        Trainer { evaluate_every: Some(steps), ..self }
    }

    /// Watches this score of the validation set, for the best weights, early stopping and plateaus; initially `loss`.
    #[must_use]
    pub fn watch(self, score: &str) -> Self {
        Trainer { watch: score.to_owned(), ..self }
    }

    /// Stops after this many evaluations without an improvement of more than `margin`, and takes the best weights back.
    #[must_use]
    pub fn early_stopping(self, evaluations: usize, margin: f64) -> Self {
        Trainer { patience: Some(Patience { evaluations, margin }), restore_best: true, ..self }
    }

    /// Takes the weights with the best watched score back at the end. After an interruption the present weights are judged
    /// once more and stay if they are better; the checkpoint goes on from the present ones in any case.
    #[must_use]
    pub fn keep_best(self) -> Self {
        Trainer { restore_best: true, ..self }
    }

    /// Keeps a running mean of the weights beside them, m ← d m + (1 − d) w after every step with d = min(decay, (1 + t) /
    /// (10 + t)), and judges and gives back the mean: it settles where single steps still jump about. Running statistics of
    /// norms are averaged too. A decay of 0.999 looks back on about a thousand steps.
    #[must_use]
    pub fn average_weights(self, decay: f64) -> Self {
        Trainer { average: Some(decay), ..self }
    }

    /// Scales all gradients together so that their norm is at most this.
    #[must_use]
    pub fn clip_norm(self, norm: f64) -> Self {
        Trainer { clip_norm: Some(norm), ..self }
    }

    /// Cuts every entry of the gradients to ±this.
    #[must_use]
    pub fn clip_value(self, value: f64) -> Self {
        Trainer { clip_value: Some(value), ..self }
    }

    /// Multiplies the step size by a factor that depends on the step.
    #[must_use]
    pub fn schedule(self, schedule: Schedule) -> Self {
        Trainer { schedule: Some(schedule), ..self }
    }

    /// Multiplies the step size by a factor that falls when the watched score no longer improves.
    #[must_use]
    pub fn plateau(self, plateau: ReduceOnPlateau) -> Self {
        Trainer { plateau: Some(plateau), ..self }
    }

    /// Keeps everything needed to go on in this file: after every evaluation, when interrupted, and at the end. If the file
    /// is there when training starts, training goes on from it, with the net that is in it; so every run has a file of its own.
    ///
    /// Seed, batches and training set must be those of the run that wrote it, otherwise it is refused; a few samples of the set
    /// are compared. The length may differ: a finished run made longer has the bits of a run that was that long from the
    /// start. The optimizer's settings (learning rate, betas, weight decay) are those of this trainer, from the next step on;
    /// its counters and tensors are the file's, and so are its parameter groups unless this trainer's optimizer has its own.
    ///
    /// That the file can be written is checked before training starts; temporary files of killed runs in its folder are
    /// removed.
    #[must_use]
    pub fn checkpoint(self, path: impl Into<PathBuf>) -> Self {
        Trainer { checkpoint: Some(path.into()), ..self }
    }

    /// Writes the checkpoint every so many steps, too.
    #[must_use]
    pub fn checkpoint_every(self, steps: u64) -> Self {
        Trainer { checkpoint_every: Some(steps), ..self }
    }

    /// Appends a line of JSON per step and evaluation to this file.
    #[must_use]
    pub fn log(self, path: impl Into<PathBuf>) -> Self {
        Trainer { log: Some(path.into()), ..self }
    }

    /// Writes TensorBoard events to this folder.
    #[must_use]
    pub fn tensorboard(self, folder: impl Into<PathBuf>) -> Self {
        Trainer { tensorboard: Some(folder.into()), ..self }
    }

    /// What a person sees; initially a bar on a terminal and lines elsewhere.
    #[must_use]
    pub fn progress(self, progress: Progress) -> Self {
        Trainer { progress, ..self }
    }

    /// Whether a further fit goes on with the optimizer's state (moments, velocities, step counts) of the fit before. Initially
    /// it does not: every fit starts from the optimizer as it was given, so that one trainer can fit one net after the other.
    /// All else starts anew in any case: the step number that schedules see, plateaus, early stopping, averages.
    ///
    /// ```
    /// use tove_data::TensorDataset;
    /// use tove_nn::{Linear, ModuleExt, Progress, Regression, Rng, Trainer};
    /// use tove_optim::Adam;
    /// use tove_tensor::Tensor;
    /// let set = TensorDataset::new(Tensor::from([[0.0f32], [1.0]]), Tensor::from([[1.0f32], [3.0]]))?;
    /// let steps = |warm: bool| {
    ///     let mut trainer = Trainer::new(Adam::new(0.1)).steps(3).warm_start(warm).progress(Progress::Silent);
    ///     for _ in 0..2 {
    ///         trainer.fit(&mut Linear::new(1, 1, &mut Rng::new(0)), &Regression, &set, None)?;
    ///     }
    ///     Ok::<_, tove_nn::Error>(trainer.optimizer().state().counters["0.steps"])
    /// };
    /// assert_eq!((steps(false)?, steps(true)?), (3, 6));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn warm_start(self, warm_start: bool) -> Self {
        Trainer { warm_start, ..self }
    }

    /// Finishes the step, saves and returns when this flag is raised. Whoever raises the flag clears it.
    #[must_use]
    pub fn stop_when(self, flag: Arc<AtomicBool>) -> Self {
        Trainer { stop: Some(flag), ..self }
    }

    /// Finishes the step, saves and returns at Ctrl-C or SIGTERM; a second signal ends the program. An interruption belongs to
    /// the fits under way: later ones run normally.
    ///
    /// # Errors
    /// If the system refuses the handler.
    pub fn interruptible(self) -> Result<Self> {
        Ok(Trainer { signal: Some(interrupt_flag()?), ..self })
    }

    /// Tells this of every step and evaluation.
    #[must_use]
    pub fn callback(mut self, callback: impl Callback + 'c) -> Self {
        self.callbacks.push(Box::new(callback));
        self
    }

    /// Trains together with other processes: each takes its share of the batches, gradients are averaged over all, batches
    /// weighted by [`TrainingTask::weight`].
    #[must_use]
    pub fn collective(self, collective: impl Collective + 'static) -> Self {
        Trainer { collective: Box::new(collective), ..self }
    }

    /// The optimizer with the state that the last fit left.
    pub fn optimizer(&self) -> &dyn Optimizer {
        &*self.optimizer
    }

    /// Trains `net` for `task` on `train`, and evaluates it on `validation`. A trainer can be used again: every fit starts from
    /// the optimizer as it was given, unless [`Trainer::warm_start`] or a [`Trainer::checkpoint`] says otherwise.
    ///
    /// # Errors
    /// If a setting or the data do not fit, a file cannot be written, or the training diverges. Of the step that failed
    /// there is no trace: parameters and buffers are what they were before it. A gradient that is not finite is such a
    /// failure: it never enters the weights. When training diverges it is the steps before
    /// that led astray; with [`Trainer::keep_best`] or early stopping the net then gets its best weights back.
    pub fn fit<M: Module, D: Dataset + ?Sized>(
        &mut self,
        net: &mut M,
        task: &impl TrainingTask<M>,
        train: &D,
        validation: Option<&dyn Dataset>,
    ) -> Result<TrainingReport> {
        self.check(train, validation)?;
        check::trained(net)?;
        if std::mem::replace(&mut self.used, true) && !self.warm_start {
            self.optimizer.load_state(&self.initial)?;
        }
        if let Some(plateau) = &mut self.plateau {
            plateau.restart();
        }
        let _scope = self.signal.is_some().then(interrupt::Scope::begin);
        run::Training::start(self, net, task, train, validation)?.run()
    }
}
