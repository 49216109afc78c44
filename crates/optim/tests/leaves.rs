//! Leaves that are in a list of parameters twice, and parameters that go back to where they were.

// Helpers of tests end the test where they fail.
#![allow(clippy::unwrap_used)]

use tove_optim::{Adam, Group, NesterovLookAhead, Optimizer, Sgd, same_leaves};
use tove_tensor::{DType, Error, Key, Tensor};

#[test]
fn a_leaf_that_is_there_twice_is_refused_at_the_first_step() {
    let rules: [Box<dyn Optimizer>; 3] =
        [Box::new(Adam::new(0.1)), Box::new(Sgd::new(0.1)), Box::new(NesterovLookAhead::new(0.1))];
    for mut rule in rules {
        let (mut encode, mut other) = (Tensor::from([1f32, 2.0]).requires_grad(), Tensor::from([3f32]).requires_grad());
        let mut decode = encode.clone();
        let mut parameters = [&mut encode, &mut other, &mut decode];
        rule.look_ahead(&mut parameters).unwrap();
        (parameters[0].sum() + parameters[2].square().sum() + parameters[1].sum()).backward();
        let error = rule.step(&mut parameters).unwrap_err().to_string();
        assert!(error.contains("positions 0 and 2 are one tensor"), "{}: {error}", rule.name());
        // Gradients are still there, and nothing moved.
        assert_eq!(decode.grad().unwrap().to_vec::<f32>(), [3.0, 5.0]);
        assert_eq!(other.grad().unwrap().to_vec::<f32>(), [1.0]);
        assert_eq!(encode.to_vec::<f32>(), [1.0, 2.0]);
    }
}

#[test]
fn frozen_empty_and_double_tensors_are_no_pairs() {
    let empty = Tensor::zeros([0], DType::F32).requires_grad();
    let frozen = Tensor::from([1.0]);
    let scalar = Tensor::scalar(2.0).requires_grad();
    assert_eq!(same_leaves(&[&empty, &frozen, &frozen.clone(), &empty.clone(), &scalar]), None);
    assert_eq!(same_leaves(&[&scalar, &scalar.clone()]), Some((0, 1)));
}

/// θ + α v − α v is not θ in floating point; looking back is exact all the same, and so is a step without a gradient.
#[test]
fn looking_back_is_exact() {
    let mut rule = NesterovLookAhead::new(0.1);
    let (mut moved, mut idle) =
        (Key::new(1).normal([100], DType::F32).requires_grad(), Key::new(2).normal([100], DType::F32).requires_grad());
    for _ in 0..3 {
        rule.look_ahead(&mut [&mut moved, &mut idle]).unwrap();
        (moved.square().sum() + idle.square().sum()).backward();
        rule.step(&mut [&mut moved, &mut idle]).unwrap();
    }
    let before = [moved.to_vec::<f32>(), idle.to_vec::<f32>()];
    rule.look_ahead(&mut [&mut moved, &mut idle]).unwrap();
    assert_ne!(moved.to_vec::<f32>(), before[0]);
    rule.look_back(&mut [&mut moved, &mut idle]).unwrap();
    assert_eq!([moved.to_vec::<f32>(), idle.to_vec::<f32>()], before);
    // Without a loss there is no step either.
    let failed = rule.step_with(&mut [&mut moved, &mut idle], &mut |_| Err(Error::data("loss", "no data")));
    assert!(failed.is_err() && [moved.to_vec::<f32>(), idle.to_vec::<f32>()] == before);
    rule.look_ahead(&mut [&mut moved, &mut idle]).unwrap();
    moved.square().sum().backward();
    rule.step(&mut [&mut moved, &mut idle]).unwrap();
    assert_eq!(idle.to_vec::<f32>(), before[1]);
    assert_ne!(moved.to_vec::<f32>(), before[0]);
}

/// Groups made for another net are refused before anything moves, instead of being left out in silence.
#[test]
fn groups_of_parameters_that_are_not_there_are_refused() {
    let groups = [Group::new([0]), Group::new([3]).weight_decay(0.0)];
    let (mut a, mut b) = (Tensor::from([1.0]).requires_grad(), Tensor::from([2.0]).requires_grad());
    let mut adam = Adam::new(0.1).groups(&groups).unwrap();
    (a.square() + b.square()).sum().backward();
    let error = adam.step(&mut [&mut a, &mut b]).unwrap_err().to_string();
    assert!(error.contains("position 3") && error.contains("2 parameters, 0 to 1"), "{error}");
    assert_eq!((a.item::<f64>(), b.item::<f64>()), (1.0, 2.0));
}
