//! Reading and writing at positions, and rearrangement.

use super::{Apply, Sample, sample, values};
use crate::Tensor;

fn of(name: &'static str, apply: Apply) -> Sample {
    sample(name, "", vec![values([3, 4], 51)], apply)
}

fn two(name: &'static str, right: &[usize], apply: Apply) -> Sample {
    sample(name, "", vec![values([3, 4], 52), values(right, 53)], apply)
}

fn places() -> Tensor {
    Tensor::from([2i64, 0, 2])
}

fn grid() -> Tensor {
    Tensor::from([[1i64, 0], [3, 3], [2, 1]])
}

fn mask() -> Tensor {
    Tensor::from([[true, false, true, false], [false; 4], [true, true, false, true]])
}

fn rearranged() -> Vec<Sample> {
    vec![
        of("flip", |x| x[0].flip(&[0, 1])).empty([&[0, 4]]),
        of("roll", |x| x[0].roll(1, -1)).empty([&[0, 4]]),
        of("pad", |x| x[0].pad(&[(1, 0), (2, 1)], 0.5)).empty([&[0, 4]]),
        of("tile", |x| x[0].tile(&[2, 1, 2])).empty([&[0, 4]]),
        of("repeat_interleave", |x| x[0].repeat_interleave(2, 1)).empty([&[0, 4]]),
        of("split", |x| x[0].split(&[1, 3], 1).swap_remove(1)).empty([&[0, 4]]),
        of("chunk", |x| x[0].chunk(2, 1).swap_remove(0)).empty([&[0, 4]]),
        of("tril", |x| x[0].tril(0)).empty([&[0, 4]]),
        of("triu", |x| x[0].triu(1)).empty([&[0, 4]]),
        of("diag", |x| x[0].diag(1)),
        sample("diag", "of a vector", vec![values(3, 54)], |x| x[0].diag(-1)),
        of("diagonal", |x| x[0].diagonal(0)),
        of("diag_embed", |x| x[0].diag_embed(1)).empty([&[0, 4]]),
        of("move_axis", |x| x[0].move_axis(0, -1)).empty([&[0, 4]]),
        sample("expand_as", "", vec![values([1, 4], 55), values([3, 4], 56)], |x| x[0].expand_as(&x[1])),
        sample("meshgrid", "", vec![values(2, 57), values(3, 58)], |x| {
            Tensor::meshgrid(&[&x[0], &x[1]]).swap_remove(1)
        }),
        two("broadcast_all", &[4], |x| {
            let all = Tensor::broadcast_all(&[&x[0], &x[1]]);
            &all[0] * &all[1]
        }),
    ]
}

pub(super) fn samples() -> Vec<Sample> {
    let mut list = rearranged();
    list.extend([
        of("index", |x| x[0].index((1, 1..3))),
        sample("index", "a tensor of positions", vec![values([3, 4], 59)], |x| x[0].index(places())),
        two("index_set", &[2], |x| x[0].index_set((1, 1..3), &x[1])),
        two("index_accumulate", &[4], |x| x[0].index_accumulate(places(), &x[1])),
        of("gather", |x| x[0].gather(1, &grid())),
        of("take_along_axis", |x| x[0].take_along_axis(1, &grid())),
        two("scatter_add", &[3, 2], |x| x[0].scatter_add(1, &grid(), &x[1])),
        two("scatter", &[3, 2], |x| x[0].scatter(1, &grid(), &x[1])),
        two("scatter", &[1, 2], |x| x[0].scatter(1, &grid(), &x[1])),
        of("index_fill", |x| x[0].index_fill(0, &places(), 0.5)),
        of("index_select", |x| x[0].index_select(0, &places())),
        two("index_add", &[3, 4], |x| x[0].index_add(0, &places(), &x[1])),
        of("embedding", |x| x[0].embedding(&places())),
        of("sort", |x| x[0].sort(1, false).0).empty([&[0, 4]]),
        of("topk", |x| x[0].topk(2, 1, true).0).empty([&[0, 4]]),
        of("kthvalue", |x| x[0].kthvalue(2, 1, false).0).empty([&[0, 4]]),
        of("mode", |x| x[0].mode(1, true).0).empty([&[0, 4]]),
        of("unique_axis", |x| x[0].unique_axis(1).values).empty([&[0, 4]]),
        of("unique", |x| x[0].unique().values).empty([&[0, 4]]),
        of("masked_fill", |x| x[0].masked_fill(&mask(), 0.5)),
        two("masked_scatter", &[2, 4], |x| x[0].masked_scatter(&mask(), &x[1])),
        of("masked_select", |x| x[0].masked_select(&mask())),
    ]);
    list
}
