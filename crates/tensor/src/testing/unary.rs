//! Functions of one tensor, each with four numbers of its domain.

use super::{Apply, Sample, sample};
use crate::Tensor;

/// Anywhere, away from 0 and from whole and half numbers, where some functions have kinks or jumps.
const ANYWHERE: [f64; 4] = [-1.7, -0.3, 0.8, 2.2];
const POSITIVE: [f64; 4] = [0.3, 0.9, 1.7, 4.2];
const UNIT: [f64; 4] = [-0.7, -0.2, 0.3, 0.8];
const ABOVE_ONE: [f64; 4] = [1.2, 1.7, 2.6, 5.0];

macro_rules! table {
    ($($name:ident $domain:expr;)*) => {
        vec![$(of(stringify!($name), $domain, |x| x[0].$name())),*]
    };
}

fn of(name: &'static str, domain: [f64; 4], apply: Apply) -> Sample {
    sample(name, "", vec![Tensor::from(domain).reshape([2, 2])], apply).empty([&[0, 3]])
}

pub(super) fn samples() -> Vec<Sample> {
    let mut list = table! {
        exp ANYWHERE; exp2 ANYWHERE; expm1 ANYWHERE; ln POSITIVE; log2 POSITIVE; log10 POSITIVE; log1p POSITIVE;
        sqrt POSITIVE; rsqrt POSITIVE; recip ANYWHERE; square ANYWHERE; abs ANYWHERE; sign ANYWHERE; floor ANYWHERE;
        ceil ANYWHERE; trunc ANYWHERE; round ANYWHERE; sin ANYWHERE; cos ANYWHERE; tan UNIT; asin UNIT; acos UNIT;
        atan ANYWHERE; sinh ANYWHERE; cosh ANYWHERE; tanh ANYWHERE; asinh ANYWHERE; acosh ABOVE_ONE; atanh UNIT;
        sigmoid ANYWHERE; log_sigmoid ANYWHERE; softplus ANYWHERE; erf ANYWHERE; erfc ANYWHERE; normal_cdf ANYWHERE; gelu ANYWHERE;
        gelu_tanh ANYWHERE;
        silu ANYWHERE; relu ANYWHERE; lgamma POSITIVE; digamma POSITIVE; trigamma POSITIVE;
    };
    list.extend([
        of("powf", POSITIVE, |x| x[0].powf(2.7)),
        of("powf", ANYWHERE, |x| x[0].powf(3.0)),
        of("powf", POSITIVE, |x| x[0].powf(-2.0)),
        of("clamp", ANYWHERE, |x| x[0].clamp(-1.0, 1.5)),
        of("leaky_relu", ANYWHERE, |x| x[0].leaky_relu(0.1)),
        of("elu", ANYWHERE, |x| x[0].elu(1.3)),
        of("neg", ANYWHERE, |x| -&x[0]),
        of("add_scalar", ANYWHERE, |x| &x[0] + 1.5),
        of("sub_scalar", ANYWHERE, |x| &x[0] - 1.5),
        of("mul_scalar", ANYWHERE, |x| &x[0] * -2.5),
        of("div_scalar", ANYWHERE, |x| &x[0] / 3.0),
        of("scalar_sub", ANYWHERE, |x| 1.5 - &x[0]),
        of("scalar_div", ANYWHERE, |x| 1.5 / &x[0]),
    ]);
    list
}
