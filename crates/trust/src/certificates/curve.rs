//! Robust accuracy between a certificate and an attack, for growing limits.

use std::fmt;
use std::sync::Mutex;

use tove_metrics::Score;
use tove_tensor::Tensor;
use tove_tensor::pool::parallel_for;

use super::bounds::Relaxation;
use super::network::Network;
use super::region::InputRegion;
use super::search::SearchEffort;
use crate::{Result, TrustError};

const WHAT: &str = "certified_curve";

/// How a curve is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CurveOptions {
    /// The certificate.
    pub relaxation: Relaxation,
    /// The attack.
    pub effort: SearchEffort,
}

/// Robust accuracy at one size of the limits.
#[derive(Clone, Debug, PartialEq)]
pub struct CertifiedPoint {
    /// The size.
    pub eps: f64,
    /// Share of rows that are classified correctly and proven to be everywhere in their region: a lower bound on the robust
    /// accuracy on these rows, with Hoeffding's interval for that on the population.
    pub certified: Score,
    /// Share of rows that are classified correctly and for which the attack found no other class: an upper bound.
    pub unbroken: Score,
    /// Rows between both: neither proven nor broken.
    pub open: usize,
}

impl fmt::Display for CertifiedPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (low, high) = (100.0 * self.certified.value, 100.0 * self.unbroken.value);
        write!(f, "eps {}: robust accuracy from {low:.1} % (proven) to {high:.1} % (attacked)", self.eps)?;
        if self.open > 0 {
            write!(f, ", {} of {} rows open", self.open, self.certified.n)?;
        }
        Ok(())
    }
}

/// The state of a row at one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Broken,
    Open,
    Certified,
}

/// Bounds on the robust accuracy of a net for every size in `eps`: `region` gives the inputs that a row may become, such as
/// a ball of this size times the budgets of the features, within the range of the data. Labels are places among the outputs
/// (0 or 1 for a single output). The result does not depend on the number of threads.
///
/// ```
/// use tove_tensor::Tensor;
/// use tove_trust::certificates::{InputRegion, LinearScores, certified_curve};
/// use tove_trust::robustness::AttackNorm;
/// let net = LinearScores::new(&Tensor::from([[1.0]]), &Tensor::from([0.0]))?.network()?;
/// let (x, y) = (Tensor::from([[0.5], [-2.0]]), Tensor::from([1i64, 0]));
/// let region = |row: &[f64], eps: f64| InputRegion::around(row, &[eps], AttackNorm::LInf);
/// let curve = certified_curve(&net, &x, &y, &[0.0, 1.0, 3.0], region, &Default::default())?;
/// let values: Vec<(f64, f64)> = curve.iter().map(|point| (point.certified.value, point.unbroken.value)).collect();
/// assert_eq!(values, [(1.0, 1.0), (0.5, 0.5), (0.0, 0.0)]);
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
///
/// # Errors
/// No rows or sizes, sizes that are negative or do not grow, labels that do not fit, what `region` returns.
pub fn certified_curve(
    net: &Network,
    rows: &Tensor,
    labels: &Tensor,
    eps: &[f64],
    region: impl Fn(&[f64], f64) -> Result<InputRegion> + Sync,
    options: &CurveOptions,
) -> Result<Vec<CertifiedPoint>> {
    let rows = rows_of(WHAT, rows, net.inputs())?;
    let labels = crate::input::codes(WHAT, "labels", labels, rows.len(), net.classes())?;
    let bad = eps.iter().any(|eps| !(*eps >= 0.0 && eps.is_finite()));
    if eps.is_empty() || bad || eps.windows(2).any(|two| two[0] >= two[1]) {
        return Err(TrustError::argument(WHAT, format!("sizes {eps:?}; give ascending numbers of at least 0")));
    }
    let results: Vec<Mutex<Option<Result<Vec<Fate>>>>> = rows.iter().map(|_| Mutex::new(None)).collect();
    parallel_for(rows.len(), &|row| {
        let fates = fates(net, (&rows[row], labels[row]), eps, &region, options);
        *results[row].lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(fates);
    });
    let mut counts = vec![(0usize, 0usize); eps.len()]; // certified, open
    for result in results {
        let fates = result.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        for (count, fate) in counts.iter_mut().zip(fates.unwrap_or_else(|| Ok(Vec::new()))?) {
            count.0 += usize::from(fate == Fate::Certified);
            count.1 += usize::from(fate == Fate::Open);
        }
    }
    let n = rows.len();
    let share = |count: usize| Score::bounded(count as f64 / n as f64, n, n as f64, (0.0, 1.0));
    let point = |(&eps, (certified, open)): (&f64, (usize, usize))| CertifiedPoint {
        eps,
        certified: share(certified),
        unbroken: share(certified + open),
        open,
    };
    Ok(eps.iter().zip(counts).map(point).collect())
}

fn fates(
    net: &Network,
    (row, label): (&[f64], usize),
    eps: &[f64],
    region: &(impl Fn(&[f64], f64) -> Result<InputRegion> + Sync),
    options: &CurveOptions,
) -> Result<Vec<Fate>> {
    if net.predict(row)? != label {
        return Ok(vec![Fate::Broken; eps.len()]);
    }
    let mut found: Option<Vec<f64>> = None;
    let mut fates = Vec::with_capacity(eps.len());
    for &eps in eps {
        let region = region(row, eps)?;
        if found.as_ref().is_some_and(|x| region.contains(x)) {
            fates.push(Fate::Broken);
            continue;
        }
        let margins = net.linear_margins(&region, label, options.relaxation)?;
        if margins.iter().all(|margin| margin.value > 0.0) {
            fates.push(Fate::Certified);
            continue;
        }
        // The input where the linear bound of the worst margin is smallest is a good guess.
        let worst = margins.iter().min_by(|a, b| a.value.total_cmp(&b.value));
        let hint = worst.filter(|bound| !bound.slopes.is_empty()).map(|bound| region.minimizer(&bound.slopes));
        let broken = net.search(&region, label, &options.effort, hint.as_deref())?;
        fates.push(if broken.is_some() { Fate::Broken } else { Fate::Open });
        found = broken.or(found);
    }
    Ok(fates)
}

/// The rows of a matrix of this width, all finite.
pub(super) fn rows_of(what: &'static str, rows: &Tensor, width: usize) -> Result<Vec<Vec<f64>>> {
    let fits = matches!(rows.dims(), [_, own] if *own == width && width > 0);
    if !fits {
        let problem = format!("rows of shape {} for {width} features", rows.shape());
        return Err(TrustError::data(what, problem, "give a matrix with a row per sample"));
    }
    let values = crate::input::reals(what, "features", rows)?;
    Ok(values.chunks_exact(width).map(<[f64]>::to_vec).collect())
}

impl Network {
    /// The largest size, to a thousandth of `most`, at which the class of a row is certified for the regions that `region`
    /// gives; 0 if none is.
    ///
    /// # Errors
    /// As [`Network::margins`]; a `most` that is not positive; what `region` returns.
    pub fn certified_size(
        &self,
        row: &[f64],
        most: f64,
        region: impl Fn(&[f64], f64) -> Result<InputRegion>,
        relaxation: Relaxation,
    ) -> Result<f64> {
        if !(most > 0.0 && most.is_finite()) {
            return Err(TrustError::argument("certified_size", format!("`most` is {most}; give a positive number")));
        }
        let class = self.predict(row)?;
        let holds = |eps: f64| -> Result<bool> {
            Ok(self.margins(&region(row, eps)?, class, relaxation)?.iter().all(|margin| *margin > 0.0))
        };
        if holds(most)? {
            return Ok(most);
        }
        let (mut low, mut high) = (0.0, most);
        while high - low > 1e-3 * most {
            let middle = 0.5 * (low + high);
            if holds(middle)? { low = middle } else { high = middle }
        }
        Ok(low)
    }
}
