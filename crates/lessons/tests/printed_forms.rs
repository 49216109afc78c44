//! Formulas as printed, shown to fail where the library's forms hold.

use tove_lessons::printed_forms::{
    binary_slope, bowl, epochs, is_minimum, least_squares_step, mse_slope, smoothed_targets,
};
use tove_optim::losses::{BinaryCrossEntropy, Loss, Smoothing, smooth_targets};
use tove_optim::{Batches, Objective, second_order};
use tove_tensor::{DType, Key, Tensor, grad};

#[test]
fn printed_label_smoothing_targets_sum_to_more_than_one() {
    let class = Tensor::from([2i64]);
    let printed = smoothed_targets(&class, 4, 0.1).unwrap().sum().item::<f64>();
    assert!((printed - 1.0333333333333334).abs() < 1e-12);
    let right = smooth_targets(&class, 4, Smoothing::Others(0.1), DType::F64).unwrap().sum().item::<f64>();
    assert!((right - 1.0).abs() < 1e-15);
}

#[test]
fn printed_binary_slope_leads_uphill() {
    let (p, y) = (Tensor::from([0.3, 0.8]), Tensor::from([1.0, 0.0]));
    let slope = grad(|p: &Tensor| BinaryCrossEntropy.mean(p, &y).unwrap() * 2.0)(&p);
    let printed = binary_slope(&p, &y).unwrap();
    assert!((&printed + &slope).norm(2.0).item::<f64>() < 1e-14, "exactly the opposite");
    let loss = |p: &Tensor| BinaryCrossEntropy.mean(p, &y).unwrap().item::<f64>();
    assert!(loss(&(&p - &printed * 0.01)) > loss(&p) && loss(&(&p - &slope * 0.01)) < loss(&p));
}

#[test]
fn printed_least_squares_program_stretches_its_weights() {
    let (x, y) = (Key::new(1).normal([7, 3], DType::F64), Key::new(2).normal([7], DType::F64));
    let wrong = least_squares_step(&x, &y, &Tensor::zeros([3, 1], DType::F64), 1e-3).unwrap();
    assert_eq!(wrong.shape(), &[3, 7], "w of shape (c, 1) becomes (c, n) without a word");
    let right = least_squares_step(&x, &y, &Tensor::zeros([3], DType::F64), 1e-3).unwrap();
    assert_eq!(right.shape(), &[3]);
}

#[test]
fn printed_mse_gradient_is_half_of_the_right_one() {
    let (x, y) = (Key::new(1).normal([7, 3], DType::F64), Key::new(2).normal([7], DType::F64));
    let w = Key::new(3).normal([3], DType::F64);
    let right = (|w: &Tensor| (&y - x.matmul(w)).square().mean()).gradient(&w).unwrap();
    let printed = mse_slope(&x, &y, &w).unwrap();
    assert!((printed * 2.0 - right).norm(2.0).item::<f64>() < 1e-13);
}

#[test]
fn printed_number_of_epochs_is_the_batch_size() {
    let batches = Batches::new(12, 4, 0).unwrap();
    assert_eq!(epochs(12, batches.steps_per_epoch()), batches.size());
}

#[test]
fn printed_second_order_test_accepts_what_is_no_minimum() {
    let zero = Tensor::from([0.0]);
    for f in [|x: &Tensor| x.powf(3.0).sum(), |x: &Tensor| -x.powf(4.0).sum()] {
        assert!(is_minimum(&f, &zero).unwrap() && !second_order(&f, &zero).unwrap().accepted);
        assert!(f(&Tensor::from([-0.1])).item::<f64>() < f(&zero).item::<f64>());
    }
}

#[test]
fn the_bowl_is_round_only_for_equal_curvatures() {
    let cosines = |k: f64| -> Vec<f64> {
        let text = bowl(k, 9).unwrap();
        text.lines().skip(1).map(|line| line.rsplit(',').next().unwrap().parse().unwrap()).collect()
    };
    assert!(cosines(1.0).iter().all(|c| *c == -1.0));
    let long = cosines(10.0);
    assert!(long.iter().all(|c| *c < 0.0) && long.iter().any(|c| *c > -0.8));
}
