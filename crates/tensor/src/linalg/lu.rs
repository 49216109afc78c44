//! LU factors with partial pivoting: `P A = L U`, both kept in one matrix. The base of solving, inverting and
//! determinants.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::lu::partial_pivoting::factor::{lu_in_place, lu_in_place_scratch};
use faer::{Mat, Par};

use super::kernel::Scalar;
use super::triangular::{Triangle, solve_in_place};
use crate::{Error, Result};

pub(super) struct Lu<T> {
    /// U on and above the diagonal, L without its unit diagonal below.
    factors: Mat<T>,
    /// Row i of the factors comes from row `rows[i]` of the matrix.
    rows: Vec<usize>,
    /// Whether the number of exchanges is odd.
    odd: bool,
}

impl<T: Scalar> Lu<T> {
    pub(super) fn new(mut a: Mat<T>) -> Lu<T> {
        let n = a.nrows();
        let (mut rows, mut back) = (vec![0usize; n], vec![0usize; n]);
        let mut memory = MemBuffer::new(lu_in_place_scratch::<usize, T>(n, n, Par::Seq, Default::default()));
        let stack = MemStack::new(&mut memory);
        let (info, _) = lu_in_place(a.as_mut(), &mut rows, &mut back, Par::Seq, stack, Default::default());
        Lu { factors: a, rows, odd: info.transposition_count % 2 == 1 }
    }

    fn pivot(&self, i: usize) -> f64 {
        self.factors[(i, i)].to_f64()
    }

    /// The first pivot that is zero. What lies behind it is not defined.
    pub(super) fn zero_pivot(&self) -> Option<usize> {
        (0..self.rows.len()).find(|&i| self.pivot(i) == 0.0)
    }

    /// Smallest over largest pivot by size; 0 for singular matrices, 1 without pivots.
    pub(super) fn pivot_ratio(&self) -> f64 {
        if self.zero_pivot().is_some() {
            return 0.0;
        }
        let sizes = || (0..self.rows.len()).map(|i| self.pivot(i).abs());
        if sizes().len() == 0 { 1.0 } else { sizes().fold(f64::MAX, f64::min) / sizes().fold(0.0, f64::max) }
    }

    /// An error if the matrix is singular.
    pub(super) fn regular(self, op: &'static str) -> Result<Lu<T>> {
        match self.zero_pivot() {
            None => Ok(self),
            Some(i) => {
                let hint = "use `lstsq` or `pinv` for the solution of least norm";
                Err(Error::data(op, format!("the matrix is singular: pivot {i} is zero; {hint}")))
            }
        }
    }

    /// A⁻¹ B for B given by its entries, with k columns.
    pub(super) fn solve(&self, k: usize, b: impl Fn(usize, usize) -> T) -> Mat<T> {
        let mut x = Mat::from_fn(self.rows.len(), k, |i, j| b(self.rows[i], j));
        solve_in_place(self.factors.as_ref(), &mut x, Triangle::LOWER.unit());
        solve_in_place(self.factors.as_ref(), &mut x, Triangle::UPPER);
        x
    }

    /// Sign (0 if singular) and logarithm of the absolute value of the determinant.
    pub(super) fn sign_and_log(&self) -> (f64, f64) {
        if self.zero_pivot().is_some() {
            return (0.0, f64::NEG_INFINITY);
        }
        let pivots = (0..self.rows.len()).map(|i| self.pivot(i));
        let negative = pivots.clone().filter(|pivot| *pivot < 0.0).count() % 2 == 1;
        (if negative == self.odd { 1.0 } else { -1.0 }, pivots.map(|pivot| pivot.abs().ln()).sum())
    }

    pub(super) fn determinant(&self) -> f64 {
        if self.zero_pivot().is_some() {
            return 0.0;
        }
        (0..self.rows.len()).map(|i| self.pivot(i)).product::<f64>() * if self.odd { -1.0 } else { 1.0 }
    }
}
