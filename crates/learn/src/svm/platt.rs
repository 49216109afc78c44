//! Probabilities from decision values (Platt 1999; Lin, Lin, Weng 2007) and from pairwise probabilities (Wu, Lin, Weng
//! 2004).
//!
//! For each pair P(first | x) = 1 / (1 + exp(A f + B)), where f are held-out decision values from five-fold
//! cross-validation; A and B maximize the likelihood of targets (n₊ + 1)/(n₊ + 2) and 1/(n₋ + 2). For several classes p
//! minimizes Σᵢⱼ (rⱼᵢ pᵢ − rᵢⱼ pⱼ)², where rᵢⱼ estimates P(i | i or j, x).

use tove_tensor::{Key, Tensor};

use super::pairs::Training;
use crate::kernel::{Expansion, Features};
use crate::{Real, Result};

/// A and B of a sigmoid.
pub(super) type Sigmoid = (f64, f64);

/// Number of folds.
const FOLDS: usize = 5;

/// Fits the sigmoid of one pair; the first `first` of `indices` are of the first class.
pub(super) fn cross_validated(
    training: &Training,
    features: &Features,
    indices: &[usize],
    first: usize,
    costs: &[f64],
    key: Key,
) -> Result<Sigmoid> {
    let n = indices.len();
    let order: Vec<usize> = key.permutation(n).to_vec::<i64>().iter().map(|&index| index as usize).collect();
    let mut decisions = vec![0.0; n];
    for fold in 0..FOLDS {
        let held = &order[fold * n / FOLDS..(fold + 1) * n / FOLDS];
        if held.is_empty() {
            continue;
        }
        let mut out = vec![false; n];
        held.iter().for_each(|&i| out[i] = true);
        let kept: Vec<usize> = (0..n).filter(|&i| !out[i]).collect();
        let positive = kept.iter().filter(|&&i| i < first).count();
        if positive == 0 || positive == kept.len() {
            // Only one class is left: always predict it, as in LIBSVM.
            let side = if kept.is_empty() {
                0.0
            } else if positive > 0 {
                1.0
            } else {
                -1.0
            };
            held.iter().for_each(|&i| decisions[i] = side);
            continue;
        }
        let trained: Vec<usize> = kept.iter().map(|&i| indices[i]).collect();
        let trained_costs: Vec<f64> = kept.iter().map(|&i| costs[i]).collect();
        let solution = training.two(features, &trained, positive, &trained_costs)?;
        let support: Vec<usize> = (0..kept.len()).filter(|&i| solution.beta[i] != 0.0).collect();
        let points: Vec<usize> = support.iter().map(|&i| trained[i]).collect();
        let beta: Vec<f64> = support.iter().map(|&i| solution.beta[i]).collect();
        let beta = Tensor::try_from_vec(beta, [support.len(), 1])?;
        let expansion = Expansion::of(features, &points, &beta)?;
        let held_out: Vec<usize> = held.iter().map(|&i| indices[i]).collect();
        let values = expansion.at(&features.rows().take(&held_out)?)?.to_f64_vec();
        held.iter().zip(values).for_each(|(&i, value)| decisions[i] = value + solution.bias);
    }
    Ok(sigmoid(&decisions, first))
}

/// Fits A and B by Newton's method with step halving; the first samples are positive.
pub(super) fn sigmoid(decisions: &[f64], first: usize) -> Sigmoid {
    let negative = decisions.len() - first;
    let (high, low) = ((first as f64 + 1.0) / (first as f64 + 2.0), 1.0 / (negative as f64 + 2.0));
    let target = |i: usize| if i < first { high } else { low };
    // The negative log-likelihood, written so that no exponential overflows.
    let loss = |a: f64, b: f64| -> f64 {
        let one = |(i, f): (usize, &f64)| {
            let s = f * a + b;
            if s >= 0.0 { target(i) * s + (-s).exp().ln_1p() } else { (target(i) - 1.0) * s + s.exp().ln_1p() }
        };
        decisions.iter().enumerate().map(one).sum()
    };
    let (mut a, mut b) = (0.0, ((negative as f64 + 1.0) / (first as f64 + 1.0)).ln());
    let mut value = loss(a, b);
    for _ in 0..100 {
        let (mut haa, mut hbb, mut hab, mut ga, mut gb) = (1e-12, 1e-12, 0.0, 0.0, 0.0);
        for (i, &f) in decisions.iter().enumerate() {
            let s = f * a + b;
            let e = (-s.abs()).exp();
            let (p, q) = if s >= 0.0 { (e / (1.0 + e), 1.0 / (1.0 + e)) } else { (1.0 / (1.0 + e), e / (1.0 + e)) };
            let (d2, d1) = (p * q, target(i) - p);
            haa += f * f * d2;
            hbb += d2;
            hab += f * d2;
            ga += f * d1;
            gb += d1;
        }
        if ga.abs() < 1e-5 && gb.abs() < 1e-5 {
            break;
        }
        let determinant = haa * hbb - hab * hab;
        let (da, db) = (-(hbb * ga - hab * gb) / determinant, -(haa * gb - hab * ga) / determinant);
        let slope = ga * da + gb * db;
        let mut step = 1.0;
        while step >= 1e-10 {
            let new = loss(a + step * da, b + step * db);
            if new < value + 1e-4 * step * slope {
                (a, b, value) = (a + step * da, b + step * db, new);
                break;
            }
            step /= 2.0;
        }
        if step < 1e-10 {
            break;
        }
    }
    (a, b)
}

/// P(first | decision), clipped away from 0 and 1.
pub(super) fn probability(decision: f64, (a, b): Sigmoid) -> f64 {
    let s = decision * a + b;
    let p = if s >= 0.0 { (-s).exp() / (1.0 + (-s).exp()) } else { 1.0 / (1.0 + s.exp()) };
    p.clamp(1e-7, 1.0 - 1e-7)
}

/// Probabilities of k classes from the pairwise ones, `pair(i, j)` for i < j.
pub(super) fn couple<T: Real>(k: usize, pair: impl Fn(usize, usize) -> f64, out: &mut [T]) {
    let r = |i: usize, j: usize| if i < j { pair(i, j) } else { 1.0 - pair(j, i) };
    let mut q = vec![0.0; k * k];
    for i in 0..k {
        for j in (0..k).filter(|&j| j != i) {
            q[i * k + i] += r(j, i) * r(j, i);
            q[i * k + j] = -r(j, i) * r(i, j);
        }
    }
    let mut p = vec![1.0 / k as f64; k];
    for _ in 0..100.max(k) {
        let qp: Vec<f64> = (0..k).map(|i| (0..k).map(|j| q[i * k + j] * p[j]).sum()).collect();
        let total: f64 = p.iter().zip(&qp).map(|(p, qp)| p * qp).sum();
        if qp.iter().all(|qp| (qp - total).abs() < 0.005 / k as f64) {
            break;
        }
        let (mut qp, mut total) = (qp, total);
        for i in 0..k {
            let change = (total - qp[i]) / q[i * k + i];
            p[i] += change;
            total = (total + change * (change * q[i * k + i] + 2.0 * qp[i])) / (1.0 + change) / (1.0 + change);
            for j in 0..k {
                qp[j] = (qp[j] + change * q[i * k + j]) / (1.0 + change);
                p[j] /= 1.0 + change;
            }
        }
    }
    let sum: f64 = p.iter().sum();
    out.iter_mut().zip(p).for_each(|(out, p)| *out = T::of(p / sum));
}
