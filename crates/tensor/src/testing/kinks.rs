//! Points where a function has a kink or a tie, with the slope that its documentation promises there.

use super::Apply;
use crate::{Activation, ConvOptions, PoolOptions, Tensor};

/// A kink: there, differences say nothing, and the documented rule is checked instead.
#[derive(Clone)]
pub struct Kink {
    /// The method's name.
    pub name: &'static str,
    /// Inputs at the kink.
    pub inputs: Vec<Tensor>,
    /// The operation.
    pub apply: Apply,
    /// The gradient of the sum of the result by each input.
    pub gradients: Vec<Vec<f64>>,
}

fn kink(name: &'static str, inputs: &[&[f64]], apply: Apply, gradients: &[&[f64]]) -> Kink {
    let inputs = inputs.iter().map(|&x| Tensor::from_slice(x)).collect();
    Kink { name, inputs, apply, gradients: gradients.iter().map(|g| g.to_vec()).collect() }
}

/// All kinks and ties.
pub fn kinks() -> Vec<Kink> {
    let around: &[f64] = &[-1.0, 0.0, 1.0];
    vec![
        kink("relu", &[around], |x| x[0].relu(), &[&[0.0, 0.0, 1.0]]),
        kink("abs", &[around], |x| x[0].abs(), &[&[-1.0, 0.0, 1.0]]),
        kink("sign", &[around], |x| x[0].sign(), &[&[0.0, 0.0, 0.0]]),
        kink("leaky_relu", &[around], |x| x[0].leaky_relu(0.25), &[&[0.25, 0.25, 1.0]]),
        kink("elu", &[&[0.0, 1.0]], |x| x[0].elu(0.5), &[&[0.5, 1.0]]),
        kink("clamp", &[&[-2.0, -1.0, 0.0, 1.0, 2.0]], |x| x[0].clamp(-1.0, 1.0), &[&[0.0, 0.5, 1.0, 0.5, 0.0]]),
        kink("maximum", &[around, &[0.0, 0.0, 0.0]], |x| x[0].maximum(&x[1]), &[&[0.0, 0.5, 1.0], &[1.0, 0.5, 0.0]]),
        kink("minimum", &[around, &[0.0, 0.0, 0.0]], |x| x[0].minimum(&x[1]), &[&[1.0, 0.5, 0.0], &[0.0, 0.5, 1.0]]),
        kink("max", &[&[3.0, 1.0, 3.0, 3.0, 3.0]], |x| x[0].max(), &[&[0.25, 0.0, 0.25, 0.25, 0.25]]),
        kink("min", &[&[1.0, 3.0, 1.0]], |x| x[0].min(), &[&[0.5, 0.0, 0.5]]),
        kink(
            "max_axes",
            &[&[2.0, 2.0, 1.0, 5.0]],
            |x| x[0].reshape([2, 2]).max_axes(&[1], false),
            &[&[0.5, 0.5, 0.0, 1.0]],
        ),
        kink(
            "min_axes",
            &[&[2.0, 2.0, 1.0, 5.0]],
            |x| x[0].reshape([2, 2]).min_axes(&[1], true),
            &[&[0.5, 0.5, 1.0, 0.0]],
        ),
        kink(
            "logaddexp",
            &[&[f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY], &[f64::INFINITY, f64::NEG_INFINITY, 1.0]],
            |x| x[0].logaddexp(&x[1]),
            &[&[0.5, 0.5, 0.0], &[0.5, 0.5, 1.0]],
        ),
        kink(
            "nan_to_num",
            &[&[f64::NAN, f64::INFINITY, 2.0]],
            |x| x[0].nan_to_num(0.0, 1.0, -1.0),
            &[&[0.0, 0.0, 1.0]],
        ),
        kink("norm", &[&[0.0, 0.0]], |x| x[0].norm(2.0), &[&[0.0, 0.0]]),
        kink("std", &[&[3.0, 3.0, 3.0]], |x| x[0].std(1), &[&[0.0, 0.0, 0.0]]),
        // The first of equal elements comes first, whichever way is sorted.
        kink(
            "sort",
            &[&[2.0, 1.0, 2.0]],
            |x| x[0].sort(0, false).0 * Tensor::from([1.0, 2.0, 3.0]),
            &[&[2.0, 1.0, 3.0]],
        ),
        kink("topk", &[&[2.0, 1.0, 2.0, 2.0]], |x| x[0].topk(2, 0, true).0, &[&[1.0, 0.0, 1.0, 0.0]]),
        kink(
            "unique",
            &[&[2.0, 1.0, 2.0]],
            |x| x[0].unique().values * Tensor::from([10.0, 20.0]),
            &[&[20.0, 10.0, 0.0]],
        ),
        kink(
            "unique_axis",
            &[&[2.0, 1.0, 2.0]],
            |x| x[0].unique_axis(0).values * Tensor::from([10.0, 20.0]),
            &[&[20.0, 10.0, 0.0]],
        ),
        // The latest of equal elements is the one named.
        kink("cummax", &[&[2.0, 1.0, 2.0]], |x| x[0].cummax(0).0, &[&[2.0, 0.0, 1.0]]),
        kink("cummin", &[&[1.0, 2.0, 1.0]], |x| x[0].cummin(0).0, &[&[2.0, 0.0, 1.0]]),
        kink("mode", &[&[2.0, 1.0, 2.0]], |x| x[0].mode(0, false).0, &[&[0.0, 0.0, 1.0]]),
        kink("kthvalue", &[&[2.0, 1.0, 2.0, 2.0]], |x| x[0].kthvalue(3, 0, false).0, &[&[0.0, 0.0, 1.0, 0.0]]),
        kink("hypot", &[&[0.0, -4.0], &[0.0, 0.0]], |x| x[0].hypot(&x[1]), &[&[0.0, -1.0], &[0.0, 0.0]]),
        kink(
            "cdist",
            &[&[1.0, 2.0], &[1.0, 2.0]],
            |x| x[0].reshape([1, 2]).cdist(&x[1].reshape([1, 2]), 2.0),
            &[&[0.0, 0.0], &[0.0, 0.0]],
        ),
        kink("nansum", &[&[1.0, f64::NAN, 3.0]], |x| x[0].nansum(), &[&[1.0, 0.0, 1.0]]),
        kink("nanmean", &[&[1.0, f64::NAN, 3.0]], |x| x[0].nanmean(), &[&[0.5, 0.0, 0.5]]),
        // Of several elements written to one place only the last takes part.
        kink(
            "scatter",
            &[&[1.0, 2.0], &[3.0, 4.0]],
            |x| x[0].scatter(0, &Tensor::from([1i64, 1]), &x[1]),
            &[&[1.0, 0.0], &[0.0, 1.0]],
        ),
        kink("median", &[&[2.0, 1.0, 2.0, 3.0, 2.0]], |x| x[0].median(), &[&[0.0, 0.0, 1.0, 0.0, 0.0]]),
        // The first maximum of a window takes all.
        kink(
            "max_pool2d",
            &[&[1.0, 4.0, 4.0, 4.0]],
            |x| x[0].reshape([1, 1, 2, 2]).max_pool2d(&PoolOptions::new(2)),
            &[&[0.0, 1.0, 0.0, 0.0]],
        ),
        // A rectifier inside another operation has slope 0 at 0 like the one outside.
        kink(
            "linear",
            &[&[1.0, -1.0]],
            |x| {
                let w = Tensor::from([[1.0, 1.0], [2.0, 1.0]]);
                x[0].reshape([1, 2]).linear(&w, None, Activation::Relu)
            },
            &[&[2.0, 1.0]],
        ),
        kink(
            "conv2d",
            &[&[0.0, 3.0]],
            |x| {
                let w = Tensor::from([1.0]).reshape([1, 1, 1, 1]);
                x[0].reshape([1, 1, 1, 2]).conv2d(&w, None, &ConvOptions::new().activation(Activation::Relu))
            },
            &[&[0.0, 1.0]],
        ),
    ]
}
