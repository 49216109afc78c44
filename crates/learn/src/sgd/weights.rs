//! A weight vector with scaling, row updates and averaging in time proportional to the entries of a row.
//!
//! The weights are `scale · v`, so scaling all of them is one multiplication. Their running average is (a + α v) / β,
//! updated where a row touches it (as in scikit-learn's and Bottou's SGD).

use tove_tensor::kernels::math::Float;

use crate::logistic::kernels::Wide;

/// Entries of a row: all, or the non-zero ones.
#[derive(Clone, Copy)]
pub(super) enum Row<'a, T> {
    Dense(&'a [T]),
    Sparse(&'a [u32], &'a [T]),
}

impl<T: Float> Row<'_, T> {
    /// ‖x‖².
    #[inline(always)]
    pub(super) fn square(self) -> f64 {
        let (Row::Dense(values) | Row::Sparse(_, values)) = self;
        const L: usize = 8;
        let (chunks, rest) = values.as_chunks::<L>();
        let mut lanes = [0.0; L];
        for x in chunks {
            lanes.iter_mut().zip(x).for_each(|(lane, x)| *lane += x.wide() * x.wide());
        }
        lanes.iter().sum::<f64>() + rest.iter().map(|x| x.wide() * x.wide()).sum::<f64>()
    }
}

/// Σ|v| and Σv² over some entries.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    pub(super) magnitudes: f64,
    pub(super) squares: f64,
}

impl Sums {
    #[inline(always)]
    fn of(entries: impl Iterator<Item = f64>) -> Sums {
        let mut sums = Sums::default();
        for v in entries {
            sums.magnitudes += v.abs();
            sums.squares += v * v;
        }
        sums
    }

    /// The sums after those of some entries changed from `before` to `after`.
    #[inline(always)]
    pub(super) fn replaced(self, before: Sums, after: Sums) -> Sums {
        Sums {
            magnitudes: (self.magnitudes - before.magnitudes + after.magnitudes).max(0.0),
            squares: (self.squares - before.squares + after.squares).max(0.0),
        }
    }
}

/// Below this scale the factor is multiplied out.
const MIN_SCALE: f64 = 1e-9;

#[derive(Clone, Debug)]
pub(super) struct Weights {
    v: Vec<f64>,
    scale: f64,
    mean: Option<Mean>,
}

#[derive(Clone, Debug)]
struct Mean {
    a: Vec<f64>,
    alpha: f64,
    beta: f64,
}

impl Weights {
    pub(super) fn new(d: usize, averaged: bool) -> Weights {
        let mean = averaged.then(|| Mean { a: vec![0.0; d], alpha: 0.0, beta: 1.0 });
        Weights { v: vec![0.0; d], scale: 1.0, mean }
    }

    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // lane indices
    pub(super) fn dot<T: Float>(&self, row: Row<'_, T>) -> f64 {
        let sum = match row {
            Row::Dense(x) => {
                const L: usize = 8;
                let (x, x_rest) = x.as_chunks::<L>();
                let (v, v_rest) = self.v.as_chunks::<L>();
                let mut lanes = [0.0; L];
                for (x, v) in x.iter().zip(v) {
                    for lane in 0..L {
                        lanes[lane] += x[lane].wide() * v[lane];
                    }
                }
                let sum: f64 = lanes.iter().sum();
                x_rest.iter().zip(v_rest).fold(sum, |sum, (x, v)| sum + x.wide() * v)
            }
            Row::Sparse(columns, values) => {
                columns.iter().zip(values).map(|(&column, x)| x.wide() * self.v[column as usize]).sum()
            }
        };
        sum * self.scale
    }

    /// w ← factor · w.
    #[inline(always)]
    pub(super) fn shrink(&mut self, factor: f64) {
        self.scale *= factor;
        if self.scale < MIN_SCALE {
            self.apply_scale();
        }
    }

    /// w ← w + c x.
    #[inline(always)]
    pub(super) fn add<T: Float>(&mut self, row: Row<'_, T>, c: f64) {
        let c = c / self.scale;
        match row {
            Row::Dense(x) => self.v.iter_mut().zip(x).for_each(|(v, x)| *v += c * x.wide()),
            Row::Sparse(columns, values) => {
                columns.iter().zip(values).for_each(|(&column, x)| self.v[column as usize] += c * x.wide());
            }
        }
    }

    /// Adds the weights after [`Weights::add`] with the same row to the average, as member number `count`.
    #[inline(always)]
    pub(super) fn average<T: Float>(&mut self, row: Row<'_, T>, c: f64, count: f64) {
        let Some(mean) = &mut self.mean else { return };
        // v grew by c x / scale, but the earlier members did not: subtract α times that growth.
        let c = -c / self.scale * mean.alpha;
        match row {
            Row::Dense(x) => mean.a.iter_mut().zip(x).for_each(|(a, x)| *a += c * x.wide()),
            Row::Sparse(columns, values) => {
                columns.iter().zip(values).for_each(|(&column, x)| mean.a[column as usize] += c * x.wide());
            }
        }
        let share = 1.0 / count;
        if count > 1.0 {
            mean.beta /= 1.0 - share;
        }
        mean.alpha += share * mean.beta * self.scale;
    }

    /// Applies the cumulative l1 penalty (Tsuruoka, Tsujii and Ananiadou 2009) to the entries of a row: `due` is the
    /// total penalty of every weight, `paid` the part already applied.
    #[inline(always)]
    pub(super) fn charge<T: Float>(&mut self, row: Row<'_, T>, due: f64, paid: &mut [f64]) {
        let scale = self.scale;
        let one = |v: &mut f64, paid: &mut f64| {
            let before = *v;
            if before > 0.0 {
                *v = (before - (due + *paid) / scale).max(0.0);
            } else if before < 0.0 {
                *v = (before + (due - *paid) / scale).min(0.0);
            }
            *paid += scale * (*v - before);
        };
        match row {
            Row::Dense(_) => self.v.iter_mut().zip(paid).for_each(|(v, paid)| one(v, paid)),
            Row::Sparse(columns, _) => {
                for &column in columns {
                    one(&mut self.v[column as usize], &mut paid[column as usize]);
                }
            }
        }
    }

    /// Multiplies the scale out.
    pub(super) fn apply_scale(&mut self) {
        if let Some(mean) = &mut self.mean {
            for (a, v) in mean.a.iter_mut().zip(&self.v) {
                *a = (*a + mean.alpha * v) / mean.beta;
            }
            (mean.alpha, mean.beta) = (0.0, 1.0);
        }
        self.v.iter_mut().for_each(|v| *v *= self.scale);
        self.scale = 1.0;
    }

    /// The weights; call [`Weights::apply_scale`] first.
    pub(super) fn now(&self) -> &[f64] {
        &self.v
    }

    /// Their average, if enabled; call [`Weights::apply_scale`] first.
    pub(super) fn mean(&self) -> Option<&[f64]> {
        self.mean.as_ref().map(|mean| &mean.a[..])
    }

    /// The sums over all entries, without the scale.
    #[inline(always)]
    pub(super) fn sums(&self) -> Sums {
        Sums::of(self.v.iter().copied())
    }

    /// The sums over the entries of a row, without the scale.
    #[inline(always)]
    pub(super) fn touched<T: Float>(&self, row: Row<'_, T>) -> Sums {
        match row {
            Row::Dense(_) => self.sums(),
            Row::Sparse(columns, _) => Sums::of(columns.iter().map(|&column| self.v[column as usize])),
        }
    }

    /// The common factor of all weights.
    #[inline(always)]
    pub(super) fn scale(&self) -> f64 {
        self.scale
    }

    pub(super) fn is_finite(&self) -> bool {
        self.scale.is_finite() && self.v.iter().all(|v| v.is_finite())
    }
}
