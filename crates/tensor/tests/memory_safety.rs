//! Ways in which safe code once led kernels outside their memory, or ended the process.
#![allow(clippy::unwrap_used)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use tove_tensor::{
    ConvOptions, CustomOp, DType, Error, Interpolation, PoolOptions, Tensor, Trace, TryConv, TryIndex, TryNorm, TryOps,
    checkpoint, grad_of, vmap,
};

const HUGE: usize = 1 << 40;

fn row(shape: [usize; 3]) -> Tensor {
    let count: usize = shape.iter().product();
    Tensor::from_vec((0..count).map(|i| i as f64 * 0.5 - 1.0).collect::<Vec<_>>(), shape)
}

#[test]
fn values_cannot_be_overwritten_inside_vmap() {
    let x = Tensor::ones([64, 3], DType::F64);
    let sums = vmap(|x: &Tensor| {
        let mut y = x.clone();
        let refused = y.update(|t| {
            t.as_mut_slice::<f64>()?[0] = 5.0;
            Ok(())
        });
        assert!(matches!(refused, Err(Error::Derivative { op: "update", .. })), "{refused:?}");
        // The tensor is as it was.
        y.sum()
    })(&x);
    assert_eq!(sums.to_vec::<f64>(), [3.0; 64]);
    // Outside, and on a leaf, nothing has changed.
    let mut w = Tensor::from([1.0, 2.0]).requires_grad();
    w.update(|t| {
        t.as_mut_slice::<f64>()?[0] = 5.0;
        Ok(())
    })
    .unwrap();
    assert!(w.is_leaf());
    assert_eq!(w.to_vec::<f64>(), [5.0, 2.0]);
}

#[test]
fn values_of_a_batch_cannot_replace_plain_ones() {
    let x = Tensor::ones([64, 3], DType::F64);
    let sums = vmap(|row: &Tensor| {
        let mut plain = Tensor::from([1.0, 2.0, 3.0]);
        let refused = plain.update(|t| {
            *t = row.clone();
            Ok(())
        });
        assert!(matches!(refused, Err(Error::Derivative { op: "update", .. })), "{refused:?}");
        // What was put there keeps its own mark.
        plain.sum()
    })(&(&x * 2.0));
    assert_eq!(sums.to_vec::<f64>(), [6.0; 64]);
}

#[test]
fn an_update_that_fails_does_not_mark_another_shape() {
    let fails = || Err(Error::parameter("test", "update", "fails"));
    let mut w = Tensor::from([1.0, 2.0, 3.0]).requires_grad();
    let refused = w.update(|t| {
        *t = Tensor::from([1.0]);
        fails()
    });
    assert!(refused.is_err() && !w.is_tracked() && w.dims() == [1]);
    let mut w = Tensor::from([1.0, 2.0, 3.0]).requires_grad();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        w.update(|t| {
            *t = Tensor::from([1.0f32]);
            panic!("on purpose")
        })
    }));
    assert!(panicked.is_err() && !w.is_tracked());
    // A failure that leaves shape and type alone leaves the leaf a leaf.
    let mut w = Tensor::from([1.0, 2.0, 3.0]).requires_grad();
    assert!(w.update(|_| fails()).is_err() && w.is_leaf());
}

/// A function that returns its argument, then from the second call on something else.
fn turning(other: Tensor) -> impl Fn(&[Tensor]) -> Tensor + Send + Sync + 'static {
    let calls = AtomicUsize::new(0);
    move |x| if calls.fetch_add(1, Ordering::Relaxed) == 0 { x[0].clone() } else { other.clone() }
}

#[test]
fn a_replay_refuses_results_of_another_shape_or_type() {
    let x = row([2, 3, 512]);
    let weight = Tensor::ones([512], DType::F64);
    type Step<'a> = (&'static str, &'a dyn Fn(&Tensor) -> Tensor);
    let follow: [Step<'_>; 4] = [
        ("layer_norm", &|y| y.layer_norm(&[512], Some(&weight), None, 1e-5)),
        ("attention", &|y| row([2, 3, 512]).scaled_dot_product_attention(y, &row([2, 3, 512]), false, None, None)),
        ("packed_attention", &|y| y.try_packed_attention(2, true, None, None).unwrap_or_else(|_| y.clone())),
        ("batch_norm", &|y| y.batch_norm(None, None, 1e-5).0),
    ];
    for other in [row([2, 3, 513]), row([2, 3, 1]), row([1, 1, 1]).reshape(()), x.to_dtype(DType::F32)] {
        for (name, follow) in follow {
            let op = CustomOp::new("turning", turning(other.clone())).with_backward(|_, _, g| vec![g.clone()]);
            let trace = Trace::of(|x| follow(&op.apply(&[&x[0]])), std::slice::from_ref(&x));
            let error = trace.replay(std::slice::from_ref(&x)).unwrap_err().to_string();
            assert!(error.starts_with("turning: "), "{name}: {error}");
            let function = std::sync::Arc::new(turning(other.clone()));
            let again = move |x: &[Tensor]| function(x);
            let trace = Trace::of(|x| follow(&checkpoint(again.clone(), &[&x[0]])), std::slice::from_ref(&x));
            let error = trace.replay(std::slice::from_ref(&x)).unwrap_err().to_string();
            assert!(error.starts_with("checkpoint: "), "{name}: {error}");
        }
    }
}

#[test]
fn products_of_stretched_views_get_their_scratch_memory_or_an_error() {
    // No stride is 1, so that the vector is copied before it is multiplied.
    let one = Tensor::scalar(1.5);
    let (wide, tall) = (one.broadcast_to([1, HUGE]), one.broadcast_to([HUGE, 1]));
    let error = wide.try_matmul(&tall).unwrap_err();
    assert!(error.is_data() && error.to_string().starts_with("matmul: "), "{error}");
    let error = wide.try_linear(&wide, None, tove_tensor::Activation::Identity).unwrap_err();
    assert!(error.is_data() && error.to_string().starts_with("linear: "), "{error}");
    let batch = one.broadcast_to([3, 1, HUGE]);
    assert!(batch.try_matmul(&tall).is_err_and(|error| error.is_data()));
    assert!(batch.try_scaled_dot_product_attention(&batch, &row([3, 1, 2]), false, None, None).is_err());
    // The slot is usable afterwards, and what fits is computed.
    let (wide, tall) = (one.broadcast_to([1, 1000]), one.broadcast_to([1000, 1]));
    assert_eq!(wide.matmul(&tall).item::<f64>(), 2250.0);
}

#[test]
fn an_empty_batch_can_be_mapped() {
    let x = Tensor::zeros([0, 3], DType::F64);
    let y = vmap(|x: &Tensor| x.exp() * 2.0)(&x);
    assert_eq!(y.shape(), &[0, 3]);
    let y = vmap(|x: &Tensor| x.flip(&[0]).slice(0, 0, 3, 2))(&x);
    assert_eq!(y.shape(), &[0, 2]);
}

#[test]
fn strides_and_paddings_beyond_all_proportion() {
    let one = Tensor::from_vec(vec![3.0f32], [1, 1, 1, 1]);
    let two = Tensor::from_vec(vec![2.0f32], [1, 1, 1, 1]);
    // Windows that all lie far outside the image.
    let y = one.try_conv2d(&two, None, &ConvOptions::new().stride(1 << 31).padding(1 << 30)).unwrap();
    assert_eq!((y.dims(), y.to_vec::<f32>()), (&[1, 1, 2, 2][..], vec![0.0; 4]));
    // Three windows, of which the middle one meets the pixel.
    let bias = Tensor::from([0.5f32]);
    for bias in [None, Some(&bias)] {
        let shift = if bias.is_some() { 0.5 } else { 0.0 };
        let (x, w) = (one.requires_grad(), two.requires_grad());
        let y = x.try_conv2d(&w, bias, &ConvOptions::new().stride(1 << 30).padding(1 << 30)).unwrap();
        assert_eq!(y.shape(), &[1, 1, 3, 3]);
        let mut expected = vec![shift; 9];
        expected[4] = 6.0 + shift;
        assert_eq!(y.to_vec::<f32>(), expected);
        let grads = grad_of(&y.sum(), &[&x, &w], false).unwrap();
        assert_eq!((grads[0].to_vec::<f32>(), grads[1].to_vec::<f32>()), (vec![2.0], vec![3.0]));
    }
    // Taps far apart: only the middle one of three meets the pixel.
    let taps = Tensor::from_vec((1..10).map(f64::from).collect::<Vec<_>>(), [1, 1, 3, 3]);
    let x = Tensor::from_vec(vec![2.0], [1, 1, 1, 1]).requires_grad();
    let y = x.conv2d(&taps, None, &ConvOptions::new().dilation(1 << 40).padding(1 << 40));
    assert_eq!(y.to_vec::<f64>(), [10.0]);
    assert_eq!(grad_of(&y.sum(), &[&x], false).unwrap()[0].to_vec::<f64>(), [5.0]);
    // The transpose of the same.
    let y = one.try_conv_transpose2d(&two, None, &ConvOptions::new().stride(1 << 50)).unwrap();
    assert_eq!((y.dims(), y.to_vec::<f32>()), (&[1, 1, 1, 1][..], vec![6.0]));
    let line = Tensor::from([[[1.0f32, 2.0]]]);
    let w = Tensor::from([[[1.0f32]]]);
    assert!(line.try_conv_transpose1d(&w, None, &ConvOptions::new().stride(1 << 50)).is_err());
    let none = Tensor::zeros([0, 1, 2], DType::F32);
    let y = none.try_conv_transpose1d(&w, None, &ConvOptions::new().stride(1 << 50)).unwrap();
    assert_eq!(y.shape(), &[0, 1, (1 << 50) + 1]);
}

#[test]
fn convolutions_of_nothing() {
    let mut o = ConvOptions::new();
    o.padding = [2, 1];
    let w = Tensor::ones([2, 3, 3, 3], DType::F32).requires_grad();
    let bias = Tensor::from([0.5f32, -1.0]).requires_grad();
    // Images without pixels have a result where there is padding enough.
    let x = Tensor::zeros([1, 3, 0, 1], DType::F32).requires_grad();
    let y = x.conv2d(&w, Some(&bias), &o);
    assert_eq!((y.dims(), y.to_vec::<f32>()), (&[1, 2, 2, 1][..], vec![0.5, 0.5, -1.0, -1.0]));
    let grads = grad_of(&y.sum(), &[&x, &w, &bias], false).unwrap();
    assert_eq!((grads[0].numel(), grads[2].to_vec::<f32>()), (0, vec![2.0, 2.0]));
    assert_eq!(grads[1].to_vec::<f32>(), [0.0; 54]);
    // No input channels: the bias alone.
    let x = Tensor::zeros([1, 0, 2, 2], DType::F32).requires_grad();
    let filters = Tensor::zeros([2, 0, 1, 1], DType::F32).requires_grad();
    let y = x.conv2d(&filters, Some(&bias), &ConvOptions::new());
    assert_eq!(y.to_vec::<f32>(), [0.5, 0.5, 0.5, 0.5, -1.0, -1.0, -1.0, -1.0]);
    assert_eq!(grad_of(&y.sum(), &[&bias], false).unwrap()[0].to_vec::<f32>(), [4.0, 4.0]);
    let y = x.conv2d(&filters, None, &ConvOptions::new());
    assert_eq!(y.to_vec::<f32>(), [0.0; 8]);
    // No output channels, no images, and sizes that would overflow in any scratch area.
    let x = Tensor::ones([2, 3, 4, 4], DType::F32);
    assert_eq!(x.conv2d(&Tensor::zeros([0, 3, 2, 2], DType::F32), None, &ConvOptions::new()).shape(), &[2, 0, 3, 3]);
    let x = Tensor::zeros([0, HUGE, 1], DType::F32);
    let w = Tensor::zeros([0, HUGE, 1], DType::F32);
    assert_eq!(x.try_conv1d(&w, None, &ConvOptions::new()).unwrap().shape(), &[0, 0, 1]);
    let x = Tensor::zeros([0, 3, 1 << 50], DType::F32);
    let w = Tensor::zeros([2, 3, 1 << 20], DType::F32);
    assert!(x.try_conv1d(&w, None, &ConvOptions::new()).is_ok_and(|y| y.numel() == 0));
}

#[test]
fn batch_norm_without_pixels() {
    for (shape, channels) in [([4, 3, 0], 3), ([0, 3, 5], 3), ([0, 3, 1], 3), ([2, 0, 3], 0), ([300, 40, 0], 40)] {
        for dtype in [DType::F32, DType::F64] {
            let x = Tensor::zeros(shape, dtype).requires_grad();
            let number = |value| Tensor::full([channels], value, dtype).requires_grad();
            let (mean, variance, weight, bias) = (number(0.5), number(2.0), number(3.0), number(4.0));
            let y = x.batch_norm_with(&mean, &variance, Some(&weight), Some(&bias), 1e-5);
            assert_eq!(y.dims(), shape);
            let grads = grad_of(&y.sum(), &[&x, &mean, &variance, &weight, &bias], false).unwrap();
            assert_eq!(grads[0].dims(), shape);
            for gradient in &grads[1..] {
                assert_eq!(gradient.to_f64_vec(), vec![0.0; channels], "{shape:?}");
            }
            if channels > 0 {
                assert!(x.try_batch_norm(None, None, 1e-5).is_err());
            }
        }
    }
}

#[test]
fn output_padding_below_stride_or_dilation() {
    // Values from the definition: position o · stride + t · dilation − padding collects x[o] w[t].
    for (stride, dilation, padding, extra) in
        [(1, 3, 0, 2), (2, 3, 1, 2), (1, 4, 2, 3), (3, 1, 0, 2), (2, 5, 4, 4), (1, 2, 1, 1), (2, 7, 3, 5)]
    {
        let (size, kernel) = (4usize, 3usize);
        let x = row([2, 2, size]).requires_grad();
        let w = row([2, 3, kernel]).requires_grad();
        let o = ConvOptions::new().stride(stride).dilation(dilation).padding(padding).output_padding(extra);
        let y = x.conv_transpose1d(&w, None, &o);
        let length = (size - 1) * stride + dilation * (kernel - 1) + extra + 1 - 2 * padding;
        assert_eq!(y.shape(), &[2, 3, length]);
        let mut expected = vec![0.0; 2 * 3 * length];
        let (xs, ws) = (x.to_vec::<f64>(), w.to_vec::<f64>());
        for n in 0..2 {
            for (c, out, o, t) in (0..2 * 3 * size * kernel)
                .map(|i| (i / (3 * size * kernel), i / (size * kernel) % 3, i / kernel % size, i % kernel))
            {
                if let Some(i) = (o * stride + t * dilation).checked_sub(padding).filter(|&i| i < length) {
                    expected[(n * 3 + out) * length + i] += xs[(n * 2 + c) * size + o] * ws[(c * 3 + out) * kernel + t];
                }
            }
        }
        let found = y.to_vec::<f64>();
        assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-12), "{o:?}: {found:?} {expected:?}");
        // The transpose is linear: <grad, x> = <y, seed>.
        let seed = row([2, 3, length]);
        let loss = (&y * &seed).sum();
        let grads = grad_of(&loss, &[&x, &w], false).unwrap();
        for (gradient, point) in grads.iter().zip([&x, &w]) {
            let along = (gradient * &point.detach()).sum().item::<f64>();
            assert!((along - loss.item::<f64>()).abs() < 1e-9 * (1.0 + along.abs()), "{o:?}");
        }
    }
    let x = row([1, 1, 3]);
    for (stride, dilation, extra) in [(1, 1, 1), (2, 1, 2), (1, 2, 2), (3, 2, 3)] {
        let o = ConvOptions::new().stride(stride).dilation(dilation).output_padding(extra);
        assert!(x.try_conv_transpose1d(&x, None, &o).is_err(), "{o:?}");
    }
    // In two dimensions, each axis by its own rule.
    let x = Tensor::ones([1, 1, 2, 2], DType::F64);
    let mut o = ConvOptions::new();
    (o.stride, o.dilation, o.output_padding) = ([1, 3], [2, 1], [1, 2]);
    assert_eq!(x.conv_transpose2d(&x, None, &o).shape(), &[1, 1, 2 + 2 + 1, 3 + 1 + 2 + 1]);
}

#[test]
fn absurd_sizes_of_results_are_errors() {
    let x = Tensor::ones([1, 1, 3, 3], DType::F32);
    for size in [1 << 36, HUGE, 1 << 58, usize::MAX / 2, usize::MAX] {
        for method in [Interpolation::Nearest, Interpolation::Bilinear] {
            assert!(x.try_interpolate([size, 1], method).is_err(), "{size}");
            assert!(x.try_interpolate([1, size], method).is_err(), "{size}");
        }
        assert!(x.try_adaptive_avg_pool2d([size, 1]).is_err(), "{size}");
        assert!(x.try_adaptive_avg_pool2d([2, size]).is_err(), "{size}");
        assert!(x.try_avg_pool2d(&PoolOptions::new(size)).is_err());
        // One window around everything is a result, as long as positions can be counted.
        let around = PoolOptions::new(size).padding(size / 2);
        match (x.try_max_pool2d(&around), x.try_avg_pool2d(&around.count_include_pad(false))) {
            (Ok(largest), Ok(mean)) => assert_eq!((largest.item::<f32>(), mean.item::<f32>()), (1.0, 1.0)),
            (largest, mean) => assert!(size > 1 << 59 && largest.is_err() && mean.is_err(), "{size}"),
        }
    }
    for heads in [1 << 32, HUGE, 1 << 58, usize::MAX / 3 + 1, usize::MAX] {
        let empty = Tensor::zeros([2, 0, 0], DType::F32).requires_grad();
        match empty.try_packed_attention(heads, false, None, None) {
            Ok(y) => {
                assert_eq!(y.shape(), &[2, 0, 0]);
                assert_eq!(grad_of(&y.sum(), &[&empty], false).unwrap()[0].shape(), &[2, 0, 0]);
            }
            Err(error) => assert!(heads > 1 << 58, "{error}"),
        }
    }
    let wide = Tensor::zeros([1, 0, 3 << 32], DType::F32);
    assert_eq!(wide.try_packed_attention(1 << 32, true, None, None).unwrap().shape(), &[1, 0, 1 << 32]);
    let q = Tensor::zeros([HUGE, 0, 4], DType::F32);
    assert_eq!(q.try_scaled_dot_product_attention(&q, &q, false, None, None).unwrap().shape(), &[HUGE, 0, 4]);
    // Values without width: the queries and keys still have their gradients, which are zero.
    let (q, v) = (Tensor::ones([2, 3, 4], DType::F64).requires_grad(), Tensor::zeros([2, 3, 0], DType::F64));
    let y = q.scaled_dot_product_attention(&q, &v, false, None, None);
    assert_eq!(grad_of(&y.sum(), &[&q], false).unwrap()[0].to_vec::<f64>(), [0.0; 24]);
}

#[test]
fn extreme_diagonals_and_shifts() {
    let x = row([1, 3, 4]).reshape([3, 4]);
    for offset in [isize::MIN, isize::MIN + 1, -3, 4, isize::MAX] {
        assert_eq!(x.diagonal(offset).numel(), 0, "{offset}");
        assert!(x.get(0).try_diag_embed(offset).is_err() || offset.unsigned_abs() < 9);
        assert_eq!(x.tril(offset).try_sum().unwrap().item::<f64>() == 0.0, offset < 0, "{offset}");
    }
    let leaf = x.requires_grad();
    for shift in [isize::MIN, isize::MIN + 1, -5, 7, isize::MAX] {
        let turned = leaf.roll(shift, -1);
        let places = shift.rem_euclid(4) as usize;
        assert_eq!(turned.at::<f64>(&[1, places]), x.at::<f64>(&[1, 0]));
        let weights = row([1, 3, 4]).reshape([3, 4]);
        let gradient = grad_of(&(&turned * &weights).sum(), &[&leaf], false).unwrap().remove(0);
        assert_eq!(gradient.at::<f64>(&[2, 0]), weights.at::<f64>(&[2, places]));
    }
}
