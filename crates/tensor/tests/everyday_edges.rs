//! Everyday operations at their edges: several writes to one place, NaN and infinities, empty axes, other element types,
//! and what their errors say.

use tove_tensor::{
    DType, Error, Interpolation, Tensor, TryConv, TryIndex, TryNorm, TryOps, TryReduce, grad, hessian, vmap,
};

const NAN: f64 = f64::NAN;

#[track_caller]
fn says<T>(result: Result<T, Error>, op: &str, words: &[&str]) {
    let Err(error) = result else { panic!("{op} did not fail") };
    let message = error.to_string();
    assert!(message.starts_with(op), "{message}");
    words.iter().for_each(|word| assert!(message.contains(word), "{message:?} does not say {word:?}"));
}

fn numbers(x: &Tensor) -> Vec<f64> {
    x.to_f64_vec()
}

#[test]
fn the_last_of_several_writes_stays() {
    let x = Tensor::from([[1i64, 2, 3], [4, 5, 6]]);
    let index = Tensor::from([[2i64, 2, -1], [0, 1, 0]]);
    let y = x.scatter(1, &index, &Tensor::from([[10i64, 20, 30], [40, 50, 60]]));
    assert_eq!(y.to_vec::<i64>(), [1, 2, 30, 60, 50, 6]);
    let flags = Tensor::from([true, false]).scatter(0, &Tensor::from([1i64]), &Tensor::scalar(true));
    assert_eq!(flags.to_vec::<bool>(), [true, true]);
    let nothing = x.scatter(1, &Tensor::zeros([2, 0], DType::I64), &Tensor::scalar(0i64));
    assert_eq!(nothing.to_vec::<i64>(), x.to_vec::<i64>());
}

#[test]
fn writes_with_a_batch_of_positions() {
    let x = Tensor::from([0.0, 0.0, 0.0]);
    let places = Tensor::from([[0i64, 2], [1, 1]]);
    let values = Tensor::from([5.0, 7.0]);
    let scattered = vmap(|places: &Tensor| x.scatter(0, places, &values))(&places);
    assert_eq!(numbers(&scattered), [5.0, 0.0, 7.0, 0.0, 7.0, 0.0]);
    let filled = vmap(|places: &Tensor| x.index_fill(0, places, 1.0))(&places);
    assert_eq!(numbers(&filled), [1.0, 0.0, 1.0, 0.0, 1.0, 0.0]);
    let set = vmap(|places: &Tensor| x.index_set(places, &values))(&places);
    assert_eq!(numbers(&set), numbers(&scattered));
    let masks = Tensor::from([[true, false, true], [false, true, false]]);
    let poured = vmap(|mask: &Tensor| x.masked_scatter(mask, &values))(&masks);
    assert_eq!(numbers(&poured), [5.0, 0.0, 7.0, 0.0, 5.0, 0.0]);
}

#[test]
fn writes_say_what_does_not_fit() {
    let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    let index = Tensor::from([[0i64], [1]]);
    says(x.try_scatter(1, &Tensor::from([[2i64], [0]]), &x), "scatter", &["index 2", "size 2"]);
    says(x.try_scatter(1, &Tensor::from([[0i64]]), &x), "scatter", &["(2, 2)", "(1, 1)", "axis 1"]);
    says(x.try_scatter(1, &index, &Tensor::scalar(1i64)), "scatter", &["f64", "i64"]);
    says(x.try_scatter(2, &index, &x), "scatter", &["axis 2"]);
    says(x.try_index_fill(0, &index, 0.0), "index_fill", &["(2, 1)", "rank 1"]);
    says(x.try_index_fill(0, &Tensor::from([5i64]), 0.0), "index_fill", &["index 5"]);
    let mask = Tensor::from([[true, true], [false, true]]);
    let short = Tensor::from([1.0, 2.0]);
    says(x.try_masked_scatter(&mask, &short), "masked_scatter", &["(2, 2)", "(2,)", "more true elements"]);
    says(x.try_masked_scatter(&short, &short), "masked_scatter", &["truth values"]);
    says(x.try_masked_scatter(&Tensor::from([true; 3]), &short), "masked_scatter", &["broadcast"]);
    let nowhere = x.masked_scatter(&mask.logical_and(&Tensor::scalar(false)), &Tensor::zeros(0, DType::F64));
    assert_eq!(numbers(&nowhere), numbers(&x));
}

#[test]
fn running_extremes_of_other_types_and_empty_axes() {
    let (values, places) = Tensor::from([3u8, 1, 3]).cummin(0);
    assert_eq!((values.to_vec::<u8>(), places.to_vec::<i64>()), (vec![3, 1, 1], vec![0, 1, 1]));
    let (values, places) = Tensor::zeros([2, 0], DType::F32).cummax(1);
    assert_eq!((values.dims(), places.dims()), (&[2, 0][..], &[2, 0][..]));
    says(Tensor::from([true]).try_cummax(0), "cummax", &["bool"]);
    says(Tensor::scalar(1.0).try_cummax(0), "cummax", &["axis 0"]);
    says(Tensor::from([1i64]).try_logcumsumexp(0), "logcumsumexp", &["i64"]);
    // An empty sum has the logarithm −∞, and what follows does not feel it.
    let low = Tensor::from([f64::NEG_INFINITY, f64::NEG_INFINITY, 2.0]);
    assert_eq!(numbers(&low.logcumsumexp(0)), [f64::NEG_INFINITY, f64::NEG_INFINITY, 2.0]);
    assert_eq!(numbers(&grad(|x: &Tensor| x.logcumsumexp(0).get(2))(&low)), [0.0, 0.0, 1.0]);
}

#[test]
fn sums_and_means_of_nothing_but_nan() {
    let x = Tensor::from([[NAN, NAN], [1.0, 2.0]]);
    assert_eq!(numbers(&x.nansum_axes(&[1], false)), [0.0, 3.0]);
    let means = numbers(&x.nanmean_axes(&[1], false));
    assert!(means[0].is_nan() && means[1] == 1.5);
    assert_eq!(Tensor::from([2u8, 255]).nansum().item::<i64>(), 257);
    says(Tensor::from([1i64]).try_nanmean(), "nanmean", &["i64"]);
}

#[test]
fn order_statistics_and_modes_with_ties_and_nan() {
    let x = Tensor::from([[NAN, 1.0, 1.0, NAN, NAN], [2.0, 1.0, 2.0, 1.0, 0.0]]);
    let (values, places) = x.mode(1, false);
    assert!(numbers(&values)[0].is_nan() && numbers(&values)[1] == 1.0);
    assert_eq!(places.to_vec::<i64>(), [4, 3]);
    let (values, places) = x.kthvalue(2, 1, true);
    assert_eq!((values.dims(), numbers(&values), places.to_vec::<i64>()), (&[2, 1][..], vec![1.0, 1.0], vec![2, 1]));
    let (_, places) = Tensor::from([true, false, true]).mode(0, false);
    assert_eq!(places.item::<i64>(), 2);
    says(x.try_kthvalue(0, 1, false), "kthvalue", &["k is 0"]);
    says(x.try_kthvalue(6, 1, false), "kthvalue", &["k is 6", "only 5"]);
    says(Tensor::zeros([2, 0], DType::F64).try_mode(1, false), "mode", &["(2, 0)", "no elements"]);
}

#[test]
fn different_slices_count_nan_and_both_zeros_as_one() {
    let x = Tensor::from([[NAN, 1.0], [0.0, 2.0], [NAN, 1.0], [-0.0, 2.0]]);
    let found = x.unique_axis(0);
    assert_eq!(numbers(&found.values)[..2], [0.0, 2.0]);
    assert_eq!((found.inverse.to_vec::<i64>(), found.counts.to_vec::<i64>()), (vec![1, 0, 1, 0], vec![2, 2]));
    // Without entries all slices are equal.
    let found = Tensor::zeros([3, 0], DType::F64).unique_axis(0);
    assert_eq!((found.values.dims(), found.counts.to_vec::<i64>()), (&[1, 0][..], vec![3]));
    says(x.try_unique_axis(2), "unique_axis", &["axis 2"]);
}

#[test]
fn hypot_between_the_largest_and_the_smallest_numbers() {
    let a = Tensor::from([f64::INFINITY, f64::MAX / 2.0, f64::MIN_POSITIVE, 0.0]);
    let b = Tensor::from([1.0, f64::MAX / 2.0, 0.0, 0.0]);
    let y = numbers(&a.hypot(&b));
    assert_eq!(y[0], f64::INFINITY);
    assert!((y[1] / (f64::MAX / 2.0) - 2f64.sqrt()).abs() < 1e-15);
    assert_eq!(y[2..], [f64::MIN_POSITIVE, 0.0]);
    let second = hessian(|x: &Tensor| x.get(0).hypot(&x.get(1)), &Tensor::from([0.0, 0.0]));
    assert_eq!(numbers(&second), [0.0; 4]);
    says(Tensor::from([1.0]).try_hypot(&Tensor::from([1.0f32])), "hypot", &["f64", "f32"]);
    says(Tensor::from([1.0, 2.0]).try_hypot(&Tensor::from([1.0, 2.0, 3.0])), "hypot", &["(2,)", "(3,)"]);
}

#[test]
fn lerp_reaches_both_ends_exactly() {
    let (start, end) = (Tensor::from([0.1, -3.7, 1e16]), Tensor::from([0.7, 1e-9, 1.0]));
    assert_eq!(numbers(&start.lerp(&end, &Tensor::scalar(0.0))), numbers(&start));
    assert_eq!(numbers(&start.lerp(&end, &Tensor::scalar(1.0))), numbers(&end));
    says(start.try_lerp(&end, &Tensor::scalar(1.0f32)), "lerp", &["f64", "f32"]);
}

#[test]
fn closeness_of_whole_numbers_and_by_broadcasting() {
    let x = Tensor::from([[100i64], [200]]);
    let near = x.isclose(&Tensor::from([101i64, 200]), 0.0, 1.0);
    assert_eq!((near.dims(), near.to_vec::<bool>()), (&[2, 2][..], vec![true, false, false, true]));
    let (a, b) = (Tensor::from([1.0, 2.0, NAN]), Tensor::from([1.0, 2.0 + 1e-7, NAN]));
    for tolerance in [1e-6, 1e-8] {
        let (a, b) = (a.narrow(0, 0, 2), b.narrow(0, 0, 2));
        assert_eq!(a.isclose(&b, tolerance, 0.0).all().item::<bool>(), a.allclose(&b, tolerance, 0.0));
    }
    assert!(!a.isclose(&b, 1.0, 1.0).get(2).item::<bool>());
}

/// More differences than are held at a time give the same distances as row by row.
#[test]
fn distances_in_pieces() {
    let wave = |rows: usize, phase: f64| {
        let value = |i: usize| (0.37 * i as f64 + phase).sin();
        Tensor::from_vec((0..rows * 8).map(value).collect::<Vec<f64>>(), [rows, 8])
    };
    let (a, b) = (wave(1100, 0.0), wave(500, 1.0));
    let all = a.cdist(&b, 2.0);
    assert_eq!(all.dims(), [1100, 500]);
    for row in [0, 1, 547, 1048, 1099] {
        let alone = (&a.get(row) - &b).norm_axes(2.0, &[1], false);
        assert_eq!(numbers(&all.get(row)), numbers(&alone));
    }
    says(a.try_cdist(&wave(2, 0.0).narrow(1, 0, 7), 2.0), "cdist", &["(1100, 8)", "(2, 7)"]);
    says(a.try_cdist(&a.get(0), 2.0), "cdist", &["two axes"]);
    says(a.try_cdist(&b, -1.0), "cdist", &["p is -1"]);
}

#[test]
fn products_say_what_does_not_fit() {
    let (a, b) = (Tensor::ones([2, 3], DType::F64), Tensor::ones([3, 4], DType::F64));
    says(a.try_cross(&a, 0), "cross", &["(2, 3)", "axis 0", "length 3"]);
    says(a.try_cross(&b, 1), "cross", &["(2, 3)", "(3, 4)"]);
    says(a.try_tensordot(&b, &[0], &[0]), "tensordot", &["(2, 3)", "(3, 4)", "[0]"]);
    says(a.try_tensordot(&b, &[1, 1], &[0, 0]), "tensordot", &["named once"]);
    says(a.try_tensordot(&b, &[1], &[0, 1]), "tensordot", &["pairs"]);
    says(a.try_tensordot(&b, &[5], &[0]), "tensordot", &["axis 5"]);
    assert_eq!(Tensor::from([1i64, 0, 0]).cross(&Tensor::from([0i64, 1, 0]), 0).to_vec::<i64>(), [0, 0, 1]);
}

#[test]
fn images_of_whole_numbers_and_without_pixels() {
    let x = Tensor::from([[1u8, 2]]);
    assert_eq!(x.interpolate([2, 2], Interpolation::Nearest).to_vec::<u8>(), [1, 2, 1, 2]);
    says(x.try_interpolate([2, 2], Interpolation::Bilinear), "interpolate", &["u8"]);
    says(x.try_interpolate([0, 2], Interpolation::Nearest), "interpolate", &["(1, 2)", "size 0"]);
    says(Tensor::ones([1, 0], DType::F64).try_interpolate([1, 2], Interpolation::Nearest), "interpolate", &["(1, 0)"]);
    says(Tensor::ones(3, DType::F64).try_interpolate([1, 2], Interpolation::Nearest), "interpolate", &["height"]);
    // The weights at every place sum to one, so that a constant image stays constant.
    let flat = Tensor::full([3, 4], 7.0, DType::F64).interpolate([11, 5], Interpolation::Bilinear);
    assert!(numbers(&flat).iter().all(|y| (y - 7.0).abs() < 1e-14));
}

#[test]
fn norms_of_groups_say_what_does_not_fit() {
    let x = Tensor::ones([2, 6, 3], DType::F64);
    says(x.try_group_norm(4, None, None, 1e-5), "group_norm", &["groups is 4", "6 channels"]);
    says(x.try_group_norm(0, None, None, 1e-5), "group_norm", &["groups is 0"]);
    says(x.try_group_norm(2, None, None, -1.0), "group_norm", &["eps"]);
    says(x.try_group_norm(2, Some(&Tensor::ones(3, DType::F64)), None, 0.0), "group_norm", &["(2, 6, 3)", "(3,)"]);
    says(x.try_instance_norm(None, Some(&Tensor::ones(6, DType::F32)), 0.0), "instance_norm", &["f64", "f32"]);
    says(x.get(0).get(0).try_instance_norm(None, None, 0.0), "instance_norm", &["(batch, channels, …)"]);
    // One group over rows is layer norm.
    let rows = Tensor::from([[1.0, 2.0, 4.0], [0.0, -1.0, 5.0]]);
    assert_eq!(numbers(&rows.group_norm(1, None, None, 1e-5)), numbers(&rows.layer_norm(&[3], None, None, 1e-5)));
}

#[test]
fn steps_that_lead_nowhere() {
    assert_eq!(Tensor::arange_step(0.0, -1.0, 0.5).numel(), 0);
    says(Tensor::try_arange_step(0.0, 1.0, 0.0), "arange_step", &["step is 0"]);
    says(Tensor::try_arange_step(0.0, NAN, 1.0), "arange_step", &["NaN"]);
    assert!(Tensor::try_arange_step(0.0, 1e300, 1e-3).is_err());
}
