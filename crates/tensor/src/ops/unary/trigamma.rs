//! Second derivative of lgamma. Its own slope is composed of arithmetic: for x ≥ 0 the recurrence
//! ψ''(x) = ψ''(x + 1) - 2/x³ up to an argument where the asymptotic series holds to double precision, and below that the
//! reflection ψ''(x) = ψ''(1 - x) - 2π³ cos(πx) / sin³(πx), whose last term has period 1.

use std::f64::consts::PI;

use super::unary;
use crate::ops::arith::Arith;

/// Steps of the recurrence.
const SHIFT: u32 = 10;
/// Coefficients c_k of ψ''(x) ~ Σ c_k x^-k, from the Bernoulli numbers.
const SERIES: [(f64, f64); 9] = [
    (-2.0, -1.0),
    (-3.0, -1.0),
    (-4.0, -0.5),
    (-6.0, 1.0 / 6.0),
    (-8.0, -1.0 / 6.0),
    (-10.0, 0.3),
    (-12.0, -5.0 / 6.0),
    (-14.0, 691.0 / 210.0),
    (-16.0, -17.5),
];

fn tetragamma<A: Arith>(x: A) -> A {
    // Without branches: `negative` is 1 where x is reflected and 0 elsewhere, where the angle is any harmless one.
    let negative = (-x.clone()).positive();
    let below = x.clone().cut();
    let place = below.clone() - negative.clone().times(-0.25).plus(0.25);
    let angle = (place.clone() - place.nearest()).times(PI);
    let sine = angle.clone().sin();
    let reflected = (angle.cos() / (sine.clone() * sine.clone() * sine)).times(2.0 * PI.powi(3));
    not_negative(x - below.times(2.0) + negative.clone()) - reflected * negative
}

/// ψ'' for x ≥ 0.
fn not_negative<A: Arith>(x: A) -> A {
    let shifted = x.clone().plus(f64::from(SHIFT));
    let mut sum = x.constant(0.0);
    for step in 0..SHIFT {
        sum = sum - x.clone().plus(f64::from(step)).power(-3.0).times(2.0);
    }
    for (exponent, coefficient) in SERIES {
        sum = sum + shifted.clone().power(exponent).times(coefficient);
    }
    sum
}

unary! {
    /// Second derivative of lgamma.
    Trigamma, trigamma, cost 20, slope of Input,
    |self, x| x.trigamma(),
    |x, y| tetragamma(x)
}
