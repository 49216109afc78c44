//! The parameters of RAPS, chosen on rows of their own.

use tove_tensor::Tensor;

use super::SetScore;
use super::quantile::{order_statistic, rank};
use crate::input::{codes, fraction};
use crate::{Probabilities, Result};

/// The penalties that are tried, from Angelopoulos et al. 2021.
const PENALTIES: [f64; 5] = [0.001, 0.01, 0.1, 0.2, 0.5];

/// RAPS with parameters for small sets (Angelopoulos et al. 2021): `k_reg` is the ⌈(n + 1)(1 − α)⌉-th smallest rank of the true class, the
/// penalty the one of 0.001, 0.01, 0.1, 0.2 and 0.5 with the smallest sets on these rows (the smallest of several).
///
/// The rows must be used neither to fit the model nor to calibrate: for the guarantee, the score must be fixed before calibrating.
///
/// ```
/// use tove_tensor::Tensor;
/// use tove_trust::conformal::{SetScore, tuned_raps};
/// let p = Tensor::from([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.3, 0.3, 0.4], [0.7, 0.2, 0.1]]);
/// let y = Tensor::from([0i64, 2, 2, 0]);
/// let score = tuned_raps(&p, &y, 0.2, false)?;
/// assert!(matches!(score, SetScore::Raps { k_reg: 2, randomized: false, .. }));
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
///
/// # Errors
/// Invalid probabilities or labels; α not between 0 and 1; fewer than 1/α − 1 rows.
pub fn tuned_raps(probabilities: &Tensor, labels: &Tensor, alpha: f64, randomized: bool) -> Result<SetScore> {
    const WHAT: &str = "tuned_raps";
    let alpha = fraction(WHAT, "alpha", alpha)?;
    let p = Probabilities::new(WHAT, probabilities)?;
    let labels = codes(WHAT, "labels", labels, p.len(), p.classes())?;
    let (mut order, mut scores) = (Vec::new(), vec![0.0; p.classes()]);
    let mut place = |row: &[f64], label: usize| {
        SetScore::Aps { randomized: false }.write(row, 0.0, &mut order, &mut scores);
        order.iter().position(|&class| class == label).unwrap_or(0) as f64 + 1.0
    };
    let ranks = p.rows().zip(&labels).map(|(row, &label)| place(row, label)).collect();
    let k_reg = order_statistic(WHAT, ranks, alpha, "the set of rows")? as usize;
    let mut best = (usize::MAX, PENALTIES[0]);
    for lambda in PENALTIES {
        let score = SetScore::Raps { lambda, k_reg, randomized };
        let mut all = Vec::with_capacity(p.len() * p.classes());
        for row in p.rows() {
            score.write(row, 0.0, &mut order, &mut scores);
            all.extend_from_slice(&scores);
        }
        let mut own: Vec<f64> = labels.iter().enumerate().map(|(row, &label)| all[row * p.classes() + label]).collect();
        let cutoff = *own.select_nth_unstable_by(rank(p.len(), alpha) - 1, f64::total_cmp).1;
        let size = all.iter().filter(|&&score| score <= cutoff).count();
        if size < best.0 {
            best = (size, lambda);
        }
    }
    Ok(SetScore::Raps { lambda: best.1, k_reg, randomized })
}
