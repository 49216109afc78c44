//! Shapes too large to address and memory that is not there are errors, whichever way they come about.
#![allow(clippy::unwrap_used)]

use tove_tensor::random::Key;
use tove_tensor::{ConvOptions, DType, Error, Tensor, TryConv, TryIndex, TryNorm, TryOps, TryReduce, TryUnary};

fn options(padding: [usize; 2]) -> ConvOptions {
    let mut options = ConvOptions::new();
    options.padding = padding;
    options
}

#[test]
fn windows_of_an_overflowing_padding_are_refused() {
    // 2 · 137088 + 1 = 274177 and 2 · 33640210655360 + 1 = 67280421310721 are the factors of 2^64 + 1.
    let o = options([137_088, 33_640_210_655_360]);
    let x = Tensor::ones([1, 1, 1, 1], DType::F32);
    assert!(matches!(x.try_unfold([1, 1], &o), Err(Error::Shape { op: "unfold", .. })));
    assert!(matches!(x.try_conv2d(&x, None, &o), Err(Error::Shape { op: "conv2d", .. })));
    let huge = options([usize::MAX / 2, 0]);
    assert!(x.try_conv2d(&x, None, &huge).is_err());
    assert!(x.try_conv_transpose2d(&x, None, &huge).is_err());
    let wide = ConvOptions::new().stride(usize::MAX / 16);
    let tall = Tensor::ones([1, 1, 1000, 1], DType::F32);
    assert!(tall.try_conv_transpose2d(&x, None, &wide).is_err());
}

#[test]
fn stretched_tensors_stay_countable() {
    let one = Tensor::scalar(1u8);
    let large = one.broadcast_to([1 << 59]);
    assert_eq!(large.numel(), 1 << 59);
    assert!(matches!(Tensor::try_concat(&[&large; 32], 0), Err(Error::Shape { op: "concat", .. })));
    let (column, row) = (one.broadcast_to([274_177, 1]), one.broadcast_to([1, 67_280_421_310_721]));
    assert!(matches!(column.try_add(&row), Err(Error::Shape { op: "add", .. })));
    assert!(matches!(column.try_eq(&row), Err(Error::Shape { .. })));
    assert!(one.try_broadcast_to([1 << 32, 1 << 32]).is_err());
    assert!(one.try_broadcast_to([usize::MAX, 2, 0]).is_err());
    let axis = Tensor::arange(0, 65_536);
    assert!(Tensor::try_meshgrid(&[&axis; 4]).is_err());
    assert!(column.try_matmul(&row).is_err());
    assert!(large.try_reshape([1 << 59, 0]).is_err());
    assert!(large.try_tile(&[64]).is_err());
    assert!(large.try_repeat_interleave(64, 0).is_err());
}

#[test]
fn memory_that_is_not_there_is_an_error_with_the_bytes_asked_for() {
    for shape in [1usize << 45, 1 << 50, 1 << 58, usize::MAX] {
        assert!(Tensor::try_zeros([shape], DType::F64).is_err());
        assert!(Tensor::try_ones([shape], DType::F64).is_err());
        assert!(Tensor::try_full([shape], 2.0, DType::F32).is_err());
        assert!(Tensor::try_eye(shape, DType::F32).is_err());
        assert!(Key::new(1).try_normal([shape], DType::F64).is_err());
        assert!(Key::new(1).try_bernoulli(0.5, [shape]).is_err() || shape == 1 << 45);
        assert!(Key::new(1).try_permutation(shape).is_err());
    }
    let error = Tensor::try_zeros([1 << 45], DType::F64).unwrap_err();
    assert!(error.is_data());
    assert!(error.to_string().starts_with("zeros: shape (35184372088832,) needs 281474976710656 bytes"), "{error}");
    for largest in [1i64 << 45, 1 << 58, i64::MAX] {
        assert!(Tensor::from([largest]).try_bincount(None, 0).is_err());
        assert!(Tensor::from([0i64]).try_one_hot(largest as usize, DType::F64).is_err());
    }
    assert!(Tensor::try_arange(i64::MIN, i64::MAX).is_err());
    let large = Tensor::scalar(1.0).broadcast_to([1 << 46]);
    assert!(large.try_sin().is_err());
    assert!(large.try_contiguous().is_err());
    assert!(large.try_cumsum(0).is_err());
    assert!(large.try_softmax(0).is_err());
}

#[test]
#[should_panic(expected = "zeros: shape (288230376151711744,) needs")]
fn zeros_panic_with_the_same_words() {
    let _ = Tensor::zeros([1 << 58], DType::F64);
}

#[test]
fn a_step_beyond_the_axis_takes_one_element() {
    let x = Tensor::from([1.0, 2.0, 3.0]);
    assert_eq!(x.try_slice(0, 0, 1, isize::MAX).unwrap().to_vec::<f64>(), [1.0]);
    assert_eq!(x.try_slice(0, 0, 3, isize::MIN).unwrap().to_vec::<f64>(), [3.0]);
    assert_eq!(x.t().try_slice(0, 1, 3, isize::MAX).unwrap().to_vec::<f64>(), [2.0]);
}
