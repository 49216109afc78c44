//! Matrix exponential `e^A = I + A + A²/2! + …`, by scaling, a Padé approximant, and squaring (Higham, "The scaling and
//! squaring method for the matrix exponential revisited", SIAM J. Matrix Anal. Appl. 26, 2005).
//!
//! The approximant of degree m is used while `‖A‖₁ ≤ θ_m`, for m = 3, 5, 7, 9; beyond, A is halved until `‖A‖₁ ≤ θ_13` and
//! the result squared as often. The derivative in direction E is the block in the corner of
//! `exp [[A, E], [0, A]] = [[e^A, L(A, E)], [0, e^A]]`, and the adjoint is `L(Aᵀ, G)`.

use faer::{Accum, Mat, Par};

use super::kernel::{Job, Scalar, finite, square};
use super::lu::Lu;
use super::tools::t;
use crate::autodiff::{Grads, Point, Saves, apply};
use crate::dtype::match_float;
use crate::ops::{Op, binary, one, reduce, shape, unary};
use crate::{Error, Result, Tensor};

#[derive(Clone, Copy)]
struct Expm;

/// Degrees below 13 and the norms up to which they give full f64 accuracy.
const SMALL_DEGREES: [(usize, f64); 4] =
    [(3, 1.495585217958292e-2), (5, 2.53939833006323e-1), (7, 9.504178996162932e-1), (9, 2.097847961257068)];
const THETA_13: f64 = 5.371920351148152;

/// Coefficients of the numerator of degree m, the first being 1: `(2m - j)! m! / ((2m)! (m - j)! j!)`.
fn coefficients(m: usize) -> Vec<f64> {
    let mut c = vec![1.0];
    for j in 1..=m {
        c.push(c[j - 1] * (m - j + 1) as f64 / ((2 * m - j + 1) * j) as f64);
    }
    c
}

fn product(a: &Mat<f64>, b: &Mat<f64>) -> Mat<f64> {
    let mut c = Mat::zeros(a.nrows(), b.ncols());
    faer::linalg::matmul::matmul(c.as_mut(), Accum::Replace, a.as_ref(), b.as_ref(), 1.0, Par::Seq);
    c
}

/// The sum of matrices with factors, plus a multiple of the identity.
fn combined(n: usize, identity: f64, terms: &[(f64, &Mat<f64>)]) -> Mat<f64> {
    Mat::from_fn(n, n, |i, j| {
        let start = if i == j { identity } else { 0.0 };
        terms.iter().fold(start, |sum, (factor, matrix)| sum + factor * matrix[(i, j)])
    })
}

/// Odd and even part (U, V) of the approximant's numerator, for degrees up to 9.
fn parts_of_small_degree(a: &Mat<f64>, m: usize) -> (Mat<f64>, Mat<f64>) {
    let (n, c) = (a.nrows(), coefficients(m));
    let mut powers = vec![product(a, a)];
    while powers.len() < m / 2 {
        powers.push(product(&powers[powers.len() - 1], &powers[0]));
    }
    let terms = |first: usize| -> Vec<(f64, &Mat<f64>)> {
        powers.iter().enumerate().map(|(k, power)| (c[2 * k + 2 + first], power)).collect()
    };
    (product(a, &combined(n, c[1], &terms(1))), combined(n, c[0], &terms(0)))
}

/// The same for degree 13, with six products in all.
fn parts_of_degree_13(a: &Mat<f64>) -> (Mat<f64>, Mat<f64>) {
    let (n, c) = (a.nrows(), coefficients(13));
    let a2 = product(a, a);
    let a4 = product(&a2, &a2);
    let a6 = product(&a4, &a2);
    let half = |shift: usize| {
        let high = combined(n, 0.0, &[(c[12 + shift], &a6), (c[10 + shift], &a4), (c[8 + shift], &a2)]);
        let high = product(&a6, &high);
        combined(n, c[shift], &[(1.0, &high), (c[6 + shift], &a6), (c[4 + shift], &a4), (c[2 + shift], &a2)])
    };
    (product(a, &half(1)), half(0))
}

/// e^A of one matrix, computed in f64 for both element types.
fn exponential<T: Scalar>(a: &[T], n: usize, out: &mut [T]) -> Result<()> {
    finite("expm", a)?;
    let mut a = Mat::from_fn(n, n, |i, j| a[i * n + j].to_f64());
    let norm = (0..n).map(|j| (0..n).map(|i| a[(i, j)].abs()).sum::<f64>()).fold(0.0, f64::max);
    let degree = SMALL_DEGREES.iter().find(|(_, theta)| norm <= *theta).map(|(m, _)| *m);
    let squarings = if degree.is_some() { 0 } else { (norm / THETA_13).log2().ceil().max(0.0) as i32 };
    if squarings > 0 {
        a = combined(n, 0.0, &[(0.5f64.powi(squarings), &a)]);
    }
    let (u, v) = match degree {
        Some(m) => parts_of_small_degree(&a, m),
        None => parts_of_degree_13(&a),
    };
    let denominator = combined(n, 0.0, &[(1.0, &v), (-1.0, &u)]);
    let mut result = Lu::new(denominator).regular("expm")?.solve(n, |i, j| v[(i, j)] + u[(i, j)]);
    for _ in 0..squarings {
        result = product(&result, &result);
    }
    for (index, x) in out.iter_mut().enumerate() {
        let value = result[(index / n, index % n)];
        *x = T::from_f64(value);
        if !x.to_f64().is_finite() {
            let problem = format!("the exponential overflows: the matrix has norm {norm:.1e}; scale it down");
            return Err(Error::data("expm", problem));
        }
    }
    Ok(())
}

/// L(A, E), the derivative of the exponential at A in direction E.
fn frechet(a: &Tensor, e: &Tensor) -> Result<Tensor> {
    let n = a.dims()[a.rank() - 1];
    // L is linear in E; a direction of entries up to 1 keeps the block's norm, and with it the scaling, near that of A.
    let size = reduce::max(&unary::abs(&e.detach())?, &[-2, -1], true)?;
    let size = binary::select(&binary::eq_scalar(&size, 0.0)?, &Tensor::scalar_of(1.0, e.dtype()), &size)?;
    let e = binary::div(e, &size)?;
    let top = shape::concat(&[a, &e], -1)?;
    let bottom = shape::concat(&[&a.zeros_like(), a], -1)?;
    let block = expm(&shape::concat(&[&top, &bottom], -2)?)?;
    let corner = shape::narrow(&shape::narrow(&block, -2, 0, n)?, -1, n, n)?;
    binary::mul(&corner, &size)
}

impl Op for Expm {
    fn name(&self) -> &'static str {
        "expm"
    }

    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let (_, n) = square("expm", inputs[0])?;
        let job = Job { op: "expm", inputs, item: &[n, n], work: 10 * n * n * n };
        match_float!("expm", inputs[0].dtype(), T => job.run::<T>(|a, out| exponential(a[0], n, out)))
    }

    fn saves(&self, _needs: &[bool]) -> Saves {
        Saves::all_inputs()
    }

    fn jvp(&self, at: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Option<Tensor>> {
        tangents[0].map(|da| frechet(at.input(0), da)).transpose()
    }

    fn vjp(&self, at: &Point<'_>, grad: &Tensor, _needs: &[bool]) -> Result<Grads> {
        one(frechet(&t(at.input(0))?, grad)?)
    }

    fn batch(&self, inputs: &[&Tensor], _batched: &[bool], _size: usize) -> Result<Option<Tensor>> {
        apply(*self, inputs).map(Some)
    }
}

/// The exponential of the whole matrix; `exp` is that of each element.
pub(crate) fn expm(a: &Tensor) -> Result<Tensor> {
    let (_, n) = square("expm", a)?;
    if n == 0 { Ok(a.clone()) } else { apply(Expm, &[a]) }
}
