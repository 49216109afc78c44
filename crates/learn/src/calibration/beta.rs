//! Beta calibration (Kull, Silva Filho and Flach 2017): p' = 1 / (1 + exp(−a ln p + b ln(1 − p) − c)) with a, b ≥ 0, fitted by the
//! log loss: a logistic regression on ln p and −ln(1 − p).
//!
//! a = b = 1, c = 0 is the identity, so that probabilities that are right stay; Platt's sigmoid of p has no such member. Where the
//! unrestricted fit has a negative coefficient, the best fit with a = 0 or b = 0 is taken. Probabilities are kept 2⁻⁵² from 0 and 1.

use tove_tensor::Tensor;

use super::logistic;
use super::part::{BinaryScores, Curve, Stored};
use crate::{LearnError, Record, Result};

/// A fitted curve with parameters a, b and c.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BetaCurve {
    /// The exponent of p; at least 0.
    pub a: f64,
    /// The exponent of 1 − p; at least 0.
    pub b: f64,
    /// The intercept.
    pub c: f64,
}

impl Stored for BetaCurve {
    fn stored(record: &Record, name: &str) -> bool {
        record.tensor(&format!("{name}.beta")).is_ok()
    }

    fn write(&self, record: &mut Record, name: &str) {
        record.put_tensor(&format!("{name}.beta"), &Tensor::from([self.a, self.b, self.c]));
    }

    fn read(record: &Record, name: &str) -> Result<BetaCurve> {
        let name = format!("{name}.beta");
        match record.vector(&name)?[..] {
            [a, b, c] if a >= 0.0 && b >= 0.0 && a.is_finite() && b.is_finite() && c.is_finite() => {
                Ok(BetaCurve { a, b, c })
            }
            _ => Err(record.wrong(&name, "two exponents that are not negative, and an intercept")),
        }
    }
}

/// ln p and −ln(1 − p), finite.
fn features(p: f64) -> [f64; 2] {
    let p = p.clamp(f64::EPSILON, 1.0 - f64::EPSILON);
    [p.ln(), -(-p).ln_1p()]
}

impl Curve for BetaCurve {
    const ON_PROBABILITIES: bool = true;

    fn fit(samples: &BinaryScores<'_>) -> Result<BetaCurve> {
        let who = samples.who;
        let rows: Vec<Row> = samples
            .counted()?
            .into_iter()
            .map(|(p, positive, weight)| Row { x: features(p), y: f64::from(u8::from(positive)), weight })
            .collect();
        let mut best: Option<(f64, [f64; 3])> = None;
        // The unrestricted fit first: where it is allowed, no other is better.
        for used in [[true, true], [false, true], [true, false], [false, false]] {
            let (loss, found) = newton(&rows, used);
            let allowed = found.iter().all(|value| value.is_finite()) && found[0] >= 0.0 && found[1] >= 0.0;
            if allowed && best.is_none_or(|(least, _)| loss < least) {
                best = Some((loss, found));
                if used == [true, true] {
                    break;
                }
            }
        }
        let fix = "give more samples of both classes, or set `method` to sigmoid";
        let none = || LearnError::data(who, "the curve of the probabilities is not finite", fix);
        let (_, [a, b, c]) = best.ok_or_else(none)?;
        Ok(BetaCurve { a, b, c })
    }

    fn at(&self, p: f64) -> f64 {
        let [x, y] = features(p);
        logistic(self.a * x + self.b * y + self.c)
    }
}

struct Row {
    x: [f64; 2],
    y: f64,
    weight: f64,
}

/// Part of the penalty: 10⁻¹⁰ of the weight times the squares of a − 1 and b − 1, so that separated classes have a finite fit.
const RIDGE: f64 = 1e-10;

/// The a, b and c of the least loss, those not used being 0, and the loss; by Newton's method with step halving.
fn newton(rows: &[Row], used: [bool; 2]) -> (f64, [f64; 3]) {
    let total: f64 = rows.iter().map(|row| row.weight).sum();
    let ridge = RIDGE * total;
    let aim = [f64::from(u8::from(used[0])), f64::from(u8::from(used[1])), 0.0];
    let penalty = |at: &[f64; 3]| 0.5 * ridge * (0..3).map(|k| (at[k] - aim[k]).powi(2)).sum::<f64>();
    let score = |row: &Row, at: &[f64; 3]| at[0] * row.x[0] + at[1] * row.x[1] + at[2];
    let loss = |at: &[f64; 3]| -> f64 {
        let one = |row: &Row| {
            let s = score(row, at);
            row.weight * (s.max(0.0) - row.y * s + (-s.abs()).exp().ln_1p())
        };
        rows.iter().map(one).sum::<f64>() + penalty(at)
    };
    let mut at = aim;
    let mut value = loss(&at);
    for _ in 0..200 {
        let (mut g, mut h) = ([0.0; 3], [[0.0; 3]; 3]);
        for row in rows {
            let p = logistic(score(row, &at));
            let (first, second) = (row.weight * (p - row.y), row.weight * p * (1.0 - p));
            let x = [row.x[0], row.x[1], 1.0];
            for i in 0..3 {
                g[i] += first * x[i];
                (0..3).for_each(|j| h[i][j] += second * x[i] * x[j]);
            }
        }
        for i in 0..3 {
            g[i] += ridge * (at[i] - aim[i]);
            h[i][i] += ridge;
        }
        for k in 0..2 {
            if !used[k] {
                (0..3).for_each(|j| (h[k][j], h[j][k]) = (0.0, 0.0));
                (g[k], h[k][k]) = (0.0, 1.0);
            }
        }
        if g.iter().fold(0.0f64, |most, g| most.max(g.abs())) <= 1e-13 * total {
            break;
        }
        let step = solve(h, g);
        let slope: f64 = (0..3).map(|k| -g[k] * step[k]).sum();
        let halved = std::iter::successors(Some(1.0), |part| Some(part / 2.0)).take(40);
        let moved = |part: f64| [at[0] - part * step[0], at[1] - part * step[1], at[2] - part * step[2]];
        let tried = halved.map(|part| (part, moved(part))).map(|(part, to)| (part, to, loss(&to)));
        let Some((_, to, lower)) = tried.into_iter().find(|(part, _, new)| *new < value + 1e-4 * part * slope) else {
            break;
        };
        (at, value) = (to, lower);
    }
    (value, at)
}

/// h⁻¹ g of a positive definite matrix, by Cholesky's factors.
fn solve(h: [[f64; 3]; 3], g: [f64; 3]) -> [f64; 3] {
    let mut l = [[0.0; 3]; 3];
    for i in 0..3 {
        for j in 0..=i {
            let rest = h[i][j] - (0..j).map(|k| l[i][k] * l[j][k]).sum::<f64>();
            l[i][j] = if i == j { rest.max(f64::MIN_POSITIVE).sqrt() } else { rest / l[j][j] };
        }
    }
    let mut x = g;
    for i in 0..3 {
        x[i] = (x[i] - (0..i).map(|k| l[i][k] * x[k]).sum::<f64>()) / l[i][i];
    }
    for i in (0..3).rev() {
        x[i] = (x[i] - (i + 1..3).map(|k| l[k][i] * x[k]).sum::<f64>()) / l[i][i];
    }
    x
}
