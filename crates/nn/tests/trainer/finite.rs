//! Numbers that are not finite never enter the weights, and weights that are not finite are never called a success.

use tove_data::{Batch, TensorDataset};
use tove_nn::*;
use tove_optim::{Adam, Lbfgs, NesterovLookAhead, Optimizer, Sgd};
use tove_tensor::{DType, Tensor};

use crate::support::{Scratch, bits, moons, net};

/// The loss is finite, and the slope of the root at 0 is not. From the given sample on, features are 0.
fn rooted(net: &Sequential, batch: &Batch, pass: &Pass) -> Result<Tensor> {
    let y = net.forward(&batch.x, pass)?.square().mean();
    let zero = net.parameters()[0].square().sum() * batch.y.to_dtype(DType::F32).min();
    Ok(y + zero.sqrt())
}

/// Targets of 1, and from one sample on targets of 0, where the gradient of [`rooted`] is NaN.
fn until(good: usize) -> TensorDataset {
    let y: Vec<i64> = (0..64).map(|row| i64::from(row < good)).collect();
    TensorDataset::new(moons(64, 1).x().clone(), Tensor::from(y)).unwrap()
}

fn trainer<'c>(rule: impl Optimizer + 'static) -> Trainer<'c> {
    Trainer::new(rule).batch_size(16).shuffle(false).steps(4).progress(Progress::Silent)
}

#[test]
fn a_gradient_that_is_not_finite_does_not_enter_the_weights() {
    type Make = fn() -> Trainer<'static>;
    let trainers: Vec<(&str, Make)> = vec![
        ("sgd", || trainer(Sgd::new(0.1))),
        ("adam", || trainer(Adam::new(0.1))),
        ("ahead", || trainer(NesterovLookAhead::new(0.1))),
        ("clipped", || trainer(Adam::new(0.1)).clip_norm(1.0)),
        ("cut", || trainer(Adam::new(0.1)).clip_value(1.0)),
        ("averaged", || trainer(Adam::new(0.1)).average_weights(0.9)),
    ];
    for (name, make) in trainers {
        for bad in 0..4 {
            // The step `bad` (from 0) fails; as the last of four it used to be a success with NaN parameters.
            let mut straight = net();
            if bad > 0 {
                let mut plain = make().steps(bad);
                plain = if name == "averaged" { trainer(Adam::new(0.1)).steps(bad) } else { plain };
                plain.fit(&mut straight, &rooted, &until(64), None).unwrap();
            }
            let mut net = net();
            let error = make().fit(&mut net, &rooted, &until(16 * bad as usize), None).unwrap_err();
            let Error::Diverged { step, value, .. } = &error else { panic!("{name}: {error}") };
            assert!(*step == bad && value.is_finite(), "{name}: {error}");
            assert!(error.to_string().contains("gradient of \"0.weight\""), "{name}: {error}");
            assert_eq!(bits(&net), bits(&straight), "{name}, step {bad}: weights and buffers before the step");
            assert!(net.parameters().iter().all(|parameter| parameter.grad().is_none()));
        }
    }
}

#[test]
fn l_bfgs_keeps_the_weights_when_the_gradient_is_not_finite() {
    let mut net = net();
    let before = bits(&net);
    let mut lbfgs = Trainer::new(Lbfgs::default()).epochs(3).progress(Progress::Silent);
    let error = lbfgs.fit(&mut net, &rooted, &until(0), None).unwrap_err();
    assert!(matches!(error, Error::Diverged { step: 0, .. }) && error.to_string().contains("0.weight"), "{error}");
    assert_eq!(bits(&net), before, "running statistics too");
}

/// A last step that is so long that the weights leave the range of numbers: nothing after it finds out but the end of the run.
#[test]
fn weights_that_are_not_finite_are_an_error_and_are_not_saved() {
    let (train, task, scratch) = (moons(64, 1), Classification::new(), Scratch::new("overflow"));
    let path = scratch.file("run");
    let run = |rate: f64, checkpoint: bool| {
        let trainer = Trainer::new(Sgd::new(rate)).steps(1).batch_size(64).progress(Progress::Silent);
        let mut trainer = if checkpoint { trainer.checkpoint(&path) } else { trainer };
        trainer.fit(&mut Linear::new(2, 2, &mut Rng::new(1)), &task, &train, None)
    };
    run(0.1, true).unwrap();
    let kept = std::fs::read(&path).unwrap();
    for checkpoint in [false, true] {
        let longer = if checkpoint { 2 } else { 1 };
        let trainer = Trainer::new(Sgd::new(f64::MAX)).steps(longer).batch_size(64).progress(Progress::Silent);
        let mut trainer = if checkpoint { trainer.checkpoint(&path) } else { trainer };
        let error = trainer.fit(&mut Linear::new(2, 2, &mut Rng::new(1)), &task, &train, None).unwrap_err();
        assert!(matches!(error, Error::Diverged { .. }), "{error}");
        assert!(
            error.to_string().contains("no longer finite") && error.to_string().contains("smaller step"),
            "{error}"
        );
    }
    assert_eq!(std::fs::read(&path).unwrap(), kept, "the file still holds the finite weights");
}

/// A running variance beyond the range of f32: training does not use it, so that loss and weights are finite to the end.
#[test]
fn buffers_that_are_not_finite_are_an_error_and_are_not_saved() {
    let scratch = Scratch::new("buffers");
    let path = scratch.file("run");
    let huge = TensorDataset::new(moons(64, 1).x() * 1e25, moons(64, 1).y().clone()).unwrap();
    let mut rng = Rng::new(1);
    let mut net = Sequential::new().add(BatchNorm::new(2)).add(Linear::new(2, 2, &mut rng));
    let error =
        trainer(Sgd::new(0.1)).checkpoint(&path).fit(&mut net, &Classification::new(), &huge, None).unwrap_err();
    assert!(error.to_string().contains("running_var") && error.to_string().contains("no longer finite"), "{error}");
    assert!(!path.exists());
}
