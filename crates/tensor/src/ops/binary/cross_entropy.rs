//! Cross-entropy of a yes or no, element by element: -y ln p - (1 - y) ln(1 - p), from the probability p or from the logit
//! x with p = sigmoid(x).

use super::{binary, div, mul, sub};
use crate::autodiff::Saves;
use crate::ops::unary;

binary! {
    /// max(x, 0) - x y + ln(1 + e^-|x|): no exponential overflows, and no small loss is the difference of large numbers.
    LogitLoss, logit_loss, cost 12,
    |x, y| (x.maximum(T::ZERO) - x * y) + (-x.abs()).exp().log1p(),
    saves |needs| Saves::nothing().input(0).input(1),
    partial |at, index, t| {
        let (x, y) = (at.input(0), at.input(1));
        if index == 0 { mul(t, &logit_slope(x, y)?) } else { mul(t, &unary::neg(x)?) }.map(Some)
    }
}

binary! {
    /// sigmoid(x) - y as (1 - y) sigmoid(x) - y sigmoid(-x), which keeps its digits where the two nearly agree.
    LogitSlope, logit_slope, cost 12,
    |x, y| (T::ONE - y) * x.sigmoid() - y * (-x).sigmoid(),
    saves |needs| Saves::nothing().input(0),
    partial |at, index, t| {
        if index == 1 {
            return unary::neg(t).map(Some);
        }
        let (yes, no) = (unary::sigmoid(at.input(0))?, unary::sigmoid(&unary::neg(at.input(0))?)?);
        mul(t, &mul(&yes, &no)?).map(Some)
    }
}

/// Where the logarithms of a probability are cut off, as in PyTorch: a sure mistake costs 100, not infinity.
const LEAST_LOGARITHM: f64 = -100.0;
/// The smallest p (1 - p) that a slope is divided by, as in PyTorch.
const LEAST_VARIANCE: f64 = 1e-12;

binary! {
    /// -y ln p - (1 - y) ln(1 - p) with logarithms of at least -100.
    ProbabilityLoss, probability_loss, cost 15,
    |p, y| {
        let least = T::from_f64(LEAST_LOGARITHM);
        (y - T::ONE) * (-p).log1p().maximum(least) - y * p.ln().maximum(least)
    },
    saves |needs| Saves::nothing().input(0).input(1),
    partial |at, index, t| {
        let (p, y) = (at.input(0), at.input(1));
        let slope = if index == 0 {
            let variance = mul(p, &unary::sub_from(p, 1.0)?)?;
            div(&sub(p, y)?, &unary::maximum_scalar(&variance, LEAST_VARIANCE)?)?
        } else {
            let yes = unary::maximum_scalar(&unary::ln(p)?, LEAST_LOGARITHM)?;
            let no = unary::maximum_scalar(&unary::log1p(&unary::neg(p)?)?, LEAST_LOGARITHM)?;
            sub(&no, &yes)?
        };
        mul(t, &slope).map(Some)
    }
}
