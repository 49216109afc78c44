//! Einstein summation: products of tensors whose axes carry names; axes missing from the result are summed over.
//!
//! In `ij,jk->ik` the shared index j is summed: the matrix product. A repeated index within an operand takes its
//! diagonal, `...` stands for further axes that broadcast, and without `->` the result has the indices that occur once, in
//! alphabetical order, after those of the ellipsis. Each step is a permutation, a batched matrix product or a sum, which
//! give the derivatives. Several operands are contracted two at a time, the cheapest pair first.

mod contract;
mod parse;

use contract::{Named, contract, diagonals, sum_over};
use parse::{Label, parse};

use crate::ops::shape;
use crate::{Result, Shape, Tensor};

/// The sum of products described by `equation`.
pub(crate) fn einsum(equation: &str, operands: &[&Tensor]) -> Result<Tensor> {
    let parsed = parse(equation, operands)?;
    let mut terms = Vec::with_capacity(operands.len());
    for (operand, labels) in operands.iter().zip(&parsed.inputs) {
        let term = Named { tensor: (*operand).clone(), labels: labels.clone() };
        terms.push(without_stretched(diagonals(term)?, &parsed)?);
    }
    for index in 0..terms.len() {
        let own = needed(&terms, &parsed.output, &[index]);
        terms[index] = sum_over(&terms[index], |label| !own.contains(&label))?;
    }
    while terms.len() > 1 {
        let (i, j) = cheapest_pair(&terms, &parsed);
        let kept = needed(&terms, &parsed.output, &[i, j]);
        let right = terms.remove(j);
        let left = terms.remove(i);
        terms.push(contract(&left, &right, |label| kept.contains(&label))?);
    }
    let Some(result) = terms.pop() else {
        return Ok(Tensor::scalar(1.0));
    };
    arrange(&result, &parsed)
}

/// Labels that the result or the terms other than those at `positions` still need.
fn needed(terms: &[Named], output: &[Label], positions: &[usize]) -> Vec<Label> {
    let others = terms.iter().enumerate().filter(|(index, _)| !positions.contains(index));
    output.iter().copied().chain(others.flat_map(|(_, term)| term.labels.iter().copied())).collect()
}

/// Axes of size 1 that another operand stretches are dropped.
fn without_stretched(term: Named, parsed: &parse::Equation) -> Result<Named> {
    let stays = |(&label, &size): (&Label, &usize)| size == parsed.size(label);
    let pairs: Vec<(Label, usize)> = term
        .labels
        .iter()
        .zip(term.tensor.dims())
        .filter(|&pair| stays(pair))
        .map(|(&label, &size)| (label, size))
        .collect();
    let tensor = shape::reshape(&term.tensor, pairs.iter().map(|pair| pair.1).collect())?;
    Ok(Named { tensor, labels: pairs.into_iter().map(|pair| pair.0).collect() })
}

/// The pair whose contraction costs the fewest multiplications; the smaller result, then the earlier pair, among equals.
fn cheapest_pair(terms: &[Named], parsed: &parse::Equation) -> (usize, usize) {
    let mut best = (f64::INFINITY, f64::INFINITY, 0, 1);
    for i in 0..terms.len() {
        for j in i + 1..terms.len() {
            let later = needed(terms, &parsed.output, &[i, j]);
            let mut union = terms[i].labels.clone();
            union.extend(terms[j].labels.iter().filter(|label| !terms[i].labels.contains(label)));
            let size = |labels: &mut dyn Iterator<Item = &Label>| labels.map(|&l| parsed.size(l) as f64).product();
            let cost: f64 = size(&mut union.iter());
            let result: f64 = size(&mut union.iter().filter(|label| later.contains(label)));
            if (cost, result) < (best.0, best.1) {
                best = (cost, result, i, j);
            }
        }
    }
    (best.2, best.3)
}

/// The axes in the order of the result.
fn arrange(term: &Named, parsed: &parse::Equation) -> Result<Tensor> {
    let order: Vec<usize> =
        parsed.output.iter().filter_map(|label| term.labels.iter().position(|own| own == label)).collect();
    let tensor = shape::permute(&term.tensor, &order)?;
    // A single operand may come back as it was; the result is then that tensor itself, which is never written to.
    let shape: Shape = parsed.output.iter().map(|&label| parsed.size(label)).collect();
    if tensor.shape() == &shape { Ok(tensor) } else { shape::broadcast_to(&tensor, shape) }
}
