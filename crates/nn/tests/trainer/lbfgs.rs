//! L-BFGS, which takes the whole set in every step.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tove_data::{Dataset, TensorDataset};
use tove_nn::*;
use tove_optim::{Adam, Lbfgs, LbfgsSettings, Optimizer};
use tove_tensor::{DType, Key, Tensor};

use crate::support::{After, Scratch, bits, moons, smooth};

/// The trainer's steps are those of L-BFGS called on the whole set, and end where it converges.
#[test]
fn l_bfgs_trains_on_the_whole_set() {
    let (train, task) = (moons(150, 1), Classification::new());
    let everything = train.all(Key::new(0)).unwrap();
    // Four iterations a step, so that five steps do not end in the minimum.
    let rule = || Lbfgs::build(LbfgsSettings::default().max_iterations(4)).unwrap();
    let (mut by_hand, mut lbfgs) = (smooth(7), rule());
    let mut values = Vec::new();
    for _ in 0..5 {
        let mut leaves: Vec<Tensor> = by_hand.parameters().into_iter().cloned().collect();
        let mut loss = |leaves: &[&mut Tensor]| {
            by_hand.parameters_mut().into_iter().zip(leaves).for_each(|(own, leaf)| *own = (**leaf).clone());
            let loss = task.loss(&by_hand, &everything, &Pass::eval()).unwrap();
            loss.backward();
            Ok(f64::from(loss.item::<f32>()))
        };
        values.push(lbfgs.step_with(&mut leaves.iter_mut().collect::<Vec<_>>(), &mut loss).unwrap());
        by_hand.parameters_mut().into_iter().zip(leaves).for_each(|(own, leaf)| *own = leaf);
    }
    let trainer = || Trainer::new(rule()).epochs(5).progress(Progress::Silent);
    let mut net = smooth(7);
    let report = trainer().batch_size(150).fit(&mut net, &task, &train, Some(&train)).unwrap();
    assert_eq!((report.steps, report.history.len(), &report.losses), (5, 5, &values));
    assert_eq!(bits(&net), bits(&by_hand), "one piece: the same bits");
    // In pieces of 32 and a rest the mean is the same up to rounding.
    let mut pieces = smooth(7);
    let report = trainer().epochs(2).fit(&mut pieces, &task, &train, None).unwrap();
    assert!((report.losses[0] - values[0]).abs() < 1e-6 && (report.losses[1] - values[1]).abs() < 1e-3, "{report:?}");
    // Adam with full batches and as many evaluations, five for four iterations, does not come as far.
    let mut adam = smooth(7);
    let mut other = Trainer::new(Adam::new(0.01)).steps(25).batch_size(150).progress(Progress::Silent);
    let adam = other.fit(&mut adam, &task, &train, None).unwrap();
    assert!(values[4] < adam.losses[24], "{values:?} {}", adam.losses[24]);

    // A frozen layer stays; training ends when nothing is left to gain, and says so.
    let mut frozen = smooth(7);
    frozen.layers[0].freeze("").unwrap();
    let before = bits(&frozen.layers[0]);
    let mut patient = Trainer::new(Lbfgs::default()).epochs(500).batch_size(150).progress(Progress::Silent);
    let report = patient.fit(&mut frozen, &task, &train, Some(&train)).unwrap();
    assert_eq!((report.ending, bits(&frozen.layers[0])), (Ending::Converged, before));
    assert!(report.steps < 500 && report.history.len() as u64 == report.steps, "{report}");
    assert!(report.losses.last() < report.losses.first());
}

#[test]
fn l_bfgs_is_resumed_interrupted_and_explained_like_the_others() {
    let (train, task, scratch) = (moons(150, 1), Classification::new(), Scratch::new("lbfgs"));
    let path = scratch.file("run.safetensors");
    // Dropout draws the same numbers in every evaluation, so that there is one function to minimise.
    let make = || {
        let mut rng = Rng::new(4);
        let first = Sequential::new().add(Linear::new(2, 16, &mut rng)).add(Nonlinearity::Tanh).add(Dropout::new(0.2));
        first.add(Linear::new(16, 2, &mut rng))
    };
    let trainer = || Trainer::new(Lbfgs::default()).epochs(6).batch_size(64).seed(3).progress(Progress::Silent);
    let mut whole = make();
    let report = trainer().fit(&mut whole, &task, &train, None).unwrap();
    assert!(report.losses.windows(2).all(|pair| pair[1] < pair[0]), "{:?}", report.losses);
    for (stop, ending) in [(2, Ending::Interrupted), (100, report.ending)] {
        let flag = Arc::new(AtomicBool::new(false));
        let mut again = make();
        let mut trainer = trainer().checkpoint(&path).stop_when(flag.clone()).callback(After(stop, flag));
        assert_eq!(trainer.fit(&mut again, &task, &train, None).unwrap().ending, ending);
        if ending != Ending::Interrupted {
            assert_eq!(bits(&again), bits(&whole));
        }
    }
    let x = Tensor::from([[1.0f32, f32::NAN], [0.0, 1.0]]);
    let dirty = TensorDataset::new(x, Tensor::from([0i64, 1])).unwrap();
    let mut net = smooth(1);
    let before = bits(&net);
    let error = trainer().fit(&mut net, &task, &dirty, None).unwrap_err();
    assert!(error.to_string().contains("NaN or infinite inputs"), "{error}");
    assert_eq!(bits(&net), before);
    let wrong = TensorDataset::new(Tensor::zeros([4, 2], DType::F32), Tensor::from([0i64, 1, 2, -1])).unwrap();
    let error = trainer().fit(&mut net, &task, &wrong, None).unwrap_err();
    assert!(error.to_string().contains("class 2 in row 2"), "{error}");
}
