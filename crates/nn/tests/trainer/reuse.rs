//! One trainer for one net after the other: nothing of a fit is left for the next one, unless asked for.

use tove_data::{Dataset, TensorDataset};
use tove_nn::*;
use tove_optim::{
    Adagrad, Adam, AdamW, Lbfgs, LbfgsSettings, NesterovLookAhead, Optimizer, ReduceOnPlateau, ReduceOnPlateauSettings,
    RmsProp, Schedule, Sgd,
};

use crate::support::{Scratch, bits, moons, net, smooth};

type Rule = fn() -> Box<dyn Optimizer>;

/// Every rule, with a state that a second fit would feel.
const RULES: [Rule; 7] = [
    || Box::new(Sgd::new(0.1).with(|s| s.momentum(0.9))),
    || Box::new(NesterovLookAhead::new(0.05)),
    || Box::new(Adagrad::new(0.1)),
    || Box::new(RmsProp::new(0.01).with(|s| s.centered(true).momentum(0.5))),
    || Box::new(Adam::new(0.05)),
    || Box::new(AdamW::new(0.05)),
    || Box::new(Lbfgs::build(LbfgsSettings::default().max_iterations(3)).unwrap()),
];

/// An optimizer in a box is one too.
pub struct Boxed(pub Box<dyn Optimizer>);

impl Optimizer for Boxed {
    fn name(&self) -> &'static str {
        self.0.name()
    }
    fn step(&mut self, parameters: &mut [&mut tove_tensor::Tensor]) -> tove_tensor::Result<()> {
        self.0.step(parameters)
    }
    fn look_ahead(&mut self, parameters: &mut [&mut tove_tensor::Tensor]) -> tove_tensor::Result<()> {
        self.0.look_ahead(parameters)
    }
    fn look_back(&mut self, parameters: &mut [&mut tove_tensor::Tensor]) -> tove_tensor::Result<()> {
        self.0.look_back(parameters)
    }
    fn step_with(
        &mut self,
        parameters: &mut [&mut tove_tensor::Tensor],
        loss: &mut tove_optim::Closure<'_>,
    ) -> tove_tensor::Result<f64> {
        self.0.step_with(parameters, loss)
    }
    fn learning_rate(&self) -> f64 {
        self.0.learning_rate()
    }
    fn set_learning_rate(&mut self, learning_rate: f64) {
        self.0.set_learning_rate(learning_rate);
    }
    fn hyperparameters(&self) -> &dyn tove_optim::settings::Hyperparameters {
        self.0.hyperparameters()
    }
    fn set_hyperparameters(&mut self, settings: &serde_json::Value) -> tove_tensor::Result<()> {
        self.0.set_hyperparameters(settings)
    }
    fn needs_loss(&self) -> bool {
        self.0.needs_loss()
    }
    fn converged(&self) -> bool {
        self.0.converged()
    }
    fn state(&self) -> tove_optim::OptimizerState {
        self.0.state()
    }
    fn load_state(&mut self, state: &tove_optim::OptimizerState) -> tove_tensor::Result<()> {
        self.0.load_state(state)
    }
}

/// Everything that a fit could leave behind: a schedule, a plateau that halves, early stopping, averages.
fn full<'c>(rule: Rule) -> Trainer<'c> {
    let settings = ReduceOnPlateauSettings::default().patience(0).factor(0.5).threshold(0.2);
    let trainer = Trainer::new(Boxed(rule())).epochs(4).batch_size(16).seed(3).progress(Progress::Silent);
    let trainer = trainer.plateau(ReduceOnPlateau::build(settings).unwrap()).schedule(Schedule::cosine(30));
    trainer.early_stopping(3, 0.01).average_weights(0.9)
}

fn outcome<M: Module + Layer>(
    trainer: &mut Trainer<'_>,
    mut net: M,
    train: &dyn Dataset,
    valid: &dyn Dataset,
) -> Outcome {
    let report = trainer.fit(&mut net, &Classification::new(), train, Some(valid)).unwrap();
    let scores = report.history.iter().map(|evaluation| (evaluation.step, evaluation.validation.clone())).collect();
    (report.losses, scores, report.best, report.ending, bits(&net))
}

type Outcome = (Vec<f64>, Vec<(u64, Scores)>, Option<(f64, u64)>, Ending, Vec<(String, Vec<u32>)>);

#[test]
fn a_trainer_used_again_fits_as_a_new_one_does() {
    let folds = [moons(64, 1), moons(64, 2), moons(48, 3)];
    let valid = moons(40, 9);
    for rule in RULES {
        let mut used = full(rule);
        for fold in &folds {
            // The same shapes, other shapes, another number of parameters, norms and dropout.
            let sizes = [&[2, 8, 2][..], &[2, 5, 2], &[2, 6, 6, 2]];
            for sizes in sizes {
                let make = || Mlp::new(sizes, &mut Rng::new(5)).activation(Nonlinearity::Tanh);
                let fresh = outcome(&mut full(rule), make(), fold, &valid);
                assert_eq!(outcome(&mut used, make(), fold, &valid), fresh, "{}", rule().name());
            }
            assert_eq!(outcome(&mut used, net(), fold, &valid), outcome(&mut full(rule), net(), fold, &valid));
        }
    }
}

/// A fit that failed leaves nothing for the next one, either.
#[test]
fn a_trainer_is_as_new_after_a_fit_that_failed() {
    let (train, valid) = (moons(64, 1), moons(40, 9));
    let mut x = train.x().to_vec::<f32>();
    x[100] = f32::NAN;
    let dirty = TensorDataset::new(tove_tensor::Tensor::from_vec(x, [64, 2]), train.y().clone()).unwrap();
    for rule in RULES {
        let mut used = full(rule);
        let error = used.fit(&mut smooth(1), &Classification::new(), &dirty, Some(&valid)).unwrap_err();
        assert!(matches!(error, Error::Diverged { .. }), "{error}");
        let fresh = outcome(&mut full(rule), smooth(2), &train, &valid);
        assert_eq!(outcome(&mut used, smooth(2), &train, &valid), fresh, "{}", rule().name());
    }
}

/// An optimizer that was used before the trainer got it keeps what it had, in every fit.
#[test]
fn every_fit_starts_from_the_optimizer_as_it_was_given() {
    let (train, task) = (moons(64, 1), Classification::new());
    let quiet = |rule: Adam| Trainer::new(rule).epochs(2).batch_size(16).progress(Progress::Silent);
    let mut first = quiet(Adam::new(0.05));
    first.fit(&mut smooth(1), &task, &train, None).unwrap();
    let mut warmed = Adam::new(0.05);
    warmed.load_state(&first.optimizer().state()).unwrap();
    let run = |trainer: &mut Trainer<'_>| {
        let mut net = smooth(2);
        trainer.fit(&mut net, &task, &train, None).unwrap();
        bits(&net)
    };
    let mut trainer = quiet(warmed);
    let once = run(&mut trainer);
    assert_eq!(run(&mut trainer), once);
    assert_ne!(run(&mut quiet(Adam::new(0.05))), once);
    // Asked for, the state goes on: two fits of two epochs have eight steps each in the moments.
    let mut warm = quiet(Adam::new(0.05)).warm_start(true);
    let cold = run(&mut warm);
    assert_eq!(cold, run(&mut quiet(Adam::new(0.05))));
    assert_ne!(run(&mut warm), cold);
    assert_eq!(warm.optimizer().state().counters["0.steps"], 16);
    // With other shapes it is an error, not a silent mixture.
    let mut other = Mlp::new(&[2, 5, 2], &mut Rng::new(1));
    assert!(warm.fit(&mut other, &task, &train, None).unwrap_err().to_string().contains("shape"));
}

/// Folds have the same size; the checkpoint of one must not become the start of another.
#[test]
fn a_checkpoint_of_other_data_is_refused() {
    let (task, scratch) = (Classification::new(), Scratch::new("other-data"));
    let path = scratch.file("run");
    let trainer =
        || Trainer::new(Adam::new(0.05)).epochs(2).batch_size(16).progress(Progress::Silent).checkpoint(&path);
    let mut used = trainer();
    used.fit(&mut smooth(1), &task, &moons(64, 1), None).unwrap();
    let (mut net, before) = (smooth(2), bits(&smooth(2)));
    for mut trainer in [used, trainer()] {
        let error = trainer.fit(&mut net, &task, &moons(64, 2), None).unwrap_err().to_string();
        assert!(error.contains("another run") && error.contains("data"), "{error}");
        assert_eq!(bits(&net), before);
    }
    trainer().epochs(3).fit(&mut net, &task, &moons(64, 1), None).unwrap();
}
