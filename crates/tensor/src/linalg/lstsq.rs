//! Least squares: the `X` of least norm among those that minimise `‖A X - B‖`, by the SVD, for any rank.
//!
//! With `P = A⁺` and `R = B - A X`: `X' = P (B' - A' X) + P Pᵀ A'ᵀ R + (I - P A) A'ᵀ Pᵀ X`. The adjoint of B is
//! `Pᵀ G`, that of A is `-Pᵀ G Xᵀ + R Gᵀ P Pᵀ + Pᵀ X Gᵀ (I - P A)`. Exact while the rank stays the same, hence always
//! for full rank.

use faer::{Accum, Mat, Par};
use smallvec::smallvec;

use super::condition::Conditioning;
use super::kernel::{Job, Scalar, matrices, rows, store};
use super::pinv::{cutoff, pinv, reciprocals};
use super::svd::{Factors, Vectors, decompose, singular_values};
use super::tools::{identity_minus, mm, t};
use super::triangular::as_matrix;
use crate::autodiff::{Grads, Point, Saves, apply};
use crate::dtype::match_float;
use crate::ops::{Op, align_batched, binary, sum_terms, unary};
use crate::{Error, Result, Tensor};

#[derive(Clone, Copy)]
struct LeastSquares {
    cutoff: f64,
}

impl LeastSquares {
    fn one<T: Scalar>(self, a: &[T], b: &[T], (m, n, k): (usize, usize, usize), out: &mut [T]) -> Result<()> {
        let Factors { u, s, v } = decompose("lstsq", a, (m, n), Vectors::Thin)?;
        let inverse = reciprocals(&s, self.cutoff);
        let rank = inverse.len();
        let multiply = |x: faer::MatRef<'_, T>, y: faer::MatRef<'_, T>| {
            let mut product = Mat::<T>::zeros(x.nrows(), y.ncols());
            faer::linalg::matmul::matmul(product.as_mut(), Accum::Replace, x, y, T::from_i64(1), Par::Seq);
            product
        };
        let mut c = multiply(u.as_ref().subcols(0, rank).transpose(), rows(b, m, k)); // Uᵀ B
        for (i, &factor) in inverse.iter().enumerate() {
            (0..k).for_each(|j| c[(i, j)] *= factor);
        }
        store(multiply(v.as_ref().subcols(0, rank), c.as_ref()).as_ref(), out);
        Ok(())
    }

    fn sizes(a: &Tensor, b: &Tensor) -> Result<(usize, usize, usize)> {
        let (_, m, n) = matrices("lstsq", a)?;
        let (_, rows, k) = matrices("lstsq", b)?;
        if rows != m {
            let problem = format!("the right-hand side has {rows} rows, the matrix {m}");
            return Err(Error::shapes("lstsq", a.shape(), b.shape(), problem));
        }
        Ok((m, n, k))
    }
}

impl Op for LeastSquares {
    fn name(&self) -> &'static str {
        "lstsq"
    }

    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let (m, n, k) = LeastSquares::sizes(inputs[0], inputs[1])?;
        let job = Job { op: "lstsq", inputs, item: &[n, k], work: 10 * m * n * m.min(n) + (m + n) * k };
        match_float!("lstsq", inputs[0].dtype(), T => job.run::<T>(|x, out| self.one(x[0], x[1], (m, n, k), out)))
    }

    fn saves(&self, _needs: &[bool]) -> Saves {
        Saves::all_inputs().and_output()
    }

    fn jvp(&self, at: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Option<Tensor>> {
        let (a, b, x) = (at.input(0), at.input(1), at.output());
        let p = pinv(a, Some(self.cutoff))?;
        let pt = t(&p)?;
        let a_term = |da: &Tensor| -> Result<Tensor> {
            let dat = t(da)?;
            let residual = binary::sub(b, &mm(a, x)?)?;
            let inside = mm(&p, &mm(da, x)?)?;
            let rows = mm(&p, &mm(&pt, &mm(&dat, &residual)?)?)?;
            let columns = mm(&identity_minus(&mm(&p, a)?)?, &mm(&dat, &mm(&pt, x)?)?)?;
            binary::sub(&binary::add(&rows, &columns)?, &inside)
        };
        let b_term = |db: &Tensor| mm(&p, db);
        sum_terms([tangents[0].map(a_term).transpose(), tangents[1].map(b_term).transpose()])
    }

    fn vjp(&self, at: &Point<'_>, grad: &Tensor, needs: &[bool]) -> Result<Grads> {
        let (a, b, x) = (at.input(0), at.input(1), at.output());
        let p = pinv(a, Some(self.cutoff))?;
        let pt = t(&p)?;
        let gb = mm(&pt, grad)?;
        let mut grads: Grads = smallvec![None, None];
        if needs[0] {
            let gt = t(grad)?;
            let residual = binary::sub(b, &mm(a, x)?)?;
            let inside = unary::neg(&mm(&gb, &t(x)?)?)?;
            let rows = mm(&residual, &mm(&mm(&gt, &p)?, &pt)?)?;
            let columns = mm(&mm(&pt, x)?, &mm(&gt, &identity_minus(&mm(&p, a)?)?)?)?;
            grads[0] = Some(binary::add(&binary::add(&inside, &rows)?, &columns)?);
        }
        if needs[1] {
            grads[1] = Some(gb);
        }
        Ok(grads)
    }

    fn batch(&self, inputs: &[&Tensor], batched: &[bool], _size: usize) -> Result<Option<Tensor>> {
        let aligned = align_batched(inputs, batched)?;
        apply(*self, &[&aligned[0], &aligned[1]]).map(Some)
    }

    fn attributes(&self) -> String {
        format!("rcond={}", self.cutoff)
    }
}

/// A least-squares solution with what it rests on.
#[derive(Clone)]
pub struct Lstsq {
    /// The solution of least norm, (…, n, k), or (…, n) for a vector on the right.
    pub solution: Tensor,
    /// Number of singular values that count, i64.
    pub rank: Tensor,
    /// Singular values of the matrix, descending.
    pub singular_values: Tensor,
    conditioning: Option<Conditioning>,
}

impl Lstsq {
    /// How well the problem is posed; of a batch, the worst matrix. `None` inside `vmap`, where values cannot be read.
    pub fn conditioning(&self) -> Option<&Conditioning> {
        self.conditioning.as_ref()
    }

    /// A sentence to show if the matrix is ill conditioned (see
    /// [`ILL_CONDITIONED`](super::ILL_CONDITIONED)) or its columns are dependent.
    ///
    /// ```
    /// use tove_tensor::{Tensor, linalg};
    /// let x = Tensor::from([[1.0, 1.0], [1.0, 1.0 + 1e-10], [1.0, 1.0]]);
    /// let fit = linalg::lstsq(&x, &Tensor::from([1.0, 2.0, 3.0]), None).unwrap();
    /// assert!(fit.warning().unwrap().contains("condition number"));
    /// ```
    pub fn warning(&self) -> Option<String> {
        self.conditioning.as_ref().and_then(Conditioning::warning)
    }
}

/// The least-squares solution of `a x = b` of least norm. Singular values up to `rcond` times the largest count as zero;
/// by default the larger size of `a` times the element type's epsilon, as in numpy.
///
/// ```
/// use tove_tensor::{Tensor, linalg};
/// let a = Tensor::from([[1.0, 1.0], [1.0, 1.0]]);
/// let fit = linalg::lstsq(&a, &Tensor::from([1.0, 3.0]), None).unwrap();
/// assert_eq!(fit.rank.item::<i64>(), 1);
/// assert!(fit.solution.to_vec::<f64>().iter().all(|w| (w - 1.0).abs() < 1e-15));
/// ```
pub fn lstsq(a: &Tensor, b: &Tensor, rcond: Option<f64>) -> Result<Lstsq> {
    let cutoff = cutoff("lstsq", a, rcond)?;
    let solution = as_matrix(b, |b| {
        LeastSquares::sizes(a, b)?;
        apply(LeastSquares { cutoff }, &[a, b])
    })?;
    let singular_values = singular_values(a)?;
    let rank = super::rank::count(&singular_values, cutoff)?;
    let columns = a.dims()[a.rank() - 1];
    let conditioning = Conditioning::from_values(&singular_values, &rank, columns).ok();
    Ok(Lstsq { solution, rank, singular_values, conditioning })
}
