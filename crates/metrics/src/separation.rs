//! How well groups are apart, from the samples alone.
//!
//! | score | best | formula |
//! |---|---|---|
//! | silhouette | 1 | mean of (b − a)/max(a, b), with a the mean distance to the own group, b that to the next one |
//! | Davies-Bouldin | 0 | mean over groups of max (sᵢ + sⱼ)/dᵢⱼ, with s the mean distance to the own center, d that of two centers |
//! | Calinski-Harabasz | ∞ | scatter between groups per k − 1 over scatter within groups per n − k |

use std::sync::Mutex;

use tove_tensor::kernels::simd::{Kernel, dispatch};
use tove_tensor::pool::parallel_for;
use tove_tensor::{DType, Tensor};

use crate::read::{View, check_classes, check_finite, dense};
use crate::{MetricError, Result, Score};

/// Rows in double precision with a group from 0 on each, in the order of the groups.
struct Groups {
    rows: Vec<f64>, // (n, d), sorted by group
    d: usize,
    /// Where each group begins, and the end.
    starts: Vec<usize>,
    /// The sample that each sorted row is.
    samples: Vec<usize>,
}

impl Groups {
    fn new(what: &'static str, x: &Tensor, labels: &Tensor) -> Result<Groups> {
        let n = check_classes(what, "labels", labels)?;
        if x.rank() != 2 || x.dims()[0] != n || x.dims()[1] == 0 {
            let problem = format!("samples of shape {} for {n} labels; give a row of numbers per label", x.shape());
            return Err(MetricError::parameter(what, problem));
        }
        let x = x.detach().to_dtype(DType::F64).contiguous();
        check_finite(what, "sample", &x)?;
        let (values, d) = (x.as_slice::<f64>()?, x.dims()[1]);
        if let Some(index) = values.iter().position(|value| value.abs() > 1e150) {
            let expected = "squares of it leave the range of numbers; scale the samples";
            return Err(MetricError::Value { what, argument: "sample", index, value: values[index], expected });
        }
        let labels = dense(labels);
        let view = View::of(&labels)?;
        let mut samples: Vec<usize> = (0..n).collect();
        samples.sort_by_key(|&sample| view.whole(sample));
        let new = |place: &usize| *place == 0 || view.whole(samples[*place]) != view.whole(samples[*place - 1]);
        let mut starts: Vec<usize> = (0..n).filter(new).collect();
        let k = starts.len();
        if k < 2 || k >= n {
            let problem = format!("{k} groups of {n} samples; there must be at least 2 groups and fewer than samples");
            return Err(MetricError::parameter(what, problem));
        }
        starts.push(n);
        let rows = samples.iter().flat_map(|&sample| values[sample * d..(sample + 1) * d].iter().copied()).collect();
        Ok(Groups { rows, d, starts, samples })
    }

    fn len(&self) -> usize {
        self.samples.len()
    }

    fn count(&self) -> usize {
        self.starts.len() - 1
    }

    fn size(&self, group: usize) -> usize {
        self.starts[group + 1] - self.starts[group]
    }

    fn row(&self, place: usize) -> &[f64] {
        &self.rows[place * self.d..(place + 1) * self.d]
    }

    fn mean(&self, places: std::ops::Range<usize>) -> Vec<f64> {
        let (mut mean, count) = (vec![0.0; self.d], places.len() as f64);
        for place in places {
            mean.iter_mut().zip(self.row(place)).for_each(|(mean, x)| *mean += x / count);
        }
        mean
    }

    fn centers(&self) -> Vec<Vec<f64>> {
        (0..self.count()).map(|group| self.mean(self.starts[group]..self.starts[group + 1])).collect()
    }

    /// The silhouette of the row at a place.
    fn silhouette(&self, place: usize) -> f64 {
        let own = self.starts.partition_point(|&start| start <= place) - 1;
        if self.size(own) == 1 {
            return 0.0;
        }
        let row = self.row(place);
        let (mut inside, mut nearest) = (0.0, f64::INFINITY);
        for group in 0..self.count() {
            let rows = &self.rows[self.starts[group] * self.d..self.starts[group + 1] * self.d];
            let sum = dispatch(Distances { row, rows });
            if group == own {
                inside = sum / (self.size(own) - 1) as f64;
            } else {
                nearest = nearest.min(sum / self.size(group) as f64);
            }
        }
        let larger = inside.max(nearest);
        if larger > 0.0 { (nearest - inside) / larger } else { 0.0 }
    }
}

/// Σ ‖row − x‖ over rows x.
struct Distances<'a> {
    row: &'a [f64],
    rows: &'a [f64],
}

impl Kernel for Distances<'_> {
    type Output = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        self.rows.chunks_exact(self.row.len()).map(|other| square(self.row, other).sqrt()).sum()
    }
}

#[inline(always)]
pub(crate) fn square(a: &[f64], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<16>(), b.as_chunks::<16>());
    let mut lanes = [0.0; 16];
    for (a, b) in a.iter().zip(b) {
        for i in 0..16 {
            lanes[i] += (a[i] - b[i]) * (a[i] - b[i]);
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| (a - b) * (a - b)).sum();
    lanes.iter().sum::<f64>() + rest
}

/// The silhouette (n) of each sample, from −1 to 1: how much nearer it is to its own group than to the next one; 0 for a sample that
/// is alone in its group.
///
/// # Errors
/// If shapes do not fit, samples are not finite, or there are fewer than two groups, or as many as samples.
pub fn silhouette_samples(x: &Tensor, labels: &Tensor) -> Result<Tensor> {
    const BLOCK: usize = 64;
    let groups = Groups::new("silhouette_samples", x, labels)?;
    let n = groups.len();
    let mut values = vec![0.0; n];
    let parts: Vec<Mutex<&mut [f64]>> = values.chunks_mut(BLOCK).map(Mutex::new).collect();
    parallel_for(parts.len(), &|part| {
        let mut own = parts[part].lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        for (offset, value) in own.iter_mut().enumerate() {
            *value = groups.silhouette(part * BLOCK + offset);
        }
    });
    drop(parts);
    let mut given = vec![0.0; n];
    groups.samples.iter().zip(values).for_each(|(&sample, value)| given[sample] = value);
    Ok(Tensor::from_slice(&given))
}

/// The mean silhouette of all samples.
///
/// ```
/// use tove_metrics::silhouette_score;
/// use tove_tensor::Tensor;
/// let (x, groups) = (Tensor::from([[0.0], [1.0], [10.0], [11.0]]), Tensor::from([0i64, 0, 1, 1]));
/// assert!((silhouette_score(&x, &groups)?.value - 0.8997493734335839).abs() < 1e-12);
/// # Ok::<(), tove_metrics::MetricError>(())
/// ```
///
/// # Errors
/// As [`silhouette_samples`].
pub fn silhouette_score(x: &Tensor, labels: &Tensor) -> Result<Score> {
    let values = silhouette_samples(x, labels)?.to_f64_vec();
    Ok(Score::plain(values.iter().sum::<f64>() / values.len() as f64, values.len()))
}

/// The mean over groups of their likeness to the group that is most like them; smaller is better.
///
/// # Errors
/// As [`silhouette_samples`].
pub fn davies_bouldin_score(x: &Tensor, labels: &Tensor) -> Result<Score> {
    let groups = Groups::new("davies_bouldin_score", x, labels)?;
    let (centers, k) = (groups.centers(), groups.count());
    let spread = |group: usize| {
        let places = groups.starts[group]..groups.starts[group + 1];
        places.map(|place| square(groups.row(place), &centers[group]).sqrt()).sum::<f64>() / groups.size(group) as f64
    };
    let spreads: Vec<f64> = (0..k).map(spread).collect();
    let worst = |i: usize| {
        let likeness = |j: usize| {
            let apart = square(&centers[i], &centers[j]).sqrt();
            if apart > 0.0 { (spreads[i] + spreads[j]) / apart } else { 0.0 }
        };
        (0..k).filter(|&j| j != i).map(likeness).fold(0.0, f64::max)
    };
    Ok(Score::plain((0..k).map(worst).sum::<f64>() / k as f64, groups.len()))
}

/// Scatter between groups over scatter within them, each per degree of freedom; larger is better. 1 where every group is a point.
///
/// # Errors
/// As [`silhouette_samples`].
pub fn calinski_harabasz_score(x: &Tensor, labels: &Tensor) -> Result<Score> {
    let groups = Groups::new("calinski_harabasz_score", x, labels)?;
    let (centers, mean, n, k) = (groups.centers(), groups.mean(0..groups.len()), groups.len(), groups.count());
    let (mut between, mut within) = (0.0, 0.0);
    for (group, center) in centers.iter().enumerate() {
        between += groups.size(group) as f64 * square(center, &mean);
        let places = groups.starts[group]..groups.starts[group + 1];
        within += places.map(|place| square(groups.row(place), center)).sum::<f64>();
    }
    let value = if within > 0.0 { between * (n - k) as f64 / (within * (k as f64 - 1.0)) } else { 1.0 };
    Ok(Score::plain(value, n))
}
