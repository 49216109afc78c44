//! Small sets by formula, for classification and regression in the plane.

use std::f64::consts::PI;

use tove_tensor::random::{fill_normal, fill_uniform, permutation};
use tove_tensor::{Key, Tensor};

use crate::{DataError, Result, TensorDataset};

/// Points and their classes, put in random order, with normal noise of deviation `noise` on every coordinate.
pub(super) fn finish<const D: usize>(
    what: &'static str,
    points: Vec<([f64; D], i64)>,
    noise: f64,
    key: Key,
) -> Result<TensorDataset> {
    if !(noise >= 0.0 && noise.is_finite()) {
        return Err(DataError::parameter(what, format!("a noise of {noise}; give a finite number from 0 on")));
    }
    let mut normal = vec![0f64; points.len() * D];
    fill_normal(key.fold(0), &mut normal);
    let (mut x, mut y) = (Vec::with_capacity(points.len() * D), Vec::with_capacity(points.len()));
    for (row, from) in permutation(key.fold(1), points.len()).into_iter().enumerate() {
        let (point, class) = points[from as usize];
        x.extend((0..D).map(|axis| (point[axis] + noise * normal[row * D + axis]) as f32));
        y.push(class);
    }
    TensorDataset::new(Tensor::try_from_vec(x, [points.len(), D])?, Tensor::from(y))
}

fn at_least(what: &'static str, n: usize, least: usize) -> Result<()> {
    if n >= least {
        return Ok(());
    }
    Err(DataError::parameter(what, format!("{n} samples; give at least {least}")))
}

/// Evenly spaced numbers from 0 to 1, both included.
fn spread(i: usize, n: usize) -> f64 {
    i as f64 / (n.max(2) - 1) as f64
}

/// The four points of exclusive or: inputs (4, 2) of 0 and 1, class 1 where they differ.
///
/// ```
/// assert_eq!(tove_data::sets::xor()?.y().to_vec::<i64>(), [0, 1, 1, 0]);
/// # Ok::<(), tove_data::DataError>(())
/// ```
///
/// # Errors
/// None; a result like those of the other sets.
pub fn xor() -> Result<TensorDataset> {
    let x = Tensor::from([[0f32, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]);
    TensorDataset::new(x, Tensor::from([0i64, 1, 1, 0]))
}

/// `n` points in normal clouds of deviation `std` around (±1, ±1); class 1 where the signs of the center differ.
///
/// # Errors
/// If there are fewer than four points, or `std` is negative or not finite.
pub fn xor_clouds(n: usize, std: f64, key: Key) -> Result<TensorDataset> {
    at_least("xor_clouds", n, 4)?;
    let corner = |i: usize| if i == 0 { -1.0 } else { 1.0 };
    let points = (0..n).map(|i| ([corner(i % 2), corner(i / 2 % 2)], i64::from(i % 2 != i / 2 % 2)));
    finish("xor_clouds", points.collect(), std, key)
}

/// Two half circles, one inside the other's bow: class 0 on (cos t, sin t), class 1 on (1 − cos t, ½ − sin t), 0 ≤ t ≤ π.
/// As scikit-learn's `make_moons`.
///
/// # Errors
/// If there are fewer than two points, or the noise is negative or not finite.
pub fn two_moons(n: usize, noise: f64, key: Key) -> Result<TensorDataset> {
    at_least("two_moons", n, 2)?;
    let outer = n / 2;
    let point = |i: usize| {
        if i < outer {
            let t = PI * spread(i, outer);
            return ([t.cos(), t.sin()], 0);
        }
        let t = PI * spread(i - outer, n - outer);
        ([1.0 - t.cos(), 0.5 - t.sin()], 1)
    };
    finish("two_moons", (0..n).map(point).collect(), noise, key)
}

/// A circle of radius 1 (class 0) and one of radius `factor` (class 1) about the same center. As scikit-learn's
/// `make_circles`.
///
/// # Errors
/// If there are fewer than two points, `factor` is not in [0, 1), or the noise is negative or not finite.
pub fn circles(n: usize, factor: f64, noise: f64, key: Key) -> Result<TensorDataset> {
    at_least("circles", n, 2)?;
    if !(0.0..1.0).contains(&factor) {
        return Err(DataError::parameter("circles", format!("a factor of {factor}; give a number of [0, 1)")));
    }
    let outer = n / 2;
    let point = |i: usize| {
        let (radius, class, place) = if i < outer {
            (1.0, 0, i as f64 / outer as f64)
        } else {
            (factor, 1, (i - outer) as f64 / (n - outer) as f64)
        };
        let angle = 2.0 * PI * place;
        ([radius * angle.cos(), radius * angle.sin()], class)
    };
    finish("circles", (0..n).map(point).collect(), noise, key)
}

/// `arms` spirals of `turns` turns from the center to radius 1, one class each: radius r at angle 2π(turns · r + arm/arms).
///
/// # Errors
/// If there are no arms or fewer points than arms, or a number is not finite, or the noise is negative.
pub fn spirals(n: usize, arms: usize, turns: f64, noise: f64, key: Key) -> Result<TensorDataset> {
    at_least("spirals", n, arms.max(1))?;
    if arms == 0 || !turns.is_finite() {
        let problem = format!("{arms} arms of {turns} turns; give at least one arm and a finite number");
        return Err(DataError::parameter("spirals", problem));
    }
    let per_arm = n.div_ceil(arms);
    let point = |i: usize| {
        let (arm, radius) = (i % arms, (i / arms + 1) as f64 / per_arm as f64);
        let angle = 2.0 * PI * (turns * radius + arm as f64 / arms as f64);
        ([radius * angle.cos(), radius * angle.sin()], arm as i64)
    };
    finish("spirals", (0..n).map(point).collect(), noise, key)
}

/// Regression: x uniform on [0, 1), y = sin(2πx) plus normal noise; both (n, 1).
///
/// # Errors
/// If there are no points, or the noise is negative or not finite.
pub fn sine(n: usize, noise: f64, key: Key) -> Result<TensorDataset> {
    at_least("sine", n, 1)?;
    if !(noise >= 0.0 && noise.is_finite()) {
        return Err(DataError::parameter("sine", format!("a noise of {noise}; give a finite number from 0 on")));
    }
    let (mut x, mut z) = (vec![0f64; n], vec![0f64; n]);
    fill_uniform(key.fold(0), &mut x);
    fill_normal(key.fold(1), &mut z);
    let y = x.iter().zip(&z).map(|(x, z)| ((2.0 * PI * x).sin() + noise * z) as f32).collect();
    let x = x.into_iter().map(|x| x as f32).collect();
    TensorDataset::new(Tensor::try_from_vec::<f32>(x, [n, 1])?, Tensor::try_from_vec::<f32>(y, [n, 1])?)
}
