//! Singular value decomposition `A = U S Vᵀ`, reduced; it exists for every real matrix.
//!
//! With `P = Uᵀ A' V` and `F_ij = 1/(s_j² - s_i²)` (0 on the diagonal):
//! `s' = diag(P)`, `U' = U (F ∘ (P S + S Pᵀ)) + (I - U Uᵀ) A' V S⁻¹`, `V' = V (F ∘ (S P + Pᵀ S)) + (I - V Vᵀ) A'ᵀ U S⁻¹`.
//! Derivatives of the vectors need distinct, nonzero singular values: else reverse mode reports which are not, and
//! forward mode gives NaN for turns between equal ones. Those of the values alone exist at ties up to the
//! choice of a basis; `singular_values` computes them by a kernel of its own, `U diag(g) Vᵀ`, and takes everything of
//! higher order from the rule above.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::svd::{ComputeSvdVectors, svd as faer_svd, svd_scratch};
use faer::{ColMut, Mat, Par};

use super::kernel::{Job, Scalar, finite, matrices, negate, points_backwards, rows, store};
use super::ties::{require_distinct, require_nonzero, undefined};
use super::tools::{
    as_column, as_row, diagonal, diagonal_matrix, gap_reciprocals, mm, pack, reciprocal_or_zero, t, unpack,
};
use crate::autodiff::{Grads, Point, Saves, apply};
use crate::dtype::match_float;
use crate::ops::fused::{Fused, Saved, fused};
use crate::ops::{Aux, Op, binary, one, unary};
use crate::{Error, Result, Tensor};

/// Left vectors, values and right vectors of one matrix; the vectors are columns.
pub(super) struct Factors<T> {
    pub(super) u: Mat<T>,
    pub(super) s: Vec<T>,
    pub(super) v: Mat<T>,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Vectors {
    None,
    /// As many as there are values.
    Thin,
    /// A whole basis on the right, nothing on the left.
    FullRight,
}

/// The decomposition of one row-major matrix.
pub(super) fn decompose<T: Scalar>(
    op: &'static str,
    a: &[T],
    (m, n): (usize, usize),
    vectors: Vectors,
) -> Result<Factors<T>> {
    finite(op, a)?;
    let k = m.min(n);
    let (left, right) = match vectors {
        Vectors::None => (ComputeSvdVectors::No, ComputeSvdVectors::No),
        Vectors::Thin => (ComputeSvdVectors::Thin, ComputeSvdVectors::Thin),
        Vectors::FullRight => (ComputeSvdVectors::No, ComputeSvdVectors::Full),
    };
    let mut u = Mat::<T>::zeros(m, if vectors == Vectors::Thin { k } else { 0 });
    let mut v = Mat::<T>::zeros(n, if vectors == Vectors::FullRight { n } else { k });
    let mut s = vec![T::default(); k];
    let mut memory = MemBuffer::new(svd_scratch::<T>(m, n, left, right, Par::Seq, Default::default()));
    faer_svd(
        rows(a, m, n),
        ColMut::from_slice_mut(&mut s).as_diagonal_mut(),
        (vectors == Vectors::Thin).then(|| u.as_mut()),
        (vectors != Vectors::None).then(|| v.as_mut()),
        Par::Seq,
        MemStack::new(&mut memory),
        Default::default(),
    )
    .map_err(|_| Error::data(op, "the singular values did not converge; scale the matrix to entries near 1"))?;
    Ok(Factors { u, s, v })
}

/// U, s and Vᵀ in one vector per matrix.
#[derive(Clone, Copy)]
struct Packed {
    m: usize,
    n: usize,
}

impl Packed {
    fn k(self) -> usize {
        self.m.min(self.n)
    }

    fn one<T: Scalar>(self, a: &[T], out: &mut [T]) -> Result<()> {
        let Factors { mut u, s, mut v } = decompose("svd", a, (self.m, self.n), Vectors::Thin)?;
        for j in 0..self.k() {
            if points_backwards(u.as_ref(), j) {
                negate(&mut u, j);
                negate(&mut v, j);
            }
        }
        let (u_out, rest) = out.split_at_mut(self.m * self.k());
        let (s_out, vt_out) = rest.split_at_mut(self.k());
        store(u.as_ref(), u_out);
        s_out.copy_from_slice(&s);
        store(v.as_ref().transpose(), vt_out);
        Ok(())
    }

    fn parts(self, packed: &Tensor) -> Result<[Tensor; 3]> {
        let k = self.k();
        unpack(packed, [&[self.m, k], &[k], &[k, self.n]])
    }
}

/// X less its part in the span of the orthonormal columns of U: (I - U Uᵀ) X.
fn outside(u: &Tensor, x: &Tensor) -> Result<Tensor> {
    binary::sub(x, &mm(u, &mm(&t(u)?, x)?)?)
}

impl Op for Packed {
    fn name(&self) -> &'static str {
        "svd"
    }

    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let (m, n, k) = (self.m, self.n, self.k());
        let job = Job { op: "svd", inputs, item: &[(m + n + 1) * k], work: 10 * m * n * k };
        match_float!("svd", inputs[0].dtype(), T => job.run::<T>(|a, out| self.one(a[0], out)))
    }

    fn saves(&self, _needs: &[bool]) -> Saves {
        Saves::output()
    }

    fn jvp(&self, at: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Option<Tensor>> {
        let Some(da) = tangents[0] else { return Ok(None) };
        let [u, s, vt] = self.parts(at.output())?;
        let v = t(&vt)?;
        let f = gap_reciprocals(&unary::square(&s)?)?;
        let inverse = as_row(&reciprocal_or_zero(&s)?)?;
        let (column, row) = (as_column(&s)?, as_row(&s)?);
        let av = mm(da, &v)?; // A' V
        let p = mm(&t(&u)?, &av)?;
        let pt = t(&p)?;
        let turn_u = binary::add(&binary::mul(&p, &row)?, &binary::mul(&column, &pt)?)?; // P S + S Pᵀ
        let turn_v = binary::add(&binary::mul(&column, &p)?, &binary::mul(&pt, &row)?)?; // S P + Pᵀ S
        let turn = |turn: &Tensor| binary::add(&binary::mul(&f, turn)?, &undefined(&s, turn)?);
        let mut du = mm(&u, &turn(&turn_u)?)?;
        let mut dv = mm(&v, &turn(&turn_v)?)?;
        if self.m > self.k() {
            du = binary::add(&du, &binary::mul(&outside(&u, &av)?, &inverse)?)?;
        }
        if self.n > self.k() {
            let atu = mm(&t(da)?, &u)?;
            dv = binary::add(&dv, &binary::mul(&outside(&v, &atu)?, &inverse)?)?;
        }
        pack([(&du, 2), (&diagonal(&p)?, 1), (&t(&dv)?, 2)]).map(Some)
    }

    fn vjp(&self, at: &Point<'_>, grad: &Tensor, _needs: &[bool]) -> Result<Grads> {
        let [u, s, vt] = self.parts(at.output())?;
        let [gu, gs, gvt] = self.parts(grad)?;
        let (v, gv) = (t(&vt)?, t(&gvt)?);
        let f = gap_reciprocals(&unary::square(&s)?)?;
        let inverse = as_row(&reciprocal_or_zero(&s)?)?;
        // F ∘ (Xᵀ G - Gᵀ X), the turn of one basis.
        let turn = |x: &Tensor, g: &Tensor| -> Result<Tensor> {
            let product = mm(&t(x)?, g)?;
            require_distinct("svd", &s, &product)?;
            binary::mul(&f, &binary::sub(&product, &t(&product)?)?)
        };
        let from_u = binary::mul(&turn(&u, &gu)?, &as_row(&s)?)?;
        let from_v = binary::mul(&as_column(&s)?, &turn(&v, &gv)?)?;
        let inner = binary::add(&binary::add(&from_u, &from_v)?, &diagonal_matrix(&gs)?)?;
        let mut ga = mm(&mm(&u, &inner)?, &vt)?;
        if self.m > self.k() {
            let outside = outside(&u, &gu)?;
            require_nonzero("svd", &s, &outside)?;
            ga = binary::add(&ga, &mm(&binary::mul(&outside, &inverse)?, &vt)?)?;
        }
        if self.n > self.k() {
            let outside = outside(&v, &gv)?;
            require_nonzero("svd", &s, &outside)?;
            let right = t(&binary::mul(&outside, &inverse)?)?;
            ga = binary::add(&ga, &mm(&u, &right)?)?;
        }
        one(ga)
    }

    fn batch(&self, inputs: &[&Tensor], _batched: &[bool], _size: usize) -> Result<Option<Tensor>> {
        apply(*self, inputs).map(Some)
    }

    fn flops(&self, inputs: &[&Tensor], _output: &Tensor) -> u64 {
        20 * inputs[0].numel() as u64 * self.k() as u64
    }
}

/// The reduced decomposition of m by n matrices; k is the smaller of the two sizes.
#[derive(Clone)]
pub struct Svd {
    /// Left singular vectors as columns, (…, m, k).
    pub u: Tensor,
    /// Singular values, descending, (…, k).
    pub s: Tensor,
    /// Right singular vectors as rows, (…, k, n).
    pub vt: Tensor,
}

/// The reduced singular value decomposition, values descending. The largest entry of each left vector is positive.
///
/// Differentiable to any order where the singular values are distinct and not zero; for the values alone use
/// [`Tensor::singular_values`].
///
/// ```
/// use tove_tensor::{Tensor, linalg};
/// let svd = linalg::svd(&Tensor::from([[0.0, 2.0], [3.0, 0.0], [0.0, 0.0]])).unwrap();
/// assert_eq!(svd.s.to_vec::<f64>(), [3.0, 2.0]);
/// assert_eq!((svd.u.dims(), svd.vt.dims()), (&[3, 2][..], &[2, 2][..]));
/// ```
pub fn svd(a: &Tensor) -> Result<Svd> {
    let (leading, m, n) = matrices("svd", a)?;
    if m == 0 || n == 0 {
        let zeros = |tail: &[usize]| Tensor::zeros(leading.joined(tail), a.dtype());
        return Ok(Svd { u: zeros(&[m, 0]), s: zeros(&[0]), vt: zeros(&[0, n]) });
    }
    let [u, s, vt] = Packed { m, n }.parts(&apply(Packed { m, n }, &[a])?)?;
    Ok(Svd { u, s, vt })
}

/// The values with their first derivative as a kernel.
#[derive(Clone, Copy)]
struct Values;

impl Fused for Values {
    const NAME: &'static str = "singular_values";

    fn forward(&self, inputs: &[&Tensor]) -> Result<(Tensor, Aux)> {
        let Svd { u, s, vt } = svd(&inputs[0].untracked())?;
        Ok((s, smallvec::smallvec![u, vt]))
    }

    fn backward(&self, at: &Saved<'_>, grad: &Tensor, _needs: &[bool]) -> Result<Grads> {
        let computed;
        let (u, vt) = match at.aux {
            [u, vt] => (u, vt),
            _ => {
                computed = svd(at.inputs[0])?;
                (&computed.u, &computed.vt)
            }
        };
        one(mm(&binary::mul(u, &as_row(grad)?)?, vt)?)
    }

    fn definition(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        Ok(svd(inputs[0])?.s)
    }

    fn batch(&self, inputs: &[&Tensor], _batched: &[bool], _size: usize) -> Result<Option<Tensor>> {
        fused(*self, inputs).map(Some)
    }
}

/// Singular values, descending; without vectors unless derivatives will need them.
pub(crate) fn singular_values(a: &Tensor) -> Result<Tensor> {
    let (leading, m, n) = matrices("singular_values", a)?;
    let k = m.min(n);
    if k == 0 {
        return Ok(Tensor::zeros(leading.joined(&[0]), a.dtype()));
    }
    if a.track().is_some() {
        return fused(Values, &[a]);
    }
    let job = Job { op: "singular_values", inputs: &[a], item: &[k], work: 4 * m * n * k };
    match_float!("singular_values", a.dtype(), T => job.run::<T>(|a, out| {
        out.copy_from_slice(&decompose("singular_values", a[0], (m, n), Vectors::None)?.s);
        Ok(())
    }))
}
