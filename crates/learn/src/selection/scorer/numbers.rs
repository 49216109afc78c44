//! Scores of regressors.

use tove_metrics as metrics;

use super::{Entry, NUMBERS, Parameter, Scorer};
use crate::diagnostics::influence::numbers;

const ALPHA: Option<Parameter> = Some(Parameter {
    name: "alpha",
    default: 0.5,
    fits: |alpha| (0.0..=1.0).contains(&alpha),
    range: "the level of a quantile, from 0 to 1",
});

const POWER: Option<Parameter> = Some(Parameter {
    name: "power",
    default: 0.0,
    fits: |power| (power <= 0.0 || power >= 1.0) && power.is_finite(),
    range: "0 (normal), 1 (Poisson), 2 (Gamma), a number below 0 or above 1",
});

scorers! {
    /// Fraction of explained variance (R²).
    R2 = Entry {
        id: "r2",
        label: "R²",
        value: |e, _| Ok(metrics::r2_score(&e.true_numbers()?, e.predictions()?, e.weights())?),
        influence: Some(numbers::r2),
        ..NUMBERS
    };    /// Fraction of explained variance, ignoring a constant offset.
    ExplainedVariance = Entry {
        id: "explained_variance",
        label: "explained variance",
        value: |e, _| Ok(metrics::explained_variance(&e.true_numbers()?, e.predictions()?, e.weights())?),
        influence: Some(numbers::explained_variance),
        ..NUMBERS
    };
    /// The negative mean squared error.
    NegMeanSquaredError = Entry {
        id: "neg_mean_squared_error",
        aliases: &["mse", "mean_squared_error"],
        label: "mean squared error",
        greater_is_better: false,
        value: |e, _| Ok(metrics::mean_squared_error(&e.true_numbers()?, e.predictions()?, e.weights())?),
        influence: Some(numbers::squared_error),
        ..NUMBERS
    };    /// The negative root mean squared error.
    NegRootMeanSquaredError = Entry {
        id: "neg_root_mean_squared_error",
        aliases: &["rmse", "root_mean_squared_error"],
        label: "root mean squared error",
        greater_is_better: false,
        value: |e, _| Ok(metrics::root_mean_squared_error(&e.true_numbers()?, e.predictions()?, e.weights())?),
        influence: Some(numbers::root_squared_error),
        ..NUMBERS
    };    /// The negative mean absolute error.
    NegMeanAbsoluteError = Entry {
        id: "neg_mean_absolute_error",
        aliases: &["mae", "mean_absolute_error"],
        label: "mean absolute error",
        greater_is_better: false,
        value: |e, _| Ok(metrics::mean_absolute_error(&e.true_numbers()?, e.predictions()?, e.weights())?),
        influence: Some(numbers::absolute_error),
        ..NUMBERS
    };    /// The negative median absolute error.
    NegMedianAbsoluteError = Entry {
        id: "neg_median_absolute_error",
        aliases: &["median_absolute_error"],
        label: "median absolute error",
        greater_is_better: false,
        value: |e, _| Ok(metrics::median_absolute_error(&e.true_numbers()?, e.predictions()?, e.weights())?),
        ..NUMBERS
    };
    /// The negative mean absolute percentage error.
    NegMeanAbsolutePercentageError = Entry {
        id: "neg_mean_absolute_percentage_error",
        aliases: &["mape", "mean_absolute_percentage_error"],
        label: "mean absolute percentage error",
        greater_is_better: false,
        value: |e, _| Ok(metrics::mean_absolute_percentage_error(&e.true_numbers()?, e.predictions()?, e.weights())?),
        influence: Some(numbers::relative_error),
        ..NUMBERS
    };
    /// The negative mean squared difference of ln(1 + y).
    NegMeanSquaredLogError = Entry {
        id: "neg_mean_squared_log_error",
        aliases: &["msle", "mean_squared_log_error"],
        label: "mean squared log error",
        greater_is_better: false,
        value: |e, _| Ok(metrics::mean_squared_log_error(&e.true_numbers()?, e.predictions()?, e.weights())?),
        influence: Some(numbers::squared_log_error),
        ..NUMBERS
    };
    /// The negative maximum absolute error over samples with non-zero weight.
    NegMaxError = Entry {
        id: "neg_max_error",
        aliases: &["max_error"],
        label: "largest error",
        greater_is_better: false,
        value: |e, _| Ok(metrics::max_error(&e.true_numbers()?, e.predictions()?, e.weights())?),
        ..NUMBERS
    };
    /// The negative mean pinball loss of a predicted quantile; its level alpha is 0.5 by default.
    NegMeanPinballLoss = Entry {
        id: "neg_mean_pinball_loss",
        aliases: &["pinball", "mean_pinball_loss"],
        label: "pinball loss",
        greater_is_better: false,
        parameter: ALPHA,
        value: |e, x| Ok(metrics::mean_pinball_loss(&e.true_numbers()?, e.predictions()?, x, e.weights())?),
        influence: Some(numbers::pinball_loss),
        ..NUMBERS
    };
    /// The negative mean Poisson deviance, for counts.
    NegMeanPoissonDeviance = Entry {
        id: "neg_mean_poisson_deviance",
        aliases: &["poisson_deviance", "mean_poisson_deviance"],
        label: "mean Poisson deviance",
        greater_is_better: false,
        value: |e, _| Ok(metrics::mean_poisson_deviance(&e.true_numbers()?, e.predictions()?, e.weights())?),
        influence: Some(|w, e, _| numbers::deviance(w, e, 1.0)),
        ..NUMBERS
    };
    /// The negative mean Gamma deviance, for positive amounts.
    NegMeanGammaDeviance = Entry {
        id: "neg_mean_gamma_deviance",
        aliases: &["gamma_deviance", "mean_gamma_deviance"],
        label: "mean Gamma deviance",
        greater_is_better: false,
        value: |e, _| Ok(metrics::mean_gamma_deviance(&e.true_numbers()?, e.predictions()?, e.weights())?),
        influence: Some(|w, e, _| numbers::deviance(w, e, 2.0)),
        ..NUMBERS
    };
    /// Fraction of the mean absolute error of the median that is explained.
    D2AbsoluteError = Entry {
        id: "d2_absolute_error_score",
        aliases: &["d2_absolute_error"],
        label: "D² (absolute error)",
        value: |e, _| Ok(metrics::d2_absolute_error_score(&e.true_numbers()?, e.predictions()?, e.weights())?),
        influence: Some(|w, e, _| numbers::d2_pinball(w, e, 0.5)),
        ..NUMBERS
    };
    /// Fraction of the pinball loss of the constant quantile that is explained; its level alpha is 0.5 by default.
    D2Pinball = Entry {
        id: "d2_pinball_score",
        aliases: &["d2_pinball"],
        label: "D² (pinball)",
        parameter: ALPHA,
        value: |e, x| Ok(metrics::d2_pinball_score(&e.true_numbers()?, e.predictions()?, x, e.weights())?),
        influence: Some(numbers::d2_pinball),
        ..NUMBERS
    };
    /// Fraction of the Tweedie deviance of this power that is explained; 0 by default, which is R².
    D2Tweedie = Entry {
        id: "d2_tweedie_score",
        aliases: &["d2_tweedie"],
        label: "D² (Tweedie)",
        parameter: POWER,
        value: |e, x| Ok(metrics::d2_tweedie_score(&e.true_numbers()?, e.predictions()?, x, e.weights())?),
        influence: Some(numbers::d2_deviance),
        ..NUMBERS
    };
    /// Fraction of the Poisson deviance that is explained.
    D2Poisson = Entry {
        id: "d2_poisson",
        label: "D² (Poisson)",
        value: |e, _| Ok(metrics::d2_tweedie_score(&e.true_numbers()?, e.predictions()?, 1.0, e.weights())?),
        influence: Some(|w, e, _| numbers::d2_deviance(w, e, 1.0)),
        ..NUMBERS
    };
    /// Fraction of the Gamma deviance that is explained.
    D2Gamma = Entry {
        id: "d2_gamma",
        label: "D² (Gamma)",
        value: |e, _| Ok(metrics::d2_tweedie_score(&e.true_numbers()?, e.predictions()?, 2.0, e.weights())?),
        influence: Some(|w, e, _| numbers::d2_deviance(w, e, 2.0)),
        ..NUMBERS
    };
}
