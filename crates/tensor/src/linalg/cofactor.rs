//! The matrix of cofactors `C = ∂ det A / ∂A`, which exists for every square matrix; `det(A) A⁻ᵀ` for invertible ones.
//!
//! With A = U S Vᵀ and d = det U · det V, which is 1 or -1, C = d U diag(Π_{k≠i} s_k) Vᵀ: nothing is divided by. Its
//! derivative in a direction X, with P = Uᵀ X V and E_ij = Π_{k≠i,j} s_k (0 on the diagonal), is
//! `d U (diag(E diag P) - E ∘ Pᵀ) Vᵀ`. That is the Hessian of the determinant, hence its own transpose. Derivatives beyond
//! this second one are taken of `det(A) (tr(A⁻¹ X) A⁻ᵀ - A⁻ᵀ Xᵀ A⁻ᵀ)` and need A to be invertible.
//!
//! Everything is computed in f64 whatever the type, since products of singular values span many orders of magnitude.

use faer::Mat;
use smallvec::smallvec;

use super::determinant::det;
use super::inverse::inverse;
use super::kernel::{Job, Scalar, columns, finite, square};
use super::lu::Lu;
use super::svd::{Factors, Vectors, decompose};
use super::tools::{mm, t};
use crate::autodiff::{Grads, Point, Saves, apply, partial_jvp, partial_vjp};
use crate::dtype::match_float;
use crate::ops::{Op, align_batched, binary, one, reduce, shape, sum_terms};
use crate::{Result, Tensor};

/// Below this ratio of pivots the inverse loses more digits than the singular values do.
const NEARLY_SINGULAR: f64 = 1e-8;

fn wide<T: Scalar>(a: &[T]) -> Vec<f64> {
    a.iter().map(|x| x.to_f64()).collect()
}

/// U, s and V of a square matrix, and det U · det V.
fn factors(a: &[f64], n: usize) -> Result<(Factors<f64>, f64)> {
    let factors = decompose("det", a, (n, n), Vectors::Thin)?;
    let sign = |basis: &Mat<f64>| Lu::new(basis.clone()).sign_and_log().0;
    let orientation = sign(&factors.u) * sign(&factors.v);
    Ok((factors, orientation))
}

/// Π_{k≠i} s_k for every i.
fn without_one(s: &[f64]) -> Vec<f64> {
    let mut products = vec![1.0; s.len()];
    let (mut before, mut behind) = (1.0, 1.0);
    for i in 0..s.len() {
        products[i] *= before;
        before *= s[i];
        let last = s.len() - 1 - i;
        products[last] *= behind;
        behind *= s[last];
    }
    products
}

/// Π_{k≠i,j} s_k for every pair, 0 on the diagonal.
fn without_two(s: &[f64]) -> Mat<f64> {
    let n = s.len();
    let mut products = Mat::zeros(n, n);
    for i in 0..n {
        let others: Vec<f64> = (0..n).filter(|&k| k != i).map(|k| s[k]).collect();
        for (place, product) in without_one(&others).into_iter().enumerate() {
            products[(i, if place < i { place } else { place + 1 })] = product;
        }
    }
    products
}

fn write<T: Scalar>(matrix: &Mat<f64>, factor: f64, out: &mut [T]) {
    let n = matrix.ncols();
    for (place, x) in out.iter_mut().enumerate() {
        *x = T::from_f64(factor * matrix[(place / n, place % n)]);
    }
}

/// The cofactors of one matrix.
fn cofactors<T: Scalar>(a: &[T], n: usize, out: &mut [T]) -> Result<()> {
    finite("det", a)?;
    let a = wide(a);
    let lu = Lu::new(columns(&a, n, n));
    if lu.pivot_ratio() > NEARLY_SINGULAR {
        let inverse = lu.solve(n, |i, j| f64::from(u8::from(i == j)));
        write(&inverse.transpose().to_owned(), lu.determinant(), out);
        return Ok(());
    }
    let (Factors { u, s, v }, orientation) = factors(&a, n)?;
    let products = without_one(&s);
    let scaled = Mat::from_fn(n, n, |i, j| u[(i, j)] * products[j]);
    write(&(scaled * v.transpose()), orientation, out);
    Ok(())
}

/// The derivative of the cofactors of one matrix in the direction `x`.
fn slope<T: Scalar>(a: &[T], x: &[T], n: usize, out: &mut [T]) -> Result<()> {
    let (Factors { u, s, v }, orientation) = factors(&wide(a), n)?;
    let p = u.transpose() * columns(&wide(x), n, n) * &v;
    let e = without_two(&s);
    let inner = Mat::from_fn(n, n, |i, j| match i == j {
        true => (0..n).map(|k| e[(i, k)] * p[(k, k)]).sum(),
        false => -e[(i, j)] * p[(j, i)],
    });
    write(&(&u * inner * v.transpose()), orientation, out);
    Ok(())
}

#[derive(Clone, Copy)]
struct Cofactors;

impl Op for Cofactors {
    fn name(&self) -> &'static str {
        "cofactors"
    }

    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let (_, n) = square("det", inputs[0])?;
        let job = Job { op: "det", inputs, item: &[n, n], work: 2 * n * n * n };
        match_float!("det", inputs[0].dtype(), T => job.run::<T>(|a, out| cofactors(a[0], n, out)))
    }

    fn saves(&self, _needs: &[bool]) -> Saves {
        Saves::all_inputs()
    }

    fn jvp(&self, at: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Option<Tensor>> {
        tangents[0].map(|da| apply(Slope, &[at.input(0), da])).transpose()
    }

    fn vjp(&self, at: &Point<'_>, grad: &Tensor, _needs: &[bool]) -> Result<Grads> {
        one(apply(Slope, &[at.input(0), grad])?)
    }

    fn batch(&self, inputs: &[&Tensor], _batched: &[bool], _size: usize) -> Result<Option<Tensor>> {
        apply(*self, inputs).map(Some)
    }

    fn flops(&self, _inputs: &[&Tensor], output: &Tensor) -> u64 {
        2 * output.numel() as u64 * output.dims()[output.rank() - 1] as u64
    }
}

/// Inputs A and the direction X, in which it is linear.
#[derive(Clone, Copy)]
struct Slope;

impl Slope {
    /// det(A) (tr(A⁻¹ X) A⁻ᵀ - A⁻ᵀ Xᵀ A⁻ᵀ) for invertible A.
    fn by_inverse(a: &Tensor, x: &Tensor) -> Result<Tensor> {
        let inverse = t(&inverse(a)?)?;
        let number = |y: &Tensor| shape::unsqueeze(&shape::unsqueeze(y, -1)?, -1);
        let trace = number(&reduce::sum(&binary::mul(&inverse, x)?, &[-2, -1], false)?)?;
        let turned = mm(&mm(&inverse, &t(x)?)?, &inverse)?;
        binary::mul(&number(&det(a)?)?, &binary::sub(&binary::mul(&trace, &inverse)?, &turned)?)
    }
}

impl Op for Slope {
    fn name(&self) -> &'static str {
        "cofactor_slope"
    }

    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let (_, n) = square("det", inputs[0])?;
        let job = Job { op: "det", inputs, item: &[n, n], work: 30 * n * n * n };
        match_float!("det", inputs[0].dtype(), T => job.run::<T>(|a, out| slope(a[0], a[1], n, out)))
    }

    fn saves(&self, _needs: &[bool]) -> Saves {
        Saves::all_inputs()
    }

    fn jvp(&self, at: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Option<Tensor>> {
        let by_direction = tangents[1].map(|dx| apply(*self, &[at.input(0), dx])).transpose();
        let by_matrix = tangents[0].map_or(Ok(None), |da| {
            partial_jvp(|inputs| Slope::by_inverse(&inputs[0], &inputs[1]), at, &[Some(da), None])
        });
        sum_terms([by_direction, by_matrix])
    }

    fn vjp(&self, at: &Point<'_>, grad: &Tensor, needs: &[bool]) -> Result<Grads> {
        let mut grads: Grads = smallvec![None; 2];
        if needs[0] {
            let by_matrix = |inputs: &[Tensor]| Slope::by_inverse(&inputs[0], &inputs[1]);
            grads = partial_vjp(by_matrix, at, grad, &[true, false])?;
        }
        if needs[1] {
            grads[1] = Some(apply(*self, &[at.input(0), grad])?);
        }
        Ok(grads)
    }

    fn batch(&self, inputs: &[&Tensor], batched: &[bool], _size: usize) -> Result<Option<Tensor>> {
        let aligned = align_batched(inputs, batched)?;
        apply(*self, &[&aligned[0], &aligned[1]]).map(Some)
    }

    fn flops(&self, _inputs: &[&Tensor], output: &Tensor) -> u64 {
        30 * output.numel() as u64 * output.dims()[output.rank() - 1] as u64
    }
}

/// The cofactors of square matrices.
pub(super) fn cofactor_matrix(a: &Tensor) -> Result<Tensor> {
    apply(Cofactors, &[a])
}
