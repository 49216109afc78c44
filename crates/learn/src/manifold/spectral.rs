//! Eigenvectors of the normalized Laplacian I − D^−½ W D^−½ of a connected graph, by Lanczos' method with thick restarts (Wu, Simon
//! 2000) and full orthogonalization.

use tove_tensor::{DType, Key, Tensor, linalg};

use super::fuzzy::Graph;
use crate::Result;
use crate::selection::in_parallel;

/// Directions held at least, and rounds at most.
const BASIS: usize = 48;
const ROUNDS: usize = 40;
/// Size of the residual at which an eigenvector is good enough to start from.
const ENOUGH: f64 = 1e-4;
/// Samples of one task.
const BLOCK: usize = 2048;

struct Normalized<'a> {
    graph: &'a Graph,
    /// 1/√degree.
    inverses: Vec<f64>,
}

impl Normalized<'_> {
    /// D^−½ W D^−½ x.
    fn apply(&self, x: &[f64]) -> Vec<f64> {
        let n = x.len();
        let rows = |block: usize| {
            let sum = |i: usize| self.graph.row(i).map(|(j, weight)| weight * self.inverses[j] * x[j]).sum::<f64>();
            (block * BLOCK..n.min((block + 1) * BLOCK)).map(|i| self.inverses[i] * sum(i)).collect::<Vec<f64>>()
        };
        in_parallel(n.div_ceil(BLOCK), rows).concat()
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut lanes = [0.0; 8];
    for (a, b) in a.iter().zip(b) {
        (0..8).for_each(|lane| lanes[lane] += a[lane] * b[lane]);
    }
    lanes.iter().sum::<f64>() + a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum::<f64>()
}

/// Takes from w what lies along the directions of the basis; returns how much that was.
fn orthogonalize(basis: &[Vec<f64>], w: &mut [f64]) -> Vec<f64> {
    let n = w.len();
    let mut whole = vec![0.0; basis.len()];
    // A second time for what rounding left.
    for _ in 0..2 {
        let parts = in_parallel(n.div_ceil(BLOCK), |block| {
            let own = block * BLOCK..n.min((block + 1) * BLOCK);
            basis.iter().map(|v| dot(&v[own.clone()], &w[own.clone()])).collect::<Vec<f64>>()
        });
        let mut along = vec![0.0; basis.len()];
        parts.iter().for_each(|part| along.iter_mut().zip(part).for_each(|(sum, x)| *sum += x));
        for (v, along) in basis.iter().zip(&along) {
            w.iter_mut().zip(v).for_each(|(w, v)| *w -= along * v);
        }
        whole.iter_mut().zip(along).for_each(|(sum, x)| *sum += x);
    }
    whole
}

fn normalize(w: &mut [f64]) -> f64 {
    let length = dot(w, w).sqrt();
    if length > 0.0 {
        w.iter_mut().for_each(|w| *w /= length);
    }
    length
}

/// The eigenvectors of the `count` smallest eigenvalues but the first, each of length n, of a connected graph of n > `count` samples.
/// Rough ones if they are hard to separate. `None` if the process was interrupted.
pub(super) fn eigenvectors(graph: &Graph, count: usize, key: Key) -> Result<Option<Vec<Vec<f64>>>> {
    let n = graph.len();
    let degrees: Vec<f64> = (0..n).map(|i| graph.row(i).map(|(_, weight)| weight).sum()).collect();
    let mut first: Vec<f64> = degrees.iter().map(|degree| degree.sqrt()).collect();
    normalize(&mut first);
    let matrix = Normalized { graph, inverses: degrees.iter().map(|degree| 1.0 / degree.sqrt()).collect() };
    let size = (3 * count).max(BASIS).min(n - 1); // directions, apart from the known one
    let mut attempt = 0;
    let mut fresh = |basis: &[Vec<f64>]| -> Result<Vec<f64>> {
        attempt += 1;
        let mut w = key.fold(attempt).try_normal([n], DType::F64)?.to_f64_vec();
        orthogonalize(basis, &mut w);
        normalize(&mut w);
        Ok(w)
    };
    let mut basis = vec![first];
    basis.push(fresh(&basis)?);
    let mut projected = vec![0.0; size * size];
    for round in 0.. {
        if tove_optim::interrupted() {
            return Ok(None);
        }
        let mut last = 0.0;
        let begin = basis.len() - 2;
        for j in begin..size {
            let mut w = matrix.apply(&basis[j + 1]);
            let along = orthogonalize(&basis, &mut w);
            for i in 0..=j {
                (projected[i * size + j], projected[j * size + i]) = (along[i + 1], along[i + 1]);
            }
            last = normalize(&mut w);
            if j + 1 < size {
                if last < 1e-12 {
                    last = 0.0;
                    w = fresh(&basis)?;
                }
                (projected[j * size + j + 1], projected[(j + 1) * size + j]) = (last, last);
            }
            basis.push(w);
        }
        let linalg::Eigh { vectors, .. } = linalg::eigh(&Tensor::try_from_vec(projected.clone(), [size, size])?)?;
        let vectors = vectors.to_f64_vec(); // one per column, ascending
        let entry = |i: usize, rank: usize| vectors[i * size + size - 1 - rank];
        let done = (0..count).all(|rank| last * entry(size - 1, rank).abs() < ENOUGH) || size == n - 1;
        let done = done || round + 1 == ROUNDS;
        let kept = if done { count } else { count + (size - count) / 2 };
        let mut turned: Vec<Vec<f64>> = in_parallel(kept, |rank| {
            let mut sum = vec![0.0; n];
            for (i, v) in basis[1..=size].iter().enumerate() {
                let share = entry(i, rank);
                sum.iter_mut().zip(v).for_each(|(sum, v)| *sum += share * v);
            }
            sum
        });
        if done {
            return Ok(Some(turned));
        }
        let next = basis.pop().unwrap_or_default();
        basis.truncate(1);
        basis.append(&mut turned);
        basis.push(next);
        // What follows from the matrix in the turned basis is computed again with the next direction; the rest is diagonal.
        let values: Vec<f64> = (0..kept)
            .map(|rank| {
                let product = |i: usize| (0..size).map(|j| projected[i * size + j] * entry(j, rank)).sum::<f64>();
                (0..size).map(|i| entry(i, rank) * product(i)).sum()
            })
            .collect();
        projected.fill(0.0);
        values.iter().enumerate().for_each(|(i, value)| projected[i * size + i] = *value);
    }
    Ok(None)
}
