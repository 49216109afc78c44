//! Special functions behind intervals: the incomplete beta function, the quantiles of the normal distribution.

use tove_tensor::Tensor;
use tove_tensor::kernels::math::Float;

fn ln_gamma(x: f64) -> f64 {
    Tensor::scalar(x).lgamma().item::<f64>()
}

/// I_x(a, b), with y = 1 − x passed separately to avoid cancellation; by Lentz's continued fraction on the side that
/// converges.
///
/// ```
/// use tove_metrics::special::incomplete_beta;
/// assert!((incomplete_beta(2.0, 1.0, 0.5, 0.5) - 0.25).abs() < 1e-15);
/// ```
pub fn incomplete_beta(a: f64, b: f64, x: f64, y: f64) -> f64 {
    if x <= 0.0 || y <= 0.0 {
        return if x <= 0.0 { 0.0 } else { 1.0 };
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * y.ln()).exp();
    if x < (a + 1.0) / (a + b + 2.0) { front * fraction(a, b, x) / a } else { 1.0 - front * fraction(b, a, y) / b }
}

fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let guard = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / guard(1.0 - (a + b) * x / (a + 1.0));
    let mut h = d;
    for m in 1..10_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / guard(1.0 + even * d);
        c = guard(1.0 + even / c);
        h *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / guard(1.0 + odd * d);
        c = guard(1.0 + odd / c);
        h *= d * c;
        if (d * c - 1.0).abs() < 1e-16 {
            break;
        }
    }
    h
}

/// Φ(x), the distribution function of the standard normal distribution.
///
/// ```
/// assert_eq!(tove_metrics::special::normal_cdf(0.0), 0.5);
/// ```
pub fn normal_cdf(x: f64) -> f64 {
    0.5 * Float::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

/// Φ⁻¹(p) for p at least 1e-8 from the ends: by Newton's method from a rational start (Abramowitz and Stegun 26.2.23).
///
/// ```
/// assert!((tove_metrics::special::normal_quantile(0.975) - 1.959_963_984_540_054).abs() < 1e-14);
/// ```
pub fn normal_quantile(p: f64) -> f64 {
    let tail = p.min(1.0 - p);
    let t = (-2.0 * tail.ln()).sqrt();
    let start = t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
    let mut z = -start; // of the lower tail
    for _ in 0..8 {
        let density = (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt();
        let off = (normal_cdf(z) - tail) / density;
        let step = off / (1.0 + 0.5 * z * off); // Halley's correction
        z -= step;
        if step.abs() < 1e-15 * (1.0 + z.abs()) {
            break;
        }
    }
    if p < 0.5 { z } else { -z }
}
