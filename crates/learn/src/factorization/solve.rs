//! One small regularized least-squares problem per row, in parallel.

use std::sync::{Mutex, PoisonError};

use tove_tensor::pool::parallel_for;

/// Rows of one task.
const ROWS: usize = 64;

/// A symmetric positive definite system of a fixed largest size, solved by Cholesky decomposition in memory that is used again.
#[derive(Default)]
pub(crate) struct System {
    matrix: Vec<f64>,
    factor: Vec<f64>,
    n: usize,
    /// Systems that were solved, and the operations of their decompositions: n³/3 each.
    solved: (u64, u64),
}

impl System {
    /// Starts a system of n unknowns; returns its matrix, all zeros. Only the lower triangle is read.
    pub fn start(&mut self, n: usize) -> &mut [f64] {
        self.n = n;
        self.matrix.clear();
        self.matrix.resize(n * n, 0.0);
        &mut self.matrix
    }

    /// Solves for the right-hand side in place. A matrix that is singular to rounding gets a small ridge.
    pub fn solve(&mut self, right: &mut [f64]) {
        let n = self.n;
        let trace: f64 = (0..n).map(|i| self.matrix[i * n + i]).sum();
        if !trace.is_finite() {
            right.fill(f64::NAN);
            return;
        }
        let mut ridge = 0.0;
        while !self.decompose(ridge) {
            ridge = if ridge == 0.0 { 1e-13 * trace.max(f64::MIN_POSITIVE) } else { 100.0 * ridge };
            if !ridge.is_finite() {
                right.fill(0.0);
                return;
            }
        }
        self.solved = (self.solved.0 + 1, self.solved.1 + (n as u64).pow(3) / 3);
        for i in 0..n {
            let (done, rest) = right.split_at_mut(i);
            rest[0] = (rest[0] - dot(&self.factor[i * n..i * n + i], done)) / self.factor[i * n + i];
        }
        for i in (0..n).rev() {
            let value = right[i] / self.factor[i * n + i];
            right[i] = value;
            right[..i].iter_mut().zip(&self.factor[i * n..]).for_each(|(right, l)| *right -= value * l);
        }
    }

    /// The lower Cholesky factor of the matrix with a ridge; false if it is not positive definite to rounding.
    fn decompose(&mut self, ridge: f64) -> bool {
        let n = self.n;
        self.factor.clear();
        self.factor.extend_from_slice(&self.matrix);
        for j in 0..n {
            let (above, below) = self.factor.split_at_mut((j + 1) * n);
            let row = &mut above[j * n..];
            let full = row[j] + ridge;
            let pivot = full - dot(&row[..j], &row[..j]);
            if pivot.is_nan() || pivot <= 1e-14 * full {
                return false;
            }
            let root = pivot.sqrt();
            row[j] = root;
            for other in below.chunks_exact_mut(n) {
                other[j] = (other[j] - dot(&other[..j], &row[..j])) / root;
            }
        }
        true
    }
}

/// A sum of products in four lanes, so that it is computed in vectors and always in the same order.
#[inline]
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a4, a_rest) = a.as_chunks::<4>();
    let (b4, b_rest) = b.as_chunks::<4>();
    let mut lanes = [0.0; 4];
    for (a, b) in a4.iter().zip(b4) {
        (0..4).for_each(|lane| lanes[lane] += a[lane] * b[lane]);
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]) + rest
}

/// out += a x.
#[inline]
pub(crate) fn add(out: &mut [f64], a: f64, x: &[f64]) {
    out.iter_mut().zip(x).for_each(|(out, x)| *out += a * x);
}

/// Memory of one task.
#[derive(Default)]
pub(crate) struct Scratch {
    pub system: System,
    pub vectors: Vec<f64>,
    pub right: Vec<f64>,
}

/// Calls `solve` with every row of `out` (rows of `width` numbers), its index and scratch memory, in parallel. The meter counts the
/// systems that it solves as `row_solve`.
pub(crate) fn each_row(out: &mut [f64], width: usize, solve: &(dyn Fn(usize, &mut [f64], &mut Scratch) + Sync)) {
    if width == 0 {
        return;
    }
    type Task<'a> = Mutex<(&'a mut [f64], (u64, u64))>;
    let tasks: Vec<Task<'_>> = out.chunks_mut(ROWS * width).map(|rows| Mutex::new((rows, (0, 0)))).collect();
    parallel_for(tasks.len(), &|task| {
        let mut scratch = Scratch::default();
        let mut own = tasks[task].lock().unwrap_or_else(PoisonError::into_inner);
        for (row, out) in own.0.chunks_exact_mut(width).enumerate() {
            solve(task * ROWS + row, out, &mut scratch);
        }
        own.1 = scratch.system.solved;
    });
    for task in tasks {
        let (_, (calls, flops)) = task.into_inner().unwrap_or_else(PoisonError::into_inner);
        tove_tensor::meter::record("row_solve", calls, flops);
    }
}

/// min ½‖Ax − b‖² + ½ α‖x₁‖² + ½ β‖x₂‖², where x₁ are the first `split` unknowns and x₂ the others, for the rows of A in `vectors` and
/// b in `right`, which is overwritten, into `out`. With fewer rows than unknowns and positive α, β the smaller system
/// x = P⁻¹Aᵀ(AP⁻¹Aᵀ + I)⁻¹b is solved, with P the diagonal of α and β.
pub(crate) fn ridge(
    system: &mut System,
    vectors: &[f64],
    right: &mut [f64],
    (split, [alpha, beta]): (usize, [f64; 2]),
    out: &mut [f64],
) {
    let (k, n) = (out.len(), right.len());
    out.fill(0.0);
    if n == 0 {
        return;
    }
    let rows = || vectors.chunks_exact(k);
    let penalty = |unknown: usize| if unknown < split { alpha } else { beta };
    if n < k && alpha > 0.0 && (beta > 0.0 || split == k) {
        let gram = system.start(n);
        for (i, a) in rows().enumerate() {
            for (j, b) in rows().take(i + 1).enumerate() {
                let others = if split < k { dot(&a[split..], &b[split..]) / beta } else { 0.0 };
                gram[i * n + j] = dot(&a[..split], &b[..split]) / alpha + others;
            }
            gram[i * n + i] += 1.0;
        }
        system.solve(right);
        for (row, weight) in rows().zip(&*right) {
            add(out, *weight, row);
        }
        out.iter_mut().enumerate().for_each(|(unknown, x)| *x /= penalty(unknown));
        return;
    }
    let gram = system.start(k);
    for (row, target) in rows().zip(&*right) {
        for (i, &x) in row.iter().enumerate() {
            add(&mut gram[i * k..i * k + i + 1], x, &row[..i + 1]);
        }
        add(out, *target, row);
    }
    (0..k).for_each(|i| gram[i * k + i] += penalty(i));
    system.solve(out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_the_ridge_problem_fulfil_its_normal_equations() {
        for (n, k) in [(3, 7), (7, 3), (1, 1), (5, 5)] {
            let number = |i: usize| ((i * 2_654_435_761) % 1000) as f64 / 500.0 - 1.0;
            let vectors: Vec<f64> = (0..n * k).map(number).collect();
            let right: Vec<f64> = (0..n).map(|i| number(i + 77)).collect();
            let mut x = vec![0.0; k];
            ridge(&mut System::default(), &vectors, &mut right.clone(), (k - 1, [0.3, 0.7]), &mut x);
            let penalty = |i: usize| if i < k - 1 { 0.3 } else { 0.7 };
            let mut gradient: Vec<f64> = x.iter().enumerate().map(|(i, x)| penalty(i) * x).collect();
            for (row, b) in vectors.chunks(k).zip(&right) {
                add(&mut gradient, dot(row, &x) - b, row);
            }
            assert!(gradient.iter().all(|g| g.abs() < 1e-12), "{n} x {k}: {gradient:?}");
        }
    }
}
