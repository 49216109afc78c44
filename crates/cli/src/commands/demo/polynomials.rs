//! Polynomials of growing degree fitted to noisy points of a sine: overfitting, and bias against variance.

use serde_json::json;
use tove::learn::linear::LinearRegression;
use tove::learn::{Fit, Predict};
use tove::plot::LineChart;
use tove::plot::terminal::LineText;
use tove::tensor::{DType, Key, Tensor};

use super::Shown;
use crate::arguments::Demo;
use crate::failure::Failure;
use crate::output::{number, table};

/// Points to learn from.
const POINTS: usize = 20;
/// Standard deviation of the noise.
const NOISE: f64 = 0.3;
/// The largest degree.
const MOST: usize = 14;

fn truth(x: f64) -> f64 {
    (std::f64::consts::PI * x).sin()
}

/// Legendre polynomials of degree 1 to `degree` at x: powers would be nearly dependent.
fn features(xs: &[f64], degree: usize) -> Tensor {
    let row = |&x: &f64| {
        let (mut before, mut now) = (1.0, x);
        (1..=degree)
            .map(|k| {
                let value = now;
                let k = k as f64;
                (before, now) = (now, ((2.0 * k + 1.0) * x * now - k * before) / (k + 1.0));
                value
            })
            .collect::<Vec<f64>>()
    };
    Tensor::from(xs.iter().flat_map(row).collect::<Vec<f64>>()).reshape([xs.len(), degree])
}

/// Points x in (−1, 1) and y = sin πx with noise.
fn sample(count: usize, key: Key) -> (Vec<f64>, Vec<f64>) {
    let xs: Vec<f64> = key.fold(0).uniform([count], DType::F64).to_vec::<f64>().iter().map(|u| 2.0 * u - 1.0).collect();
    let noise = key.fold(1).normal([count], DType::F64).to_vec::<f64>();
    let ys = xs.iter().zip(noise).map(|(&x, z)| truth(x) + NOISE * z).collect();
    (xs, ys)
}

/// What the polynomial of this degree, fitted to these points, says at other places.
fn answers(xs: &[f64], ys: &[f64], degree: usize, at: &[f64]) -> Result<Vec<f64>, Failure> {
    let model =
        tove::learn::quietly(|| LinearRegression::default().fit(features(xs, degree), &Tensor::from_slice(ys)))?;
    Ok(model.predict(features(at, degree))?.to_f64_vec())
}

fn error(predicted: &[f64], truth: &[f64]) -> f64 {
    let squares: f64 = predicted.iter().zip(truth).map(|(a, b)| (a - b) * (a - b)).sum();
    (squares / truth.len() as f64).sqrt()
}

/// Errors on the points themselves and on fresh ones, by degree.
pub fn overfitting(demo: &Demo) -> Result<Shown, Failure> {
    let key = Key::new(demo.seed);
    let ((xs, ys), (fresh, wanted)) = (sample(POINTS, key.fold(1)), sample(1000, key.fold(2)));
    let (mut train, mut test) = (Vec::new(), Vec::new());
    let mut rows = vec![["degree", "error on the points", "error on fresh points"].map(str::to_owned).to_vec()];
    for degree in 1..=MOST {
        train.push(error(&answers(&xs, &ys, degree, &xs)?, &ys));
        test.push(error(&answers(&xs, &ys, degree, &fresh)?, &wanted));
        rows.push(vec![degree.to_string(), number(train[degree - 1]), number(test[degree - 1])]);
    }
    let best = 1 + (0..MOST).min_by(|&a, &b| test[a].total_cmp(&test[b])).unwrap_or(0);
    let picture =
        LineText::new().series("on the points", &train).series("on fresh points", &test).log().render(72, 12)?;
    let text = format!(
        "Polynomials fitted to {POINTS} points of sin πx with noise of deviation {NOISE}. A higher degree always lies closer to \
         its own points; fresh points of the same kind are best met by degree {best}. Beyond, the curve follows the noise.\n\n\
         {}\nRoot mean squared error by degree, logarithmic:\n{picture}",
        table(&rows)
    );
    let degrees: Vec<f64> = (1..=MOST).map(|degree| degree as f64).collect();
    let chart = LineChart::new()
        .series("on the points", &degrees, &train)
        .series("on fresh points", &degrees, &test)
        .log_y()
        .mark_y("noise", NOISE)
        .x_label("degree")
        .y_label("root mean squared error")
        .title("Overfitting");
    let document = json!({"degrees": degrees, "train": train, "test": test, "best": best});
    Ok(Shown { text, document, picture: Some(Box::new(chart)) })
}

/// Data sets that the fits are repeated on.
const REPEATS: usize = 200;

/// The parts of the expected error, by degree: bias² + variance + noise².
pub fn bias_and_variance(demo: &Demo) -> Result<Shown, Failure> {
    let grid: Vec<f64> = (0..50).map(|i| -0.95 + 1.9 * f64::from(i) / 49.0).collect();
    let (mut bias, mut variance) = (Vec::new(), Vec::new());
    let mut rows = vec![["degree", "bias²", "variance", "bias² + variance + noise²"].map(str::to_owned).to_vec()];
    let most = 9;
    for degree in 1..=most {
        let (mut sums, mut squares) = (vec![0.0; grid.len()], vec![0.0; grid.len()]);
        for repeat in 0..REPEATS {
            let (xs, ys) = sample(POINTS + 10, Key::new(demo.seed).fold(repeat as u64));
            for (place, value) in answers(&xs, &ys, degree, &grid)?.into_iter().enumerate() {
                // One wild curve at an end of the interval would hide all others.
                let value = value.clamp(-5.0, 5.0);
                sums[place] += value;
                squares[place] += value * value;
            }
        }
        let n = REPEATS as f64;
        let means: Vec<f64> = sums.iter().map(|sum| sum / n).collect();
        let count = grid.len() as f64;
        bias.push(means.iter().zip(&grid).map(|(mean, &x)| (mean - truth(x)).powi(2)).sum::<f64>() / count);
        variance.push(squares.iter().zip(&means).map(|(sum, mean)| sum / n - mean * mean).sum::<f64>() / count);
        let (b, v) = (bias[degree - 1], variance[degree - 1]);
        rows.push(vec![degree.to_string(), number(b), number(v), number(b + v + NOISE * NOISE)]);
    }
    let picture = LineText::new().series("bias²", &bias).series("variance", &variance).log().render(72, 12)?;
    let text = format!(
        "{REPEATS} data sets of {} points of sin πx with noise, each fitted by a polynomial. E(y − ŷ)² = bias² + variance + \
         noise²: what all fits get wrong alike, how much they differ among themselves, and what nobody can know ({:.2}).\n\n\
         {}\nBy degree, logarithmic:\n{picture}",
        POINTS + 10,
        NOISE * NOISE,
        table(&rows)
    );
    let degrees: Vec<f64> = (1..=most).map(|degree| degree as f64).collect();
    let total: Vec<f64> = bias.iter().zip(&variance).map(|(b, v)| b + v + NOISE * NOISE).collect();
    let chart = LineChart::new()
        .series("bias²", &degrees, &bias)
        .series("variance", &degrees, &variance)
        .series("expected error", &degrees, &total)
        .log_y()
        .x_label("degree")
        .y_label("mean square")
        .title("Bias and variance");
    let document = json!({"degrees": degrees, "bias2": bias, "variance": variance, "noise2": NOISE * NOISE});
    Ok(Shown { text, document, picture: Some(Box::new(chart)) })
}
