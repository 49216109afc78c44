//! The steps of an evaluation: diagonals, sums, and products of two terms.

use super::parse::Label;
use crate::ops::composed::product::diagonal;
use crate::ops::matmul::matmul;
use crate::ops::{binary, reduce, shape};
use crate::{Result, Shape, Tensor};

/// A tensor whose axes carry labels.
pub(super) struct Named {
    pub(super) tensor: Tensor,
    pub(super) labels: Vec<Label>,
}

/// Takes the diagonal of axes with one label until all labels differ.
pub(super) fn diagonals(mut term: Named) -> Result<Named> {
    let twice = |labels: &[Label]| {
        let pairs = (0..labels.len()).flat_map(|i| (i + 1..labels.len()).map(move |j| (i, j)));
        pairs.into_iter().find(|&(i, j)| labels[i] == labels[j])
    };
    while let Some((i, j)) = twice(&term.labels) {
        let mut order: Vec<usize> = (0..term.labels.len()).filter(|&axis| axis != i && axis != j).collect();
        let mut labels: Vec<Label> = order.iter().map(|&axis| term.labels[axis]).collect();
        labels.push(term.labels[i]);
        order.extend([i, j]);
        term = Named { tensor: diagonal("einsum", &shape::permute(&term.tensor, &order)?)?, labels };
    }
    Ok(term)
}

/// Sums over the labels that `drop` names.
pub(super) fn sum_over(term: &Named, drop: impl Fn(Label) -> bool) -> Result<Named> {
    let axes: Vec<isize> = (0..term.labels.len()).filter(|&i| drop(term.labels[i])).map(|i| i as isize).collect();
    let labels = term.labels.iter().copied().filter(|&label| !drop(label)).collect();
    let tensor = if axes.is_empty() { term.tensor.clone() } else { reduce::sum(&term.tensor, &axes, false)? };
    Ok(Named { tensor, labels })
}

/// The product of two terms, summed over the labels that both have and nobody else needs.
pub(super) fn contract(a: &Named, b: &Named, needed: impl Fn(Label) -> bool) -> Result<Named> {
    let in_both = |label: &Label| a.labels.contains(label) && b.labels.contains(label);
    let pick = |from: &Named, choose: &dyn Fn(&Label) -> bool| -> Vec<Label> {
        from.labels.iter().copied().filter(choose).collect()
    };
    let batch = pick(a, &|label| in_both(label) && needed(*label));
    let summed = pick(a, &|label| in_both(label) && !needed(*label));
    let (rows, columns) = (pick(a, &|label| !in_both(label)), pick(b, &|label| !in_both(label)));
    let labels: Vec<Label> = batch.iter().chain(&rows).chain(&columns).copied().collect();

    let left = ordered(a, &[&batch, &rows, &summed])?;
    let right = ordered(b, &[&batch, &summed, &columns])?;
    let size =
        |tensor: &Tensor, from: usize, count: usize| -> Vec<usize> { tensor.dims()[from..from + count].to_vec() };
    let outer = size(&left, 0, batch.len());
    let of_rows = size(&left, batch.len(), rows.len());
    let of_sums = size(&left, batch.len() + rows.len(), summed.len());
    let of_columns = size(&right, batch.len() + summed.len(), columns.len());
    let (m, k, n) = (product(&of_rows), product(&of_sums), product(&of_columns));

    let matrices = |tensor: &Tensor, rows: usize, columns: usize| {
        let shape =
            if outer.is_empty() { Shape::from([rows, columns]) } else { Shape::from([product(&outer), rows, columns]) };
        shape::reshape(tensor, shape)
    };
    let tensor = if summed.is_empty() {
        binary::mul(&matrices(&left, m, 1)?, &matrices(&right, 1, n)?)?
    } else if a.tensor.dtype().is_float() {
        matmul(&matrices(&left, m, k)?, &matrices(&right, k, n)?)?
    } else {
        // Whole numbers have no matrix product; (…, m, 1, k) times (…, n, k) is summed over the last axis.
        let left = shape::unsqueeze(&matrices(&left, m, k)?, -2)?;
        let right = shape::unsqueeze(&shape::transpose(&matrices(&right, k, n)?)?, -3)?;
        reduce::sum(&binary::mul(&left, &right)?, &[-1], false)?
    };
    let shape = outer.iter().chain(&of_rows).chain(&of_columns).copied().collect();
    Ok(Named { tensor: shape::reshape(&tensor, shape)?, labels })
}

fn product(sizes: &[usize]) -> usize {
    sizes.iter().product()
}

/// The axes in the order of these groups of labels.
fn ordered(term: &Named, groups: &[&Vec<Label>; 3]) -> Result<Tensor> {
    let order: Vec<usize> = groups
        .iter()
        .flat_map(|group| group.iter())
        .filter_map(|label| term.labels.iter().position(|own| own == label))
        .collect();
    shape::permute(&term.tensor, &order)
}
