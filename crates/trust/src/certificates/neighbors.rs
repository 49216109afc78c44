//! How far a row is from another class of a nearest neighbor classifier, in the Euclidean distance.
//!
//! The nearest neighbor of x + δ is b instead of a where x + δ lies beyond the bisector of a and b, at the signed distance
//!
//! d(a, b) = (‖x − b‖² − ‖x − a‖²) / (2 ‖a − b‖)
//!
//! of x. **One neighbor:** the prediction changes where some b of another class is nearer than every a of the predicted
//! class. For each b that is the projection of x onto a polyhedron with one bisector per a (Wang et al., "Evaluating the
//! robustness of nearest neighbor classifiers: a primal-dual perspective", 2019). max_a d(a, b) is a lower bound; candidates
//! are visited in its order, and for those that are left the projection is found by coordinate ascent on the dual, whose
//! value is a lower bound at any time. A point in reach of the projection is an upper bound.
//!
//! **k neighbors with equal votes:** for another prediction at least q = k − ⌊k/2⌋ of the k neighbors are of other classes
//! and at most f = ⌊k/2⌋ of the predicted one, so q samples b are each nearer than all but f of the samples a. The q-th
//! smallest over b of the (f + 1)-th largest d(a, b) over a is a lower bound. It is 0 where the predicted class has no more
//! than half of the votes.

use tove_learn::Labels;
use tove_tensor::Tensor;

use super::curve::rows_of;
use super::region::gamma;
use crate::{Result, TrustError};

const WHAT: &str = "NearestSamples";

/// Passes over the constraints of a projection.
const PASSES: usize = 2000;

/// The stored samples of a nearest neighbor classifier.
#[derive(Clone, Debug)]
pub struct NearestSamples {
    rows: Vec<Vec<f64>>,
    labels: Labels,
}

/// Bounds on the distance to another prediction.
#[derive(Clone, Debug, PartialEq)]
pub struct NeighborRadius {
    /// The label predicted for the row itself.
    pub label: i64,
    /// No change of this Euclidean length or less leads to another prediction.
    pub lower: f64,
    /// Some change of this length does (to a tie or beyond); infinite where no bound is known.
    pub upper: f64,
    /// The point that shows it.
    pub boundary: Option<Vec<f64>>,
}

impl NearestSamples {
    /// The training samples. For a classifier behind a scaler give scaled rows, here and to [`NearestSamples::radius`]: lengths
    /// are then in units of the scales.
    ///
    /// # Errors
    /// No rows, NaN, labels that do not fit.
    pub fn new(rows: &Tensor, labels: &Tensor) -> Result<NearestSamples> {
        let width = rows.dims().get(1).copied().unwrap_or(0);
        let rows = rows_of(WHAT, rows, width)?;
        let labels = crate::input::groups(WHAT, labels, rows.len())?;
        Ok(NearestSamples { rows, labels })
    }

    /// Bounds for a row and `k` neighbors with equal votes; the bounds meet (to 1e-6) for k = 1.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// use tove_trust::certificates::NearestSamples;
    /// let samples = NearestSamples::new(&Tensor::from([[0.0, 0.0], [4.0, 0.0]]), &Tensor::from([3i64, 5]))?;
    /// let radius = samples.radius(&[0.5, 1.0], 1)?;
    /// assert_eq!(radius.label, 3);
    /// assert!((radius.lower - 1.5).abs() < 1e-9 && (radius.upper - 1.5).abs() < 1e-9);
    /// # Ok::<(), tove_trust::TrustError>(())
    /// ```
    ///
    /// # Errors
    /// A row of another width or with NaN; k of 0 or above the number of samples.
    pub fn radius(&self, x: &[f64], k: usize) -> Result<NeighborRadius> {
        if x.len() != self.rows[0].len() || x.iter().any(|x| !x.is_finite()) {
            let problem =
                format!("a row of {} numbers for {} features, which must be finite", x.len(), self.rows[0].len());
            return Err(TrustError::data(WHAT, problem, "give a number per feature"));
        }
        if k == 0 || k > self.rows.len() {
            let problem = format!("k is {k}; give 1 to the number of samples, {}", self.rows.len());
            return Err(TrustError::argument(WHAT, problem));
        }
        let squares: Vec<f64> = self.rows.iter().map(|row| square(row, x)).collect();
        if squares.iter().any(|square| !square.is_finite()) {
            return Err(TrustError::data(WHAT, "the distances of the row overflow", "scale the features"));
        }
        let class = self.vote(&squares, k);
        let own = |row: &usize| self.labels.codes()[*row] == class;
        let (ours, others): (Vec<usize>, Vec<usize>) = (0..self.rows.len()).partition(own);
        let label = self.labels.classes()[class];
        if others.len() < k - k / 2 {
            return Ok(NeighborRadius { label, lower: f64::INFINITY, upper: f64::INFINITY, boundary: None });
        }
        if k == 1 {
            return Ok(self.nearest(x, label, &squares, &ours, &others));
        }
        let (quorum, excused) = (k - k / 2, k / 2);
        let mut bounds: Vec<f64> = others.iter().map(|&b| self.bisector(x, &squares, &ours, b, excused)).collect();
        bounds.sort_unstable_by(f64::total_cmp);
        Ok(NeighborRadius { label, lower: bounds[quorum - 1].max(0.0), upper: f64::INFINITY, boundary: None })
    }

    /// The class with most votes among the k nearest; ties go to the first.
    fn vote(&self, squares: &[f64], k: usize) -> usize {
        let mut order: Vec<usize> = (0..squares.len()).collect();
        order.sort_by(|&a, &b| squares[a].total_cmp(&squares[b]));
        let mut votes = vec![0usize; self.labels.classes().len()];
        order[..k].iter().for_each(|&row| votes[self.labels.codes()[row]] += 1);
        (0..votes.len()).fold(0, |best, class| if votes[class] > votes[best] { class } else { best })
    }

    /// The (excused + 1)-th largest d(a, b) over the samples a of the predicted class, rounded down.
    fn bisector(&self, x: &[f64], squares: &[f64], ours: &[usize], b: usize, excused: usize) -> f64 {
        let slack = gamma(x.len() + 8, f64::EPSILON);
        let signed = |&a: &usize| {
            let apart = square(&self.rows[a], &self.rows[b]).sqrt();
            let (gap, size) = (squares[b] - squares[a], squares[b] + squares[a]);
            // Duplicates of another class tie everywhere.
            if apart == 0.0 {
                0.0
            } else {
                (gap - slack * size) / (2.0 * apart) * if gap > 0.0 { 1.0 - slack } else { 1.0 }
            }
        };
        let mut all: Vec<f64> = ours.iter().map(signed).collect();
        if excused >= all.len() {
            return 0.0;
        }
        all.sort_unstable_by(|a, b| b.total_cmp(a));
        all[excused]
    }

    fn nearest(&self, x: &[f64], label: i64, squares: &[f64], ours: &[usize], others: &[usize]) -> NeighborRadius {
        let mut candidates: Vec<(f64, usize)> =
            others.iter().map(|&b| (self.bisector(x, squares, ours, b, 0).max(0.0), b)).collect();
        candidates.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut best = NeighborRadius { label, lower: f64::INFINITY, upper: f64::INFINITY, boundary: None };
        for (bound, b) in candidates {
            if bound >= best.upper {
                // The rest, sorted, is farther than a point that is already known.
                best.lower = best.lower.min(bound);
                break;
            }
            let projection = self.project(x, squares, ours, b, best.upper);
            best.lower = best.lower.min(projection.lower.max(bound));
            if projection.upper < best.upper {
                (best.upper, best.boundary) = (projection.upper, projection.point);
            }
        }
        best.lower = best.lower.min(best.upper);
        best
    }

    /// The distance of x from the region where b is nearer than every a: min ‖δ‖² with (b − a)·δ ≥ g_a. The dual is
    /// max over λ ≥ 0 of g·λ − ‖Σ λ_a (b − a)‖²/4, solved by coordinate ascent; it stops at a bound above `enough`.
    fn project(&self, x: &[f64], squares: &[f64], ours: &[usize], b: usize, enough: f64) -> Projection {
        let rows: Vec<Vec<f64>> =
            ours.iter().map(|&a| self.rows[b].iter().zip(&self.rows[a]).map(|(b, a)| b - a).collect()).collect();
        let gaps: Vec<f64> = ours.iter().map(|&a| 0.5 * (squares[b] - squares[a])).collect();
        let norms: Vec<f64> = rows.iter().map(|row| row.iter().map(|v| v * v).sum()).collect();
        // The sizes behind the gaps and the lengths of the rows, for rounding.
        let doubts: Vec<Doubt> =
            ours.iter().zip(&norms).map(|(&a, norm)| (squares[b] + squares[a], norm.sqrt())).collect();
        let mut lambda = vec![0.0; rows.len()];
        let mut delta = vec![0.0; x.len()]; // Σ λ_a (b − a)
        let mut best = Projection { lower: 0.0, upper: f64::INFINITY, point: None };
        for pass in 0..PASSES {
            for (a, row) in rows.iter().enumerate() {
                if norms[a] > 0.0 {
                    let product: f64 = row.iter().zip(&delta).map(|(r, d)| r * d).sum();
                    let next = (lambda[a] + (gaps[a] - product) / norms[a]).max(0.0);
                    let change = next - lambda[a];
                    if change != 0.0 {
                        delta.iter_mut().zip(row).for_each(|(d, r)| *d += change * r);
                        lambda[a] = next;
                    }
                }
            }
            if pass % 8 == 7 || pass < 4 {
                self.measure(x, b, (&rows, &gaps, &doubts), (&lambda, &delta), &mut best);
                if best.lower >= enough || best.upper - best.lower <= 1e-9 * best.upper {
                    break;
                }
            }
        }
        best
    }

    /// The dual value as a lower bound, and the way from the present point towards b as an upper bound.
    fn measure(
        &self,
        x: &[f64],
        b: usize,
        (rows, gaps, doubts): (&[Vec<f64>], &[f64], &[Doubt]),
        (lambda, delta): (&[f64], &[f64]),
        best: &mut Projection,
    ) {
        // Every feasible δ has Σ λ_a (b − a)·δ ≥ λ·g, so ‖δ‖ ≥ λ·g / ‖Σ λ_a (b − a)‖, whatever the λ ≥ 0. The sum is taken anew,
        // since the one of the ascent has gathered rounding.
        let (mut sum, mut weighted, mut doubt, mut size) = (vec![0.0; x.len()], 0.0, 0.0, 0.0);
        for ((row, l), (gap, (square, norm))) in rows.iter().zip(lambda).zip(gaps.iter().zip(doubts)) {
            if *l > 0.0 {
                sum.iter_mut().zip(row).for_each(|(s, r)| *s += l * r);
                weighted += l * gap;
                doubt += l * square;
                size += l * norm;
            }
        }
        let length = sum.iter().map(|d| d * d).sum::<f64>().sqrt();
        let slack = gamma(lambda.len() + 2 * x.len(), f64::EPSILON);
        if length > 0.0 {
            best.lower = best.lower.max((weighted - slack * doubt) / (length + slack * (size + length)));
        }
        // At t = 1 of the way to b all constraints hold, and they are linear in t.
        let goal: Vec<f64> = self.rows[b].iter().zip(x).map(|(b, x)| b - x).collect();
        let mut t = 0.0f64;
        for (row, gap) in rows.iter().zip(gaps) {
            let here: f64 = row.iter().zip(delta).map(|(r, d)| r * d).sum();
            let there: f64 = row.iter().zip(&goal).map(|(r, d)| r * d).sum();
            if here < *gap && there > here {
                t = t.max((gap - here) / (there - here));
            }
        }
        let way: Vec<f64> = delta.iter().zip(&goal).map(|(d, g)| d + t.min(1.0) * (g - d)).collect();
        let upper = way.iter().map(|d| d * d).sum::<f64>().sqrt() * (1.0 + slack);
        if upper < best.upper {
            (best.upper, best.point) = (upper, Some(x.iter().zip(&way).map(|(x, d)| x + d).collect()));
        }
    }
}

/// The size behind a gap, and the length of a row: what their rounding is in proportion to.
type Doubt = (f64, f64);

struct Projection {
    lower: f64,
    upper: f64,
    point: Option<Vec<f64>>,
}

fn square(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum()
}
