//! Reductions; elements are distinct, so that extremes are unique.

use super::{Apply, Sample, sample, values};
use crate::{Reduction, Tensor};

fn of(name: &'static str, case: &'static str, apply: Apply) -> Sample {
    sample(name, case, vec![values([2, 3, 2], 11)], apply)
}

fn two(name: &'static str, left: &[usize], right: &[usize], apply: Apply) -> Sample {
    sample(name, "", vec![values(left, 12), values(right, 13)], apply)
}

pub(super) fn samples() -> Vec<Sample> {
    vec![
        of("sum", "", |x| x[0].sum()).empty([&[0, 3]]),
        of("sum_axes", "middle", |x| x[0].sum_axes(&[1], false)).empty([&[2, 0, 2]]),
        of("sum_axes", "two, kept", |x| x[0].sum_axes(&[0, -1], true)).empty([&[0, 3, 2]]),
        of("mean", "", |x| x[0].mean()).empty([&[0, 3]]),
        of("mean_axes", "", |x| x[0].mean_axes(&[-1], true)).empty([&[0, 3, 2]]),
        of("max", "", |x| x[0].max()),
        of("max_axes", "", |x| x[0].max_axes(&[1], false)).empty([&[0, 3, 2]]),
        of("max_axes", "two, kept", |x| x[0].max_axes(&[0, 2], true)),
        of("min", "", |x| x[0].min()),
        of("min_axes", "", |x| x[0].min_axes(&[1], true)).empty([&[0, 3, 2]]),
        of("prod", "", |x| x[0].prod()).empty([&[0]]),
        of("prod_axes", "", |x| x[0].prod_axes(&[1], false)).empty([&[2, 0, 2]]),
        sample("prod", "a zero among the factors", vec![Tensor::from([2.0, 0.0, -1.5])], |x| x[0].prod()),
        of("var", "", |x| x[0].var(1)),
        of("var_axes", "", |x| x[0].var_axes(&[1], 0, true)).empty([&[0, 3, 2]]),
        of("std", "", |x| x[0].std(1)),
        of("std_axes", "", |x| x[0].std_axes(&[1], 0, false)).empty([&[0, 3, 2]]),
        of("logsumexp", "", |x| x[0].logsumexp(&[1], false)).empty([&[0, 3, 2]]),
        of("nansum", "", |x| x[0].nansum()).empty([&[0, 3]]),
        of("nansum_axes", "", |x| x[0].nansum_axes(&[1], false)).empty([&[2, 0, 2]]),
        of("nanmean", "", |x| x[0].nanmean()),
        of("nanmean_axes", "", |x| x[0].nanmean_axes(&[0, -1], true)).empty([&[2, 0, 2]]),
        of("norm", "2", |x| x[0].norm(2.0)).empty([&[0]]),
        of("norm", "3", |x| x[0].norm(3.0)),
        of("norm", "1", |x| x[0].norm(1.0)),
        of("norm_axes", "", |x| x[0].norm_axes(2.0, &[1], true)).empty([&[0, 3, 2]]),
        of("cumsum", "", |x| x[0].cumsum(1)).empty([&[2, 0, 2]]),
        of("cumprod", "", |x| x[0].cumprod(1)).empty([&[2, 0, 2]]),
        of("cummax", "", |x| x[0].cummax(1).0).empty([&[2, 0, 2]]),
        of("cummin", "", |x| x[0].cummin(0).0).empty([&[2, 0, 2]]),
        of("logcumsumexp", "", |x| x[0].logcumsumexp(1)).empty([&[2, 0, 2]]),
        of("quantile", "", |x| x[0].quantile(0.3)),
        of("quantile_axis", "", |x| x[0].quantile_axis(0.7, 1, false)).empty([&[0, 3, 2]]),
        of("median", "", |x| x[0].median()),
        of("median_axis", "", |x| x[0].median_axis(1, true)).empty([&[0, 3, 2]]),
        of("trace", "", |x| x[0].narrow(1, 0, 2).trace()),
        of("diff", "", |x| x[0].diff(1)).empty([&[2, 0, 2]]),
        of("cov", "", |x| x[0].cov(1)).empty([&[0, 2, 3]]),
        of("cov", "one row", |x| x[0].narrow(1, 0, 1).cov(1)),
        two("dot", &[3], &[3], |x| x[0].dot(&x[1])).empty([&[0], &[0]]),
        two("outer", &[3], &[2], |x| x[0].outer(&x[1])).empty([&[0], &[2]]),
        two("inner", &[2, 3], &[4, 3], |x| x[0].inner(&x[1])).empty([&[0, 3], &[4, 3]]),
        two("cosine_similarity", &[2, 3], &[2, 3], |x| x[0].cosine_similarity(&x[1], 1)).empty([&[0, 3], &[0, 3]]),
        two("tensordot", &[2, 3, 4], &[4, 2, 3], |x| x[0].tensordot(&x[1], &[0, -1], &[1, 0]))
            .empty([&[2, 0, 4], &[4, 2, 3]]),
        two("tensordot", &[2, 3], &[4], |x| x[0].tensordot(&x[1], &[], &[])),
        two("cross", &[2, 3], &[3], |x| x[0].cross(&x[1], -1)).empty([&[0, 3], &[3]]),
        two("cross", &[3, 2], &[3, 1], |x| x[0].cross(&x[1], 0)),
        two("cdist", &[3, 2], &[4, 2], |x| x[0].cdist(&x[1], 2.0)).empty([&[0, 2], &[4, 2]]),
        two("cdist", &[2, 1, 3], &[2, 3], |x| x[0].cdist(&x[1], 1.0)),
        two("cdist", &[2, 3], &[3, 3], |x| x[0].cdist(&x[1], 3.0)),
        two("kron", &[2, 2], &[1, 3], |x| x[0].kron(&x[1])),
        two("residual", &[2, 3], &[2, 3], |x| x[0].residual(&x[1])).empty([&[0], &[0]]),
        two("mse_loss", &[2, 3], &[2, 3], |x| x[0].mse_loss(&x[1], Reduction::Mean)),
        two("mse_loss", &[2, 3], &[2, 3], |x| x[0].mse_loss(&x[1], Reduction::None)).empty([&[0], &[0]]),
        two("binary_cross_entropy", &[2, 3], &[2, 3], |x| {
            x[0].sigmoid().binary_cross_entropy(&x[1].sigmoid(), Reduction::Mean)
        }),
        two("binary_cross_entropy", &[2, 3], &[2, 3], |x| x[0].sigmoid().binary_cross_entropy(&x[1], Reduction::None))
            .empty([&[0], &[0]]),
        two("binary_cross_entropy_with_logits", &[2, 3], &[2, 3], |x| {
            x[0].binary_cross_entropy_with_logits(&x[1], None, Reduction::Mean)
        }),
        two("binary_cross_entropy_with_logits", &[2, 3], &[2, 3], |x| {
            x[0].binary_cross_entropy_with_logits(&x[1], None, Reduction::None)
        })
        .empty([&[0], &[0]]),
        sample(
            "binary_cross_entropy_with_logits",
            "weighted",
            vec![values([2, 3], 14), values([2, 3], 15), values(3, 16)],
            |x| x[0].binary_cross_entropy_with_logits(&x[1], Some(&x[2]), Reduction::Sum),
        ),
        two("einsum", &[2, 3], &[3, 2], |x| Tensor::einsum("ij,jk->ik", &[&x[0], &x[1]])),
        two("einsum", &[2, 3], &[4, 3], |x| Tensor::einsum("bi,ci->b", &[&x[0], &x[1]])),
    ]
}
