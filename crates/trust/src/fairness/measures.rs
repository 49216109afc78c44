//! Single gaps as numbers, by fairlearn's names. Groups of any size count; a group whose rate is undefined is left out.

use tove_tensor::Tensor;

use super::outcomes::{SensitiveGroups, binary};
use crate::{Result, TrustError, input};

/// Sums of weights of one group: in the denominator, and with decision 1.
type Sums = (f64, f64);

fn sums(
    what: &'static str,
    labels: Option<(&Tensor, usize)>,
    decisions: &Tensor,
    groups: &Tensor,
    weights: Option<&Tensor>,
) -> Result<Vec<Sums>> {
    let n = decisions.numel();
    let decisions = binary(what, "decisions", decisions, n)?;
    let wanted = labels.map(|(labels, wanted)| Ok::<_, TrustError>((binary(what, "labels", labels, n)?, wanted)));
    let wanted: Option<(Vec<usize>, usize)> = wanted.transpose()?;
    let weights = input::weights(what, weights, n)?;
    input::groups(what, groups, n)?;
    let groups = SensitiveGroups::from_column("group", groups)?;
    let mut sums = vec![(0.0, 0.0); groups.len()];
    for row in 0..n {
        if wanted.as_ref().is_none_or(|(labels, wanted)| labels[row] == *wanted) {
            let sum = &mut sums[groups.codes()[row]];
            *sum = (sum.0 + weights[row], sum.1 + weights[row] * decisions[row] as f64);
        }
    }
    Ok(sums)
}

/// The smallest and the largest rate.
fn ends(what: &'static str, sums: &[Sums]) -> Result<(f64, f64)> {
    let rates: Vec<f64> = sums.iter().filter(|sum| sum.0 > 0.0).map(|sum| sum.1 / sum.0).collect();
    if rates.len() < 2 {
        let problem = format!("{} of {} groups have such rows", rates.len(), sums.len());
        return Err(TrustError::data(what, problem, "give rows of at least two groups that have this rate"));
    }
    Ok(rates.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &rate| (low.min(rate), high.max(rate))))
}

fn ratio((low, high): (f64, f64)) -> f64 {
    if high == 0.0 { 1.0 } else { low / high }
}

/// Largest minus smallest selection rate P(D = 1 | A = a): 0 if decisions are independent of the group.
///
/// ```
/// use tove_tensor::Tensor;
/// use tove_trust::fairness::demographic_parity_difference;
/// let (decisions, groups) = (Tensor::from([1i64, 1, 0, 1]), Tensor::from([0i64, 0, 1, 1]));
/// assert_eq!(demographic_parity_difference(&decisions, &groups, None)?, 0.5);
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
///
/// # Errors
/// Decisions other than 0 and 1; different lengths; fewer than two groups.
pub fn demographic_parity_difference(decisions: &Tensor, groups: &Tensor, weights: Option<&Tensor>) -> Result<f64> {
    let what = "demographic_parity_difference";
    let (low, high) = ends(what, &sums(what, None, decisions, groups, weights)?)?;
    Ok(high - low)
}

/// Smallest divided by largest selection rate; 1 if all are 0.
///
/// # Errors
/// As [`demographic_parity_difference`].
pub fn demographic_parity_ratio(decisions: &Tensor, groups: &Tensor, weights: Option<&Tensor>) -> Result<f64> {
    let what = "demographic_parity_ratio";
    Ok(ratio(ends(what, &sums(what, None, decisions, groups, weights)?)?))
}

/// The larger of the differences of true positive rates and of false positive rates: 0 if decisions are independent of the group given
/// the label.
///
/// # Errors
/// As [`demographic_parity_difference`]; fewer than two groups with positives, or with negatives.
pub fn equalized_odds_difference(
    labels: &Tensor,
    decisions: &Tensor,
    groups: &Tensor,
    weights: Option<&Tensor>,
) -> Result<f64> {
    let what = "equalized_odds_difference";
    let difference = |wanted: usize| -> Result<f64> {
        let (low, high) = ends(what, &sums(what, Some((labels, wanted)), decisions, groups, weights)?)?;
        Ok(high - low)
    };
    Ok(difference(1)?.max(difference(0)?))
}

/// The smaller of the ratios of true positive rates and of false positive rates.
///
/// # Errors
/// As [`equalized_odds_difference`].
pub fn equalized_odds_ratio(
    labels: &Tensor,
    decisions: &Tensor,
    groups: &Tensor,
    weights: Option<&Tensor>,
) -> Result<f64> {
    let what = "equalized_odds_ratio";
    let one = |wanted: usize| -> Result<f64> {
        Ok(ratio(ends(what, &sums(what, Some((labels, wanted)), decisions, groups, weights)?)?))
    };
    Ok(one(1)?.min(one(0)?))
}

/// Largest minus smallest true positive rate P(D = 1 | Y = 1, A = a).
///
/// # Errors
/// As [`demographic_parity_difference`]; fewer than two groups with positives.
pub fn equal_opportunity_difference(
    labels: &Tensor,
    decisions: &Tensor,
    groups: &Tensor,
    weights: Option<&Tensor>,
) -> Result<f64> {
    let what = "equal_opportunity_difference";
    let (low, high) = ends(what, &sums(what, Some((labels, 1)), decisions, groups, weights)?)?;
    Ok(high - low)
}
