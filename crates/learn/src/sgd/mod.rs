//! Linear models trained by stochastic gradient descent, one sample at a time.
//!
//! Each step uses the gradient of one sample's loss, w ← (1 − (1 − ρ) η α) w − η ℓ'(w·x + b, y) x, with ρ the fraction
//! of l1 in the penalty α ((1 − ρ)/2 ‖w‖² + ρ ‖w‖₁); the l1 part is applied cumulatively. The learning rate η follows a
//! [`LearningRate`]. Samples are shuffled in each epoch with `random_state`. Training stops when the mean regularized loss
//! (or, with `early_stopping`, the score on a held-out validation set) has not improved by `tol` for `n_iter_no_change`
//! epochs. More than two classes are handled one-vs-rest, in parallel.
//!
//! Hyperparameters and steps are scikit-learn's, with two differences: the order of the samples (another random
//! generator), and intercepts are updated identically for sparse and dense rows, so that storage does not affect the
//! model.

mod classifier;
mod loss;
mod online;
mod perceptron;
mod regressor;
mod run;
mod settings;
mod weights;

pub use crate::logistic::FittedLinearClassifier;
pub use classifier::{FittedSgdClassifier, SgdClassifier};
pub use loss::{ClassLoss, RegressionLoss};
pub use online::OnlineClassifier;
pub use perceptron::{FittedPerceptron, Perceptron};
pub use regressor::{FittedSgdRegressor, OnlineRegressor, SgdRegressor};

pub use settings::{Averaging, DescentSettings};
use tove_optim::settings::Choice;
use tove_tensor::Key;

use crate::Penalty;

/// The learning rate as a function of the number of steps t.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum LearningRate {
    /// 1 / (α (t₀ + t)), with Bottou's choice of t₀.
    #[default]
    Optimal,
    /// η₀.
    Constant,
    /// η₀ / t^`power_t`.
    Invscaling,
    /// η₀, divided by 5 whenever training stops improving.
    Adaptive,
}

/// Fractions of l1 and l2 in a penalty.
fn shares(penalty: Penalty, l1_ratio: f64) -> (f64, f64) {
    match penalty {
        Penalty::None => (0.0, 0.0),
        Penalty::L2 => (0.0, 1.0),
        Penalty::L1 => (1.0, 0.0),
        Penalty::Elasticnet => (l1_ratio, 1.0 - l1_ratio),
    }
}

/// Splits rows into training and stratified validation sets; the validation set is empty without a fraction.
fn split(codes: &[usize], share: Option<f64>, seed: u64) -> (Vec<usize>, Vec<usize>) {
    let n = codes.len();
    let Some(share) = share else { return ((0..n).collect(), Vec::new()) };
    let order = Key::new(seed).fold(u64::MAX).permutation(n).to_vec::<i64>();
    let classes = codes.iter().max().map_or(0, |largest| largest + 1);
    let (mut seen, mut counts) = (vec![0usize; classes], vec![0usize; classes]);
    codes.iter().for_each(|&code| counts[code] += 1);
    let mut watched = vec![false; n];
    for &row in &order {
        let code = codes[row as usize];
        watched[row as usize] = (seen[code] as f64) < (share * counts[code] as f64).round();
        seen[code] += 1;
    }
    (0..n).partition(|&row| !watched[row])
}
