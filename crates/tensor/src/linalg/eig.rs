//! Eigenproblem `A v = λ v` of any square matrix. Values and vectors of a real matrix are complex in general; they are
//! given as real and imaginary parts.
//!
//! Complex values come in pairs λ, λ̄ with vectors v, v̄. Vectors have length 1, and their largest entry is real and
//! positive. Values are ordered by real part, then by the size of the imaginary part; of a pair the one with positive
//! imaginary part comes first. A matrix whose values coincide may have fewer independent vectors than its size; two
//! columns then agree up to rounding.
//!
//! There is no derivative. That of a simple value, dλ = wᴴ dA v / wᴴ v with the left eigenvector w, is complex like the value
//! itself, and rules are written in operations on real tensors. At a repeated value there is none, near one it is
//! arbitrarily large, and real values that meet leave the real axis with a slope of infinity, so that even a matrix whose
//! values are all real has one only while they stay apart. For symmetric matrices `eigh` has one.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, evd_real, evd_scratch};
use faer::{ColMut, Mat, Par};

use super::kernel::{Job, Scalar, finite, rows, square};
use super::tools::unpack;
use crate::autodiff::{Grads, Point, Saves, apply};
use crate::dtype::match_float;
use crate::ops::Op;
use crate::{Error, Result, Tensor};

/// Complex numbers by their parts.
#[derive(Clone)]
pub struct Complex {
    /// The real parts.
    pub real: Tensor,
    /// The imaginary parts, of the same shape.
    pub imaginary: Tensor,
}

/// Eigenvalues and right eigenvectors of square matrices.
#[derive(Clone)]
pub struct Eig {
    /// (…, n), by ascending real part.
    pub values: Complex,
    /// Eigenvectors as columns, in the order of the values, (…, n, n).
    pub vectors: Complex,
}

/// One eigenvalue with its vector, in f64.
struct Entry {
    value: [f64; 2],
    vector: Vec<[f64; 2]>,
}

impl Entry {
    /// Brings the vector to length 1 and its largest entry (the first of those within a thousandth of it) to the positive
    /// real axis.
    fn new(value: [f64; 2], mut vector: Vec<[f64; 2]>) -> Entry {
        let modulus = |z: &[f64; 2]| z[0].hypot(z[1]);
        let largest = vector.iter().map(modulus).fold(0.0, f64::max);
        let length = vector.iter().map(|z| (modulus(z) / largest).powi(2)).sum::<f64>().sqrt() * largest;
        if let Some(&first) = vector.iter().find(|&z| modulus(z) >= 0.999 * largest) {
            let turn = [first[0] / modulus(&first), -first[1] / modulus(&first)];
            for z in &mut vector {
                *z = [(z[0] * turn[0] - z[1] * turn[1]) / length, (z[0] * turn[1] + z[1] * turn[0]) / length];
            }
        }
        Entry { value, vector }
    }

    fn conjugate(&self) -> Entry {
        let turned = |z: &[f64; 2]| [z[0], -z[1]];
        Entry { value: turned(&self.value), vector: self.vector.iter().map(turned).collect() }
    }
}

/// All eigenvalues with their vectors, in order.
fn decompose<T: Scalar>(a: &[T], n: usize) -> Result<Vec<Entry>> {
    finite("eig", a)?;
    let (no, yes) = (ComputeEigenvectors::No, ComputeEigenvectors::Yes);
    let mut memory = MemBuffer::new(evd_scratch::<T>(n, no, yes, Par::Seq, Default::default()));
    let (mut real, mut imaginary) = (vec![T::default(); n], vec![T::default(); n]);
    let mut v = Mat::<T>::zeros(n, n);
    evd_real(
        rows(a, n, n),
        ColMut::from_slice_mut(&mut real).as_diagonal_mut(),
        ColMut::from_slice_mut(&mut imaginary).as_diagonal_mut(),
        None,
        Some(v.as_mut()),
        Par::Seq,
        MemStack::new(&mut memory),
        Default::default(),
    )
    .map_err(|_| Error::data("eig", "the eigenvalues did not converge; scale the matrix to entries near 1"))?;
    let entry = |i: usize, j: usize| v[(i, j)].to_f64();
    let mut entries: Vec<Entry> = Vec::with_capacity(n);
    let mut j = 0;
    while j < n {
        let value = [real[j].to_f64(), imaginary[j].to_f64()];
        if value[1] == 0.0 {
            entries.push(Entry::new(value, (0..n).map(|i| [entry(i, j), 0.0]).collect()));
            j += 1;
        } else {
            // A pair: the vector's real part, then its imaginary part.
            let first = Entry::new(value, (0..n).map(|i| [entry(i, j), entry(i, (j + 1).min(n - 1))]).collect());
            entries.push(first.conjugate());
            entries.push(first);
            j += 2;
        }
    }
    let key = |entry: &Entry| [entry.value[0], entry.value[1].abs(), -entry.value[1]];
    entries.sort_by(|a, b| {
        key(a).iter().zip(key(b)).map(|(a, b)| a.total_cmp(&b)).find(|o| o.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
    });
    Ok(entries)
}

/// Values and vectors, real parts and imaginary parts, in one vector per matrix.
#[derive(Clone, Copy)]
struct Packed {
    n: usize,
}

impl Packed {
    fn one<T: Scalar>(self, a: &[T], out: &mut [T]) -> Result<()> {
        let n = self.n;
        let (values, vectors) = out.split_at_mut(2 * n);
        for (j, entry) in decompose(a, n)?.iter().enumerate() {
            for part in 0..2 {
                values[part * n + j] = T::from_f64(entry.value[part]);
                for (i, z) in entry.vector.iter().enumerate() {
                    vectors[(part * n + i) * n + j] = T::from_f64(z[part]);
                }
            }
        }
        Ok(())
    }
}

const NO_DERIVATIVE: &str = "values and vectors of a matrix that is not symmetric have no derivative here, since there is \
                             none where values coincide; use `eigh` for symmetric matrices, or `detach` the matrix";

impl Op for Packed {
    fn name(&self) -> &'static str {
        "eig"
    }

    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let n = self.n;
        let job = Job { op: "eig", inputs, item: &[2 * n * (n + 1)], work: 25 * n * n * n };
        match_float!("eig", inputs[0].dtype(), T => job.run::<T>(|a, out| self.one(a[0], out)))
    }

    fn saves(&self, _needs: &[bool]) -> Saves {
        Saves::nothing()
    }

    fn jvp(&self, _at: &Point<'_>, _tangents: &[Option<&Tensor>]) -> Result<Option<Tensor>> {
        Err(Error::derivative("eig", NO_DERIVATIVE))
    }

    fn vjp(&self, _at: &Point<'_>, _grad: &Tensor, _needs: &[bool]) -> Result<Grads> {
        Err(Error::derivative("eig", NO_DERIVATIVE))
    }

    fn batch(&self, inputs: &[&Tensor], _batched: &[bool], _size: usize) -> Result<Option<Tensor>> {
        apply(*self, inputs).map(Some)
    }

    fn flops(&self, inputs: &[&Tensor], _output: &Tensor) -> u64 {
        25 * inputs[0].numel() as u64 * self.n as u64
    }
}

/// Eigenvalues and right eigenvectors of any square matrix, by real and imaginary parts. Values are ordered by real part;
/// vectors have length 1, and their largest entry is real and positive. Without derivative: asking for one is an error.
///
/// ```
/// use tove_tensor::{Tensor, linalg};
/// // A quarter turn has the values ±i.
/// let e = linalg::eig(&Tensor::from([[0.0, -1.0], [1.0, 0.0]])).unwrap();
/// let imaginary = e.values.imaginary.to_vec::<f64>();
/// assert!((imaginary[0] - 1.0).abs() < 1e-12 && (imaginary[1] + 1.0).abs() < 1e-12);
/// ```
pub fn eig(a: &Tensor) -> Result<Eig> {
    let (_, n) = square("eig", a)?;
    let packed = apply(Packed { n }, &[a])?;
    let [real, imaginary, vectors_real, vectors_imaginary] = unpack(&packed, [&[n], &[n], &[n, n], &[n, n]])?;
    let vectors = Complex { real: vectors_real, imaginary: vectors_imaginary };
    Ok(Eig { values: Complex { real, imaginary }, vectors })
}
