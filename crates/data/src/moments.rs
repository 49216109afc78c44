//! Count, mean and variance of a column, which can be merged.
//!
//! Those of two sets of values a and b are merged by n = n_a + n_b, x̄ = x̄_a + (n_b / n) δ and
//! M = M_a + M_b + δ² n_a n_b / n with δ = x̄_b − x̄_a (Chan, Golub and LeVeque 1983), so a column can be read in pieces, or each fold
//! once for all training sets. Values whose squares would overflow or underflow are counted in units of a power of two.

/// Weight, mean and sum of squared deviations of some values.
///
/// ```
/// use tove_data::ColumnMoments;
/// let mut moments = ColumnMoments::of(&[1.0, 2.0]);
/// moments.merge(&ColumnMoments::of(&[6.0]));
/// assert_eq!((moments.weight(), moments.mean()), (3.0, 3.0));
/// assert!((moments.variance() - 14.0 / 3.0).abs() < 1e-15);
/// let huge = ColumnMoments::of(&[1e200, 3e200]);
/// assert_eq!((huge.mean(), huge.deviation()), (2e200, 1e200));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ColumnMoments {
    weight: f64,
    /// Mean and sum of squared deviations, in units.
    mean: f64,
    squares: f64,
    unit: f64,
}

impl Default for ColumnMoments {
    fn default() -> ColumnMoments {
        ColumnMoments { weight: 0.0, mean: 0.0, squares: 0.0, unit: 1.0 }
    }
}

impl ColumnMoments {
    /// The moments of finite values.
    pub fn of(values: &[f64]) -> ColumnMoments {
        let Some(largest) = values.iter().map(|value| value.abs()).reduce(f64::max) else {
            return ColumnMoments::default();
        };
        let (unit, weight) = (unit(largest), values.len() as f64);
        let mean = values.iter().map(|x| x / unit).sum::<f64>() / weight;
        let squares = values.iter().map(|x| (x / unit - mean) * (x / unit - mean)).sum();
        ColumnMoments { weight, mean, squares, unit }
    }

    /// One finite value with a weight.
    pub fn at(value: f64, weight: f64) -> ColumnMoments {
        let unit = unit(value.abs());
        ColumnMoments { weight, mean: value / unit, squares: 0.0, unit }
    }

    /// From weight, mean and variance.
    pub fn from_variance(weight: f64, mean: f64, variance: f64) -> ColumnMoments {
        ColumnMoments { weight, mean, squares: variance * weight, unit: 1.0 }
    }

    /// Takes the moments of further values into account.
    pub fn merge(&mut self, other: &ColumnMoments) {
        if other.weight == 0.0 {
            return;
        }
        if self.weight == 0.0 {
            *self = *other;
            return;
        }
        let unit = self.unit.max(other.unit);
        let (own, its) = (self.unit / unit, other.unit / unit);
        let weight = self.weight + other.weight;
        let gap = other.mean * its - self.mean * own;
        self.squares =
            self.squares * own * own + other.squares * its * its + gap * gap * self.weight * (other.weight / weight);
        self.mean = self.mean * own + gap * (other.weight / weight);
        (self.weight, self.unit) = (weight, unit);
    }

    /// The number of values, or the sum of their weights.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// The mean; 0 without values.
    pub fn mean(&self) -> f64 {
        self.unit * self.mean
    }

    /// The mean squared deviation; infinite or 0 where it leaves the range of numbers.
    pub fn variance(&self) -> f64 {
        self.unit * self.unit * (self.squares / self.weight)
    }

    /// Whether the values are so large or small that they are counted in units.
    pub fn is_rescaled(&self) -> bool {
        self.unit != 1.0
    }

    /// Whether the deviations are no more than the rounding of the mean.
    pub fn is_constant(&self) -> bool {
        let (n, variance) = (self.weight, self.squares / self.weight);
        variance <= n * f64::EPSILON * variance + (n * self.mean * f64::EPSILON).powi(2)
    }

    /// The standard deviation, also where the variance leaves the range of numbers.
    pub fn deviation(&self) -> f64 {
        self.unit * (self.squares / self.weight).sqrt()
    }
}

/// A power of two near a magnitude whose square would overflow or vanish; otherwise 1. Dividing by it is exact.
fn unit(largest: f64) -> f64 {
    if largest == 0.0 || !largest.is_finite() || (1e-100..1e100).contains(&largest) {
        return 1.0;
    }
    f64::exp2(largest.log2().floor().clamp(-1000.0, 1000.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-14 * b.abs()
    }

    #[test]
    fn merged_moments_are_those_of_all_values() {
        for scale in [1.0, 1e-200, 1e200, 1e8] {
            let values: Vec<f64> = (0..100).map(|i| scale * (1.0 + (f64::from(i) * 0.7).sin())).collect();
            let whole = ColumnMoments::of(&values);
            for pieces in [1, 7, 50] {
                let mut merged = ColumnMoments::default();
                values.chunks(pieces).for_each(|piece| merged.merge(&ColumnMoments::of(piece)));
                assert!(near(merged.mean(), whole.mean()) && near(merged.deviation(), whole.deviation()));
                assert_eq!(merged.weight(), 100.0);
            }
        }
        // Small values beside large ones, weighted values, and none.
        let mut mixed = ColumnMoments::of(&[1e-200, 3e-200]);
        mixed.merge(&ColumnMoments::at(1e200, 2.0));
        assert!(near(mixed.mean(), 5e199) && near(mixed.deviation(), 5e199));
        mixed.merge(&ColumnMoments::default());
        assert_eq!(mixed.weight(), 4.0);
        assert_eq!((ColumnMoments::of(&[]).mean(), ColumnMoments::of(&[3.0; 9]).deviation()), (0.0, 0.0));
        assert!(ColumnMoments::of(&[0.1; 3]).is_constant() && !ColumnMoments::of(&[1.0, 1.001]).is_constant());
    }
}
