//! Lines below and above an activation on an interval.

use crate::{Result, TrustError};
use tove_nn::Nonlinearity;

/// Relative error allowed for the system's exp and tanh.
const FUNCTION: f64 = 1e-14;

/// An activation that bounds are known for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Bend {
    /// s, or a s below 0, for 0 ≤ a ≤ 1; a = 0 is the rectifier.
    Leaky(f64),
    Tanh,
    Sigmoid,
}

/// lower.0 x + lower.1 ≤ f(x) ≤ upper.0 x + upper.1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Lines {
    pub lower: (f64, f64),
    pub upper: (f64, f64),
}

impl Bend {
    pub fn of(activation: Nonlinearity) -> Result<Option<Bend>> {
        Ok(Some(match activation {
            Nonlinearity::Identity => return Ok(None),
            Nonlinearity::Relu => Bend::Leaky(0.0),
            Nonlinearity::LeakyRelu(slope) if (0.0..=1.0).contains(&slope) => Bend::Leaky(slope),
            Nonlinearity::Tanh => Bend::Tanh,
            Nonlinearity::Sigmoid => Bend::Sigmoid,
            other => {
                let problem = format!("bounds of {} are not implemented", other.name());
                let fix = "use ReLU, leaky ReLU with a slope of 0 to 1, tanh or sigmoid";
                return Err(TrustError::unsupported("Network", problem, fix));
            }
        }))
    }

    pub fn value(self, x: f64) -> f64 {
        match self {
            Bend::Leaky(slope) => {
                if x > 0.0 {
                    x
                } else {
                    slope * x
                }
            }
            Bend::Tanh => x.tanh(),
            Bend::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        }
    }

    pub fn slope(self, x: f64) -> f64 {
        match self {
            Bend::Leaky(slope) => {
                if x > 0.0 {
                    1.0
                } else {
                    slope
                }
            }
            Bend::Tanh => {
                // 1 − tanh² = 1/cosh², without cancellation.
                let e = (-2.0 * x.abs()).exp();
                4.0 * e / ((1.0 + e) * (1.0 + e))
            }
            Bend::Sigmoid => {
                let e = (-x.abs()).exp();
                e / ((1.0 + e) * (1.0 + e))
            }
        }
    }

    /// Bounds of f(x) for x between bounds, rounded outward: all these functions rise.
    pub fn interval(self, low: f64, high: f64) -> (f64, f64) {
        let (below, above) = (self.value(low), self.value(high));
        match self {
            Bend::Leaky(0.0) => (below, above),
            _ => (below - FUNCTION * below.abs(), above + FUNCTION * above.abs()),
        }
    }

    /// The error of f computed at a precision, for an x with this error.
    pub fn error(self, error: f64, size: f64, epsilon: f64) -> f64 {
        match self {
            Bend::Leaky(_) => error + epsilon * (size + error),
            Bend::Tanh | Bend::Sigmoid => error + 8.0 * epsilon,
        }
    }

    /// Lines below and above f on [low, high]. Rounding goes into the intercepts.
    pub fn lines(self, low: f64, high: f64) -> Lines {
        match self {
            Bend::Leaky(slope) => leaky(slope, low, high),
            Bend::Tanh | Bend::Sigmoid => self.curved(low, high),
        }
    }

    /// f is convex below 0 and concave above 0, odd around its center.
    fn curved(self, low: f64, high: f64) -> Lines {
        let (below, above) = self.interval(low, high);
        if high - low < 1e-9 {
            return Lines { lower: (0.0, below), upper: (0.0, above) };
        }
        let size = low.abs().max(high.abs());
        let slack = |slope: f64| 4.0 * FUNCTION * (1.0 + slope * size);
        let chord = ((above - below) / (high - low)).max(0.0);
        let middle = 0.5 * (low + high);
        let tangent = self.slope(middle);
        // A tangent with a slope off by rounding crosses f by no more than that times the width.
        let touch = self.value(middle) - tangent * middle;
        // Where f bends both ways a line with the smallest slope of the interval through an end stays on its side.
        let least = self.slope(low).min(self.slope(high)) * (1.0 - 1e-9);
        let (chord_low, chord_high) = (below - chord * low, above - chord * high);
        if low >= 0.0 {
            let lower = (chord, chord_low.min(chord_high) - slack(chord));
            Lines { lower, upper: (tangent, touch + slack(tangent)) }
        } else if high <= 0.0 {
            let upper = (chord, chord_low.max(chord_high) + slack(chord));
            Lines { lower: (tangent, touch - slack(tangent)), upper }
        } else {
            let lower = self.tangent_below(low, high).unwrap_or((least, below - least * low));
            let upper = self.tangent_above(low, high).unwrap_or((least, above - least * high));
            Lines { lower: (lower.0, lower.1 - slack(lower.0)), upper: (upper.0, upper.1 + slack(upper.0)) }
        }
    }

    /// The line through (low, f(low)) that touches the concave part, if it does so before `high`; else the chord.
    fn tangent_above(self, low: f64, high: f64) -> Option<(f64, f64)> {
        let start = self.value(low);
        // At a point t of the concave part the line to the start is above f if f′(t) is below the slope to the start.
        let chord = |t: f64| (self.value(t) - start) / (t - low);
        if self.slope(high) >= chord(high) {
            let slope = chord(high);
            return Some((slope, (start - slope * low).max(self.value(high) - slope * high)));
        }
        let (mut inside, mut outside) = (0.0, high);
        for _ in 0..60 {
            let t = 0.5 * (inside + outside);
            if self.slope(t) >= chord(t) { inside = t } else { outside = t }
        }
        // The tangent at `outside`, where it is not steeper than the way to the start, lies above the start as well.
        let slope = self.slope(outside);
        let touch = self.value(outside) - slope * outside;
        (touch + slope * low >= start - FUNCTION).then_some((slope, touch))
    }

    /// By symmetry around the center of f.
    fn tangent_below(self, low: f64, high: f64) -> Option<(f64, f64)> {
        let center = if self == Bend::Sigmoid { 1.0 } else { 0.0 }; // f(−x) = center − f(x)
        self.tangent_above(-high, -low).map(|(slope, intercept)| (slope, center - intercept))
    }
}

fn leaky(slope: f64, low: f64, high: f64) -> Lines {
    if low >= 0.0 {
        return Lines { lower: (1.0, 0.0), upper: (1.0, 0.0) };
    }
    if high <= 0.0 {
        return Lines { lower: (slope, 0.0), upper: (slope, 0.0) };
    }
    let bottom = slope * low;
    let chord = (((high - bottom) / (high - low)).max(slope)).min(1.0);
    // f is convex: a line above both ends is above f.
    let intercept = (bottom - chord * low).max(high - chord * high);
    let intercept = intercept + 4.0 * f64::EPSILON * (bottom.abs() + chord * (low.abs() + high) + high);
    // Any slope from that of the left to that of the right part gives a line below f; the one with the smaller area.
    let below = if high >= -low { 1.0 } else { slope };
    Lines { lower: (below, 0.0), upper: (chord, intercept) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stay_on_their_sides_of_the_function() {
        for bend in [Bend::Leaky(0.0), Bend::Leaky(0.2), Bend::Leaky(1.0), Bend::Tanh, Bend::Sigmoid] {
            let ends = [-30.0, -4.0, -1.0, -0.3, -1e-7, 0.0, 1e-9, 0.2, 1.5, 6.0, 50.0];
            for (i, &low) in ends.iter().enumerate() {
                for &high in &ends[i..] {
                    let lines = bend.lines(low, high);
                    let (below, above) = bend.interval(low, high);
                    for step in 0..=400 {
                        let x = (low + (high - low) * f64::from(step) / 400.0).clamp(low, high);
                        let y = bend.value(x);
                        assert!(lines.lower.0 * x + lines.lower.1 <= y + 1e-16 * x.abs(), "{bend:?} {low} {high} {x}");
                        assert!(lines.upper.0 * x + lines.upper.1 >= y - 1e-16 * x.abs(), "{bend:?} {low} {high} {x}");
                        assert!(below <= y && y <= above);
                    }
                }
            }
        }
    }
}
