//! Symmetric eigenproblem `A = V Λ Vᵀ`, eigenvalues ascending.
//!
//! With `P = Vᵀ A' V` and `F_ij = 1/(λ_j - λ_i)` (0 on the diagonal): `λ' = diag(P)`, `V' = V (F ∘ P)`, and the adjoint is
//! `V (diag(g) + F ∘ Vᵀ G) Vᵀ`. Derivatives of the vectors need distinct eigenvalues: between equal ones there is no F, and
//! reverse mode reports the gap (see `ties`). The values alone have a kernel of their own for the first derivative,
//! `V diag(g) Vᵀ`, which needs no gap.
//!
//! The symmetric part `(A + Aᵀ)/2` is what is decomposed, not one triangle: for a symmetric matrix that is the matrix
//! itself, and the derivative is right for changes of any entry.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::{ColMut, Mat, Par};

use super::kernel::{Job, Scalar, finite, negate, points_backwards, rows, square, store};
use super::ties::{require_distinct, undefined};
use super::tools::{as_row, diagonal, diagonal_matrix, gap_reciprocals, mm, pack, symmetric_part, t, unpack};
use crate::autodiff::{Grads, Point, Saves, apply};
use crate::dtype::match_float;
use crate::ops::fused::{Fused, Saved, fused};
use crate::ops::{Aux, Op, binary, one};
use crate::{Error, Result, Tensor};

/// The decomposition of one matrix, of which the lower triangle is read.
fn decompose<T: Scalar>(a: &[T], n: usize, values: &mut [T], vectors: Option<&mut [T]>) -> Result<()> {
    finite("eigh", a)?;
    let compute = if vectors.is_some() { ComputeEigenvectors::Yes } else { ComputeEigenvectors::No };
    let mut memory = MemBuffer::new(self_adjoint_evd_scratch::<T>(n, compute, Par::Seq, Default::default()));
    let stack = MemStack::new(&mut memory);
    let mut v = Mat::<T>::zeros(if vectors.is_some() { n } else { 0 }, if vectors.is_some() { n } else { 0 });
    let diagonal = ColMut::from_slice_mut(values).as_diagonal_mut();
    let target = vectors.is_some().then(|| v.as_mut());
    self_adjoint_evd(rows(a, n, n), diagonal, target, Par::Seq, stack, Default::default())
        .map_err(|_| Error::data("eigh", "the eigenvalues did not converge; scale the matrix to entries near 1"))?;
    if let Some(vectors) = vectors {
        for j in 0..n {
            if points_backwards(v.as_ref(), j) {
                negate(&mut v, j);
            }
        }
        store(v.as_ref(), vectors);
    }
    Ok(())
}

/// Values, then vectors, in one vector per matrix.
#[derive(Clone, Copy)]
struct Packed {
    n: usize,
}

impl Packed {
    fn parts(self, packed: &Tensor) -> Result<[Tensor; 2]> {
        unpack(packed, [&[self.n], &[self.n, self.n]])
    }
}

impl Op for Packed {
    fn name(&self) -> &'static str {
        "eigh"
    }

    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let n = self.n;
        let job = Job { op: "eigh", inputs, item: &[n * (n + 1)], work: 5 * n * n * n };
        match_float!("eigh", inputs[0].dtype(), T => job.run::<T>(|a, out| {
            let (values, vectors) = out.split_at_mut(n);
            decompose(a[0], n, values, Some(vectors))
        }))
    }

    fn saves(&self, _needs: &[bool]) -> Saves {
        Saves::output()
    }

    fn jvp(&self, at: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Option<Tensor>> {
        let Some(da) = tangents[0] else { return Ok(None) };
        let [values, v] = self.parts(at.output())?;
        let p = mm(&t(&v)?, &mm(da, &v)?)?;
        let turn = binary::add(&binary::mul(&gap_reciprocals(&values)?, &p)?, &undefined(&values, &p)?)?;
        let dv = mm(&v, &turn)?;
        pack([(&diagonal(&p)?, 1), (&dv, 2)]).map(Some)
    }

    fn vjp(&self, at: &Point<'_>, grad: &Tensor, _needs: &[bool]) -> Result<Grads> {
        let [values, v] = self.parts(at.output())?;
        let [gvalues, gv] = self.parts(grad)?;
        let turned = mm(&t(&v)?, &gv)?;
        require_distinct("eigh", &values, &turned)?;
        let turn = binary::mul(&gap_reciprocals(&values)?, &turned)?;
        let inner = binary::add(&diagonal_matrix(&gvalues)?, &turn)?;
        one(mm(&mm(&v, &inner)?, &t(&v)?)?)
    }

    fn batch(&self, inputs: &[&Tensor], _batched: &[bool], _size: usize) -> Result<Option<Tensor>> {
        apply(*self, inputs).map(Some)
    }

    fn flops(&self, inputs: &[&Tensor], _output: &Tensor) -> u64 {
        9 * inputs[0].numel() as u64 * self.n as u64
    }
}

/// Eigenvalues and eigenvectors of symmetric matrices.
#[derive(Clone)]
pub struct Eigh {
    /// Ascending, (…, n).
    pub values: Tensor,
    /// Orthonormal eigenvectors as columns, in the order of the values, (…, n, n).
    pub vectors: Tensor,
}

/// Eigenvalues, ascending, and orthonormal eigenvectors of the symmetric part of `a`; the largest entry
/// of each vector is positive.
///
/// Differentiable to any order. Derivatives of the vectors need distinct eigenvalues: at equal ones reverse mode is an
/// error that names the gap, and forward mode gives NaN for the vectors.
///
/// ```
/// use tove_tensor::{Tensor, linalg};
/// let e = linalg::eigh(&Tensor::from([[2.0, 1.0], [1.0, 2.0]])).unwrap();
/// assert!((e.values.at::<f64>(&[0]) - 1.0).abs() < 1e-15 && (e.values.at::<f64>(&[1]) - 3.0).abs() < 1e-15);
/// ```
pub fn eigh(a: &Tensor) -> Result<Eigh> {
    let (leading, n) = square("eigh", a)?;
    if n == 0 {
        let zeros = |tail: &[usize]| Tensor::zeros(leading.joined(tail), a.dtype());
        return Ok(Eigh { values: zeros(&[0]), vectors: zeros(&[0, 0]) });
    }
    let [values, vectors] = Packed { n }.parts(&apply(Packed { n }, &[&symmetric_part(a)?])?)?;
    Ok(Eigh { values, vectors })
}

/// The values with their first derivative as a kernel.
#[derive(Clone, Copy)]
struct Values;

impl Fused for Values {
    const NAME: &'static str = "eigvalsh";

    fn forward(&self, inputs: &[&Tensor]) -> Result<(Tensor, Aux)> {
        let Eigh { values, vectors } = eigh(&inputs[0].untracked())?;
        Ok((values, smallvec::smallvec![vectors]))
    }

    fn backward(&self, at: &Saved<'_>, grad: &Tensor, _needs: &[bool]) -> Result<Grads> {
        let computed;
        let v = match at.aux {
            [v] => v,
            _ => {
                computed = eigh(at.inputs[0])?.vectors;
                &computed
            }
        };
        one(mm(&binary::mul(v, &as_row(grad)?)?, &t(v)?)?)
    }

    fn definition(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        Ok(eigh(inputs[0])?.values)
    }

    fn batch(&self, inputs: &[&Tensor], _batched: &[bool], _size: usize) -> Result<Option<Tensor>> {
        fused(*self, inputs).map(Some)
    }
}

/// Eigenvalues of the symmetric part, ascending; without vectors unless derivatives will need them.
pub(crate) fn eigvalsh(a: &Tensor) -> Result<Tensor> {
    let (leading, n) = square("eigvalsh", a)?;
    if n == 0 {
        return Ok(Tensor::zeros(leading.joined(&[0]), a.dtype()));
    }
    if a.track().is_some() {
        return fused(Values, &[a]);
    }
    let symmetric = symmetric_part(a)?;
    let job = Job { op: "eigvalsh", inputs: &[&symmetric], item: &[n], work: 2 * n * n * n };
    match_float!("eigvalsh", a.dtype(), T => job.run::<T>(|a, out| decompose(a[0], n, out, None)))
}
