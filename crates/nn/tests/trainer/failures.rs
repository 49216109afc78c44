//! What cannot be trained, and what is said of it.

use tove_data::{Dataset, TensorDataset};
use tove_nn::*;
use tove_optim::{Lbfgs, ReduceOnPlateau, ReduceOnPlateauSettings, Schedule, Sgd};
use tove_tensor::{DType, Tensor};

use crate::support::{bits, moons, smooth, trainer_without_validation};

#[test]
fn divergence_is_found_and_explained() {
    let train = moons(64, 1);
    let mut wild = Trainer::new(Sgd::new(1e30)).epochs(3).progress(Progress::Silent);
    let mut diverging = Mlp::new(&[2, 8, 2], &mut Rng::new(0));
    let error = wild.fit(&mut diverging, &Classification::new(), &train, None).unwrap_err();
    assert!(matches!(error, Error::Diverged { .. }) && error.to_string().contains("step"), "{error}");

    let x = Tensor::from([[1.0f32, f32::NAN], [0.0, 1.0]]);
    let dirty = TensorDataset::new(x, Tensor::from([0i64, 1])).unwrap();
    let mut clean = Mlp::new(&[2, 8, 2], &mut Rng::new(0));
    let before = bits(&clean);
    let error = trainer_without_validation().fit(&mut clean, &Classification::new(), &dirty, None).unwrap_err();
    assert!(error.to_string().contains("NaN or infinite inputs"), "{error}");
    assert_eq!(bits(&clean), before);
}

#[test]
fn bad_settings_and_data_have_their_sentences() {
    let (train, task) = (moons(10, 1), Classification::new());
    let empty = TensorDataset::new(Tensor::zeros([0, 2], DType::F32), Tensor::zeros([0], DType::I64)).unwrap();
    let mut net = Mlp::new(&[2, 4, 2], &mut Rng::new(0));
    let mut fails = |mut trainer: Trainer<'_>, data: &TensorDataset, valid: Option<&dyn Dataset>, word: &str| {
        let text = trainer.fit(&mut net, &task, data, valid).unwrap_err().to_string();
        assert!(text.contains(word), "{text}");
    };
    let quiet = trainer_without_validation;
    fails(quiet(), &empty, None, "empty");
    fails(quiet(), &train, Some(&empty), "validation set is empty");
    fails(quiet().batch_size(0), &train, None, "at least one sample");
    fails(quiet().accumulate(0), &train, None, "at least one batch");
    fails(quiet().batch_size(11).drop_last(true), &train, None, "smaller");
    fails(quiet().early_stopping(2, 0.0), &train, None, "needs a validation set");
    let lbfgs = || Trainer::new(Lbfgs::default()).progress(Progress::Silent);
    fails(lbfgs().clip_norm(1.0), &train, None, "gradient as it is");
    fails(lbfgs().accumulate(2), &train, None, "the whole set");
    fails(lbfgs().clip_value(1.0), &train, None, "gradient as it is");
    fails(quiet().schedule(Schedule::cosine(0)), &train, None, "Schedule::Cosine: steps is 0");
    fails(quiet().schedule(Schedule::Reciprocal { delay: f64::NAN }), &train, None, "delay is NaN");
    fails(quiet().early_stopping(2, f64::NAN), &train, Some(&train), "margin");
    let plateau = ReduceOnPlateau::build(ReduceOnPlateauSettings::default()).unwrap();
    fails(quiet().watch("accuracy").plateau(plateau), &train, Some(&train), "larger_is_better");
    fails(quiet().watch("f1"), &train, Some(&train), "loss, accuracy");
    fails(quiet().clip_norm(0.0), &train, None, "positive");
    let wrong = TensorDataset::new(Tensor::zeros([4, 2], DType::F32), Tensor::from([0i64, 1, 2, -1])).unwrap();
    fails(quiet().shuffle(false).batch_size(4), &wrong, None, "class 2 in row 2");
    let text = Tensor::zeros([4, 3], DType::F32);
    fails(quiet(), &TensorDataset::new(text, Tensor::zeros([4], DType::I64)).unwrap(), None, "shape");
}

/// Weights that led astray are replaced by the best ones, if those are kept.
#[test]
fn a_run_that_diverges_gives_the_best_weights_back() {
    let (train, task) = (moons(64, 1), Classification::new());
    let mut net = smooth(1);
    // One good step, then steps that are a thousand times longer each time and leave the range of numbers.
    let mut trainer = Trainer::new(Sgd::new(0.1)).steps(100).batch_size(64).evaluate_every(1);
    trainer = trainer.schedule(Schedule::Exponential { factor: 1e3 }).keep_best().progress(Progress::Silent);
    let error = trainer.fit(&mut net, &task, &train, Some(&train)).unwrap_err();
    assert!(matches!(error, Error::Diverged { .. }), "{error}");
    let loss = evaluate(&net, &task, &train, 64).unwrap()[0].value;
    assert!(loss < evaluate(&smooth(1), &task, &train, 64).unwrap()[0].value, "{loss}");
}

/// A layer whose weight is that of another layer, kept in two places.
#[derive(Module)]
struct Mirror {
    encode: Linear,
    decode: Linear,
}

impl Layer for Mirror {
    fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        self.decode.forward(&self.encode.forward(x, pass)?.tanh(), pass)
    }
}

#[test]
fn nets_with_nothing_to_train_or_one_tensor_twice_are_refused() {
    let (train, task) = (moons(10, 1), Classification::new());
    let mut frozen = smooth(1);
    frozen.freeze("").unwrap();
    let error = trainer_without_validation().fit(&mut frozen, &task, &train, None).unwrap_err().to_string();
    assert!(error.contains("4 parameters, and all are frozen"), "{error}");
    let error = trainer_without_validation().fit(&mut Nonlinearity::Relu, &task, &train, None).unwrap_err().to_string();
    assert!(error.contains("no parameters"), "{error}");
    let encode = Linear::new(2, 2, &mut Rng::new(1));
    let mut decode = Linear::new(2, 2, &mut Rng::new(2));
    decode.weight = encode.weight.clone();
    let mut net = Mirror { encode, decode };
    let error = trainer_without_validation().fit(&mut net, &task, &train, None).unwrap_err().to_string();
    assert!(error.contains("\"encode.weight\" and \"decode.weight\""), "{error}");
    net.decode.weight = net.decode.weight.detach().requires_grad();
    trainer_without_validation().fit(&mut net, &task, &train, None).unwrap();
    let empty = TensorDataset::new(Tensor::zeros([0, 2], DType::F32), Tensor::zeros([0], DType::I64)).unwrap();
    assert!(evaluate(&net, &task, &empty, 8).unwrap_err().to_string().contains("empty"));
}
