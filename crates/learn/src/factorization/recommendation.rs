//! The best items of each user.

use tove_tensor::{Tensor, TryOps};

use super::observed::Observed;
use crate::{Model, Result, Rows, Transform};

/// Users whose scores of all items are in memory at once.
const BLOCK: usize = 256;

/// A recommended item.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recommended {
    /// The column of the item.
    pub item: usize,
    /// The predicted rating, or the score.
    pub score: f64,
}

/// The `k` items with the best scores for every row of `x`, the best first, items with equal scores in the order of their columns.
/// `exclude_known` leaves out the items that a row has an entry for: every stored entry of ratings, for 0 is a rating too, and every entry
/// of counts that is not zero, for a count of 0 says nothing (the capability `zeros_missing`). Rows need not be from the training data.
///
/// # Errors
/// If the model cannot be inverted (it is not a factorization), or the rows do not fit it.
pub fn recommend(
    model: &dyn Model,
    x: impl Into<Rows>,
    k: usize,
    exclude_known: bool,
) -> Result<Vec<Vec<Recommended>>> {
    let x = x.into();
    let zeros_known = !model.capabilities().zeros_missing;
    let (known, users) = (Observed::of(model.name(), &x)?, model.transform(&x)?);
    let mut lists = Vec::with_capacity(known.len());
    for start in (0..known.len()).step_by(BLOCK) {
        let count = BLOCK.min(known.len() - start);
        let scores: Tensor = model.inverse_transform(&users.try_narrow(0, start, count)?)?;
        let scores = scores.to_f64_vec();
        for (row, scores) in scores.chunks_exact(known.width().max(1)).enumerate() {
            let (columns, values) = known.row(start + row);
            let is_known =
                |item: &usize| columns.binary_search(&(*item as u32)).is_ok_and(|at| zeros_known || values[at] != 0.0);
            let mut order: Vec<usize> = (0..scores.len()).filter(|item| !exclude_known || !is_known(item)).collect();
            let better = |a: &usize, b: &usize| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b));
            if k < order.len() {
                if k > 0 {
                    order.select_nth_unstable_by(k - 1, better);
                }
                order.truncate(k);
            }
            order.sort_unstable_by(better);
            lists.push(order.into_iter().map(|item| Recommended { item, score: scores[item] }).collect());
        }
    }
    Ok(lists)
}
