//! Sample losses and their derivatives with respect to the score p; y is ±1 for classification.

use tove_optim::settings::Choice;

/// Losses of a linear classifier; z = y p with y = ±1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum ClassLoss {
    /// max(0, 1 − z): a linear support vector machine.
    #[default]
    Hinge,
    /// ln(1 + e⁻ᶻ): logistic regression.
    LogLoss,
    /// max(0, 1 − z)² for z ≥ −1, −4z below: smooth, robust to outliers, with probabilities.
    ModifiedHuber,
    /// max(0, 1 − z)².
    SquaredHinge,
    /// max(0, −z).
    Perceptron,
}

/// Losses of a linear regression; r = p − y.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum RegressionLoss {
    /// r²/2.
    #[default]
    SquaredError,
    /// r²/2 up to |r| = ε, then ε|r| − ε²/2.
    Huber,
    /// max(0, |r| − ε).
    EpsilonInsensitive,
}

/// Any of these losses, with its constant.
#[derive(Clone, Copy, Debug)]
pub(super) enum Loss {
    Class(ClassLoss),
    Regression(RegressionLoss, f64),
}

impl Loss {
    #[inline(always)]
    pub(super) fn value(self, p: f64, y: f64) -> f64 {
        let z = p * y;
        match self {
            Loss::Class(ClassLoss::Hinge) => (1.0 - z).max(0.0),
            Loss::Class(ClassLoss::Perceptron) => (-z).max(0.0),
            Loss::Class(ClassLoss::SquaredHinge) => (1.0 - z).max(0.0).powi(2),
            Loss::Class(ClassLoss::LogLoss) => (-z).max(0.0) + (-z.abs()).exp().ln_1p(),
            Loss::Class(ClassLoss::ModifiedHuber) => {
                if z < -1.0 {
                    -4.0 * z
                } else {
                    (1.0 - z).max(0.0).powi(2)
                }
            }
            Loss::Regression(RegressionLoss::SquaredError, _) => 0.5 * (p - y).powi(2),
            Loss::Regression(RegressionLoss::Huber, epsilon) => {
                let r = (p - y).abs();
                if r <= epsilon { 0.5 * r * r } else { epsilon * (r - 0.5 * epsilon) }
            }
            Loss::Regression(RegressionLoss::EpsilonInsensitive, epsilon) => ((p - y).abs() - epsilon).max(0.0),
        }
    }

    #[inline(always)]
    pub(super) fn slope(self, p: f64, y: f64) -> f64 {
        let z = p * y;
        match self {
            Loss::Class(ClassLoss::Hinge) => {
                if z <= 1.0 {
                    -y
                } else {
                    0.0
                }
            }
            Loss::Class(ClassLoss::Perceptron) => {
                if z <= 0.0 {
                    -y
                } else {
                    0.0
                }
            }
            Loss::Class(ClassLoss::SquaredHinge) => -2.0 * y * (1.0 - z).max(0.0),
            Loss::Class(ClassLoss::LogLoss) => {
                let e = (-z.abs()).exp();
                if z > 0.0 { -y * e / (1.0 + e) } else { -y / (1.0 + e) }
            }
            Loss::Class(ClassLoss::ModifiedHuber) => {
                if z < -1.0 {
                    -4.0 * y
                } else {
                    -2.0 * y * (1.0 - z).max(0.0)
                }
            }
            Loss::Regression(RegressionLoss::SquaredError, _) => p - y,
            Loss::Regression(RegressionLoss::Huber, epsilon) => (p - y).clamp(-epsilon, epsilon),
            Loss::Regression(RegressionLoss::EpsilonInsensitive, epsilon) => {
                let r = p - y;
                if r > epsilon {
                    1.0
                } else if r < -epsilon {
                    -1.0
                } else {
                    0.0
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_are_those_of_the_values() {
        let classes = [ClassLoss::Hinge, ClassLoss::LogLoss, ClassLoss::ModifiedHuber, ClassLoss::SquaredHinge];
        let regressions = [RegressionLoss::SquaredError, RegressionLoss::Huber, RegressionLoss::EpsilonInsensitive];
        let losses = classes
            .map(Loss::Class)
            .into_iter()
            .chain([Loss::Class(ClassLoss::Perceptron)])
            .chain(regressions.map(|loss| Loss::Regression(loss, 0.3)));
        for loss in losses {
            for p in [-2.71, -0.93, -0.11, 0.21, 0.77, 1.61, 3.07] {
                for y in [-1.0, 1.0] {
                    let h = 1e-6;
                    let difference = (loss.value(p + h, y) - loss.value(p - h, y)) / (2.0 * h);
                    assert!((difference - loss.slope(p, y)).abs() < 1e-8, "{loss:?} at {p}, {y}");
                }
            }
        }
        assert_eq!(Loss::Class(ClassLoss::LogLoss).value(1000.0, -1.0), 1000.0);
    }
}
