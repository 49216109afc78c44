//! QR factors: `A = Q R` with orthonormal columns in Q and R upper triangular, its diagonal not negative.
//!
//! For at least as many rows as columns, with `C = A' R⁻¹`, `M = Qᵀ C` and Ω the antisymmetric matrix with M's entries
//! below the diagonal: `Q' = C + Q (Ω - M)`, `R' = (M - Ω) R`. The adjoint is `(G_Q + Q S) R⁻ᵀ` where S is the symmetric
//! matrix with the lower triangle of `R G_Rᵀ - G_Qᵀ Q`. Both need full column rank. A wide matrix is factorised by its
//! first columns, `[A₁ A₂] = Q [R₁ Qᵀ A₂]`.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::householder::{
    apply_block_householder_sequence_on_the_left_in_place_scratch as apply_scratch,
    apply_block_householder_sequence_on_the_left_in_place_with_conj as apply_reflections,
};
use faer::linalg::qr::no_pivoting::factor::{qr_in_place, qr_in_place_scratch, recommended_block_size};
use faer::{Conj, Mat, Par};

use super::kernel::{Job, Scalar, columns, finite, matrices};
use super::tools::{lower_mask, mm, pack, t, unpack};
use super::triangular::{Triangle, triangular_solve};
use crate::autodiff::{Grads, Point, Saves, apply};
use crate::dtype::match_float;
use crate::ops::{Op, binary, one, shape};
use crate::{Result, Tensor};

/// The factors of tall matrices, Q then R, in one vector per matrix.
#[derive(Clone, Copy)]
struct Packed {
    m: usize,
    n: usize,
}

impl Packed {
    fn one<T: Scalar>(self, a: &[T], out: &mut [T]) -> Result<()> {
        let Packed { m, n } = self;
        finite("qr", a)?;
        let mut factors = columns(a, m, n);
        let block = recommended_block_size::<T>(m, n);
        let mut coefficients = Mat::<T>::zeros(block, n);
        let mut memory = MemBuffer::new(qr_in_place_scratch::<T>(m, n, block, Par::Seq, Default::default()));
        let stack = MemStack::new(&mut memory);
        qr_in_place(factors.as_mut(), coefficients.as_mut(), Par::Seq, stack, Default::default());
        // The reflections lie below the diagonal and have ones on it.
        let entry = |i: usize, j: usize| match i.cmp(&j) {
            std::cmp::Ordering::Greater => factors[(i, j)],
            std::cmp::Ordering::Equal => T::from_i64(1),
            std::cmp::Ordering::Less => T::default(),
        };
        let basis = Mat::from_fn(m, n, entry);
        let mut q = Mat::from_fn(m, n, |i, j| T::from_i64(i64::from(i == j)));
        let mut memory = MemBuffer::new(apply_scratch::<T>(m, block, n));
        let stack = MemStack::new(&mut memory);
        apply_reflections(basis.as_ref(), coefficients.as_ref(), Conj::No, q.as_mut(), Par::Seq, stack);
        let (q_out, r_out) = out.split_at_mut(m * n);
        for j in 0..n {
            // A negative pivot changes the sign of a row of R and of a column of Q.
            let sign = if factors[(j, j)].to_f64() < 0.0 { T::from_i64(-1) } else { T::from_i64(1) };
            (0..m).for_each(|i| q_out[i * n + j] = q[(i, j)] * sign);
            (0..n).for_each(|k| r_out[j * n + k] = if k < j { T::default() } else { factors[(j, k)] * sign });
        }
        Ok(())
    }

    fn parts(self, packed: &Tensor) -> Result<[Tensor; 2]> {
        unpack(packed, [&[self.m, self.n], &[self.n, self.n]])
    }
}

/// X R⁻¹.
fn divided(x: &Tensor, r: &Tensor) -> Result<Tensor> {
    t(&triangular_solve(r, &t(x)?, Triangle::UPPER.transposed())?)
}

impl Op for Packed {
    fn name(&self) -> &'static str {
        "qr"
    }

    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let Packed { m, n } = *self;
        let job = Job { op: "qr", inputs, item: &[(m + n) * n], work: 2 * m * n * n };
        match_float!("qr", inputs[0].dtype(), T => job.run::<T>(|a, out| self.one(a[0], out)))
    }

    fn saves(&self, _needs: &[bool]) -> Saves {
        Saves::output()
    }

    fn jvp(&self, at: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Option<Tensor>> {
        let Some(da) = tangents[0] else { return Ok(None) };
        let [q, r] = self.parts(at.output())?;
        let c = divided(da, &r)?;
        let m = mm(&t(&q)?, &c)?;
        let below = binary::mul(&m, &lower_mask(self.n, m.dtype(), 0.0)?)?;
        let upper = binary::sub(&m, &binary::sub(&below, &t(&below)?)?)?; // M - Ω
        let dq = binary::sub(&c, &mm(&q, &upper)?)?;
        pack([(&dq, 2), (&mm(&upper, &r)?, 2)]).map(Some)
    }

    fn vjp(&self, at: &Point<'_>, grad: &Tensor, _needs: &[bool]) -> Result<Grads> {
        let [q, r] = self.parts(at.output())?;
        let [gq, gr] = self.parts(grad)?;
        let m = binary::sub(&mm(&r, &t(&gr)?)?, &mm(&t(&gq)?, &q)?)?;
        let half = binary::mul(&m, &lower_mask(self.n, m.dtype(), 0.5)?)?;
        let s = binary::add(&half, &t(&half)?)?;
        let right = binary::add(&gq, &mm(&q, &s)?)?;
        // X R⁻ᵀ is the transpose of R⁻¹ Xᵀ.
        one(t(&triangular_solve(&r, &t(&right)?, Triangle::UPPER)?)?)
    }

    fn batch(&self, inputs: &[&Tensor], _batched: &[bool], _size: usize) -> Result<Option<Tensor>> {
        apply(*self, inputs).map(Some)
    }

    fn flops(&self, inputs: &[&Tensor], _output: &Tensor) -> u64 {
        4 * inputs[0].numel() as u64 * self.n as u64
    }
}

/// The reduced factors of m by n matrices; k is the smaller of the two sizes.
#[derive(Clone)]
pub struct Qr {
    /// Orthonormal columns, (…, m, k).
    pub q: Tensor,
    /// Upper triangular, diagonal not negative, (…, k, n).
    pub r: Tensor,
}

/// Reduced QR factors. Unique for full column rank, since the diagonal of R is not negative.
///
/// ```
/// use tove_tensor::{Tensor, linalg};
/// let qr = linalg::qr(&Tensor::from([[3.0], [4.0]])).unwrap();
/// assert!((qr.r.item::<f64>() - 5.0).abs() < 1e-15);
/// ```
pub fn qr(a: &Tensor) -> Result<Qr> {
    let (leading, m, n) = matrices("qr", a)?;
    if m < n {
        let Qr { q, r } = qr(&shape::narrow(a, -1, 0, m)?)?;
        let rest = mm(&t(&q)?, &shape::narrow(a, -1, m, n - m)?)?;
        return Ok(Qr { r: shape::concat(&[&r, &rest], -1)?, q });
    }
    if n == 0 {
        let zeros = |rows| Tensor::zeros(leading.joined(&[rows, 0]), a.dtype());
        return Ok(Qr { q: zeros(m), r: zeros(0) });
    }
    let [q, r] = Packed { m, n }.parts(&apply(Packed { m, n }, &[a])?)?;
    Ok(Qr { q, r })
}
