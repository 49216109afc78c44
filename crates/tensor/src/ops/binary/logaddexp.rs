//! ln(e^a + e^b), stable: the larger operand is taken out, max + ln(1 + e^-|a - b|). The derivatives are the shares
//! sigmoid(a - b) and sigmoid(b - a), halves where both are the same infinity.

use super::{binary, mul};
use crate::autodiff::Saves;
use crate::ops::unary;

binary! {
    /// ln(e^a + e^b).
    LogAddExp, logaddexp, cost 12,
    |a, b| a.maximum(b) + (-T::select(a == b, T::ZERO, a - b).abs()).exp().log1p(),
    saves |needs| Saves::nothing().input(0).input(1),
    partial |at, index, t| {
        let gap = gap(at.input(index), at.input(1 - index))?;
        mul(t, &unary::sigmoid(&gap)?).map(Some)
    }
}

binary! {
    /// a - b, and 0 where both are the same infinity.
    Gap, gap, cost 1,
    |a, b| T::select(a == b, T::ZERO, a - b),
    saves |needs| Saves::nothing(),
    partial |_at, index, t| if index == 0 { Ok(Some(t.clone())) } else { unary::neg(t).map(Some) }
}
