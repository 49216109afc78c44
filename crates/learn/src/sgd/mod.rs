//! Linear models by stochastic gradient descent, one sample at a time.
//!
//! Each step follows the slope of one sample's loss, w ← (1 − (1 − ρ) η α) w − η ℓ'(w·x + b, y) x, with ρ the share of l1 in the
//! penalty α ((1 − ρ)/2 ‖w‖² + ρ ‖w‖₁), which is charged cumulatively. The rate η follows a [`Schedule`]. Samples come in an
//! order drawn anew for each epoch from `random_state`. Training ends when the mean loss with penalty (or, with
//! `early_stopping`, the score of a part that is held out) has not improved by `tol` for `n_iter_no_change` epochs. More than
//! two classes are one problem each against the rest, learnt in parallel.
//!
//! Settings and steps are scikit-learn's, with two differences: the order of the samples (another random generator), and
//! intercepts move alike for sparse and dense rows, so that storage does not change the model.

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

pub use settings::{Average, DescentSettings};
use tove_optim::settings::Choice;
use tove_tensor::Key;

use crate::Penalty;

/// How the rate falls with the number of steps t.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum Schedule {
    /// 1 / (α (t₀ + t)), with Bottou's choice of t₀.
    #[default]
    Optimal,
    /// η₀.
    Constant,
    /// η₀ / t^`power_t`.
    Invscaling,
    /// η₀, divided by 5 whenever training stalls.
    Adaptive,
}

/// Shares of l1 and l2 in a penalty.
fn shares(penalty: Penalty, l1_ratio: f64) -> (f64, f64) {
    match penalty {
        Penalty::None => (0.0, 0.0),
        Penalty::L2 => (0.0, 1.0),
        Penalty::L1 => (1.0, 0.0),
        Penalty::Elasticnet => (l1_ratio, 1.0 - l1_ratio),
    }
}

/// Rows to learn from and rows to watch, a share of each class; all to learn from if there is nothing to watch.
fn split(codes: &[usize], share: Option<f64>, seed: u64) -> (Vec<usize>, Vec<usize>) {
    let n = codes.len();
    let Some(share) = share else { return ((0..n).collect(), Vec::new()) };
    let order = Key::new(seed).fold(u64::MAX).permutation(n).to_vec::<i64>();
    let most = codes.iter().max().map_or(0, |most| most + 1);
    let (mut seen, mut counts) = (vec![0usize; most], vec![0usize; most]);
    codes.iter().for_each(|&code| counts[code] += 1);
    let mut watched = vec![false; n];
    for &row in &order {
        let code = codes[row as usize];
        watched[row as usize] = (seen[code] as f64) < (share * counts[code] as f64).round();
        seen[code] += 1;
    }
    (0..n).partition(|&row| !watched[row])
}
