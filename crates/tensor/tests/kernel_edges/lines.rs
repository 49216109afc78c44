//! Kernels along an axis: every length, with the axis last, first and in the middle.

use tove_tensor::optimizer_kernels::{AdamStep, SgdStep, adam_step, sgd_step};
use tove_tensor::{CrossEntropy, DType, Key, Reduction, Tensor};

use crate::support::{FLOATS, LENGTHS, close, gradients, numbers, same, slopes_agree};

/// Applies a function of lines along an axis.
fn along(x: &Tensor, axis: usize, f: impl Fn(&[f64]) -> Vec<f64>) -> Vec<f64> {
    let (outer, length) = (x.dims()[..axis].iter().product::<usize>(), x.dims()[axis]);
    let inner: usize = x.dims()[axis + 1..].iter().product();
    let data = x.to_f64_vec();
    let of = |o: usize, i: usize| f(&(0..length).map(|k| data[(o * length + k) * inner + i]).collect::<Vec<_>>());
    let lines: Vec<Vec<f64>> = (0..outer * inner).map(|j| of(j / inner, j % inner)).collect();
    let count = lines.first().map_or(0, Vec::len);
    let entry = |o: usize, k: usize, i: usize| lines[o * inner + i][k];
    (0..outer)
        .flat_map(|o| (0..count).flat_map(move |k| (0..inner).map(move |i| (o, k, i))))
        .map(|(o, k, i)| entry(o, k, i))
        .collect()
}

fn softmax(line: &[f64]) -> Vec<f64> {
    let most = line.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = line.iter().map(|x| (x - most).exp()).collect();
    let total: f64 = powers.iter().sum();
    powers.iter().map(|x| x / total).collect()
}

fn running(line: &[f64], f: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    let mut so_far = None;
    line.iter().map(|&x| *so_far.insert(so_far.map_or(x, |before| f(before, x)))).collect()
}

/// Shapes with the axis at each place.
fn places(length: usize) -> [(Vec<usize>, usize); 4] {
    [(vec![length], 0), (vec![3, length], 1), (vec![length, 5], 0), (vec![2, length, 17], 1)]
}

#[test]
fn softmax_and_reductions_along_any_axis() {
    for dtype in FLOATS {
        for length in LENGTHS {
            for (shape, place) in places(length) {
                let x = numbers(shape.clone(), 3, dtype);
                let (axis, axes) = (place as isize, [place as isize]);
                let what = format!("{dtype} {shape:?} axis {place}");
                close(&x.softmax(axis), &along(&x, place, softmax), &what);
                let logs = |line: &[f64]| softmax(line).iter().map(|p| p.ln()).collect();
                close(&x.log_softmax(axis), &along(&x, place, logs), &what);
                close(&x.sum_axes(&axes, false), &along(&x, place, |l| vec![l.iter().sum()]), &what);
                close(
                    &x.mean_axes(&axes, true),
                    &along(&x, place, |l| vec![l.iter().sum::<f64>() / length as f64]),
                    &what,
                );
                close(
                    &x.max_axes(&axes, false),
                    &along(&x, place, |l| vec![l.iter().copied().fold(f64::MIN, f64::max)]),
                    &what,
                );
                close(
                    &x.min_axes(&axes, false),
                    &along(&x, place, |l| vec![l.iter().copied().fold(f64::MAX, f64::min)]),
                    &what,
                );
                close(&x.prod_axes(&axes, false), &along(&x, place, |l| vec![l.iter().product()]), &what);
                close(
                    &x.norm_axes(2.0, &axes, false),
                    &along(&x, place, |l| vec![l.iter().map(|x| x * x).sum::<f64>().sqrt()]),
                    &what,
                );
                let lse = |l: &[f64]| vec![l.iter().map(|x| x.exp()).sum::<f64>().ln()];
                close(&x.logsumexp(&axes, false), &along(&x, place, lse), &what);
                close(&x.cumsum(axis), &along(&x, place, |l| running(l, |a, b| a + b)), &what);
                close(&x.cumprod(axis), &along(&x, place, |l| running(l, |a, b| a * b)), &what);
                close(&x.cummax(axis).0, &along(&x, place, |l| running(l, f64::max)), &what);
                let sorted = |l: &[f64]| {
                    let mut l = l.to_vec();
                    l.sort_by(f64::total_cmp);
                    l
                };
                close(&x.sort(axis, false).0, &along(&x, place, sorted), &what);
                let k = length.min(3);
                let top = |l: &[f64]| sorted(l).into_iter().rev().take(k).collect();
                close(&x.topk(k, axis, true).0, &along(&x, place, top), &what);
                let order = x.argsort(axis, false);
                same(&x.gather(axis, &order), &x.sort(axis, false).0, &what);
                let index = Tensor::from_vec((0..length as i64).rev().collect::<Vec<_>>(), length);
                same(&x.index_select(axis, &index), &x.flip(&axes), &what);
                let zeros = x.zeros_like();
                same(&zeros.scatter_add(axis, &order, &x.sort(axis, false).0), &x, &what);
                same(&zeros.index_add(axis, &index, &x.flip(&axes)), &x, &what);
            }
        }
    }
}

#[test]
fn gradients_along_any_axis() {
    for length in [1, 2, 5, 16, 17, 65] {
        for (shape, place) in places(length) {
            let inputs = [numbers(shape.clone(), 5, DType::F64)];
            let axis = place as isize;
            let what = format!("{shape:?} axis {place}");
            slopes_agree(|x| x[0].softmax(axis), &inputs, &what);
            slopes_agree(|x| x[0].log_softmax(axis), &inputs, &what);
            slopes_agree(|x| x[0].cumsum(axis), &inputs, &what);
            slopes_agree(|x| x[0].cumprod(axis), &inputs, &what);
            slopes_agree(|x| x[0].logsumexp(&[axis], true), &inputs, &what);
            slopes_agree(|x| x[0].prod_axes(&[axis], false), &inputs, &what);
            slopes_agree(|x| x[0].sort(axis, true).0, &inputs, &what);
            slopes_agree(|x| x[0].max_axes(&[axis], false), &inputs, &what);
            // Single precision by the same code, against double.
            let single = [inputs[0].to_dtype(DType::F32)];
            for f in [|x: &Tensor, axis| x.softmax(axis), |x: &Tensor, axis| x.cumprod(axis)] {
                let apart = gradients(|x| f(&x[0], axis), &single).remove(0);
                close(&apart, &gradients(|x| f(&x[0], axis), &inputs)[0].to_f64_vec(), &what);
            }
        }
    }
}

#[test]
fn normalisation_of_any_size() {
    let normal = |line: &[f64]| {
        let n = line.len() as f64;
        let mean = line.iter().sum::<f64>() / n;
        let variance = line.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
        line.iter().map(|x| (x - mean) / (variance + 1e-3).sqrt()).collect::<Vec<_>>()
    };
    for dtype in FLOATS {
        for length in LENGTHS {
            for rows in [1, 3, 4, 9] {
                let x = numbers([rows, length], 7, dtype);
                let what = format!("{dtype} {rows} x {length}");
                close(&x.layer_norm(&[length], None, None, 1e-3), &along(&x, 1, normal), &what);
                // Channels are columns; then planes of every size.
                if rows > 1 {
                    close(&x.batch_norm(None, None, 1e-3).0, &along(&x, 0, normal), &what);
                }
                let planes = numbers([3, 2, length], 8, dtype);
                let (y, _) = planes.batch_norm(None, None, 1e-3);
                let by_channel = y.swap_axes(0, 1).reshape([2, 3 * length]);
                let expected = along(&planes.swap_axes(0, 1).reshape([2, 3 * length]), 1, normal);
                close(&by_channel, &expected, &what);
            }
        }
    }
    for (rows, length) in [(1, 1), (2, 3), (5, 16), (4, 17), (3, 33)] {
        let inputs =
            [numbers([rows, length], 9, DType::F64), numbers(length, 10, DType::F64), numbers(length, 11, DType::F64)];
        let what = format!("{rows} x {length}");
        slopes_agree(|x| x[0].layer_norm(&[length], Some(&x[1]), Some(&x[2]), 1e-3), &inputs, &what);
        slopes_agree(|x| x[0].batch_norm(Some(&x[1]), Some(&x[2]), 1e-3).0, &inputs, &what);
        let images = [numbers([2, length, rows], 9, DType::F64), inputs[1].clone(), inputs[2].clone()];
        slopes_agree(|x| x[0].batch_norm(Some(&x[1]), Some(&x[2]), 1e-3).0, &images, &what);
        slopes_agree(|x| x[0].group_norm(1, Some(&x[1]), Some(&x[2]), 1e-3), &images, &what);
    }
}

#[test]
fn cross_entropy_of_any_number_of_classes() {
    for dtype in FLOATS {
        for classes in LENGTHS {
            let x = numbers([4, classes], 13, dtype);
            let labels = Tensor::from_vec((0..4).map(|i| (i * 5 % classes) as i64).collect::<Vec<_>>(), 4);
            let options = CrossEntropy { reduction: Reduction::None, ..CrossEntropy::default() };
            let picks = x.log_softmax(-1).gather(1, &labels.reshape([4, 1])).reshape([4]);
            same(&x.cross_entropy(&labels, &options), &-&picks, &format!("{dtype} {classes} classes"));
            let by_fused = gradients(|x| x[0].cross_entropy(&labels, &options), std::slice::from_ref(&x));
            let by_parts = gradients(
                |x| -&x[0].log_softmax(-1).gather(1, &labels.reshape([4, 1])).reshape([4]),
                std::slice::from_ref(&x),
            );
            same(&by_fused[0], &by_parts[0], &format!("gradient, {dtype} {classes} classes"));
        }
    }
}

#[test]
fn steps_of_optimisers_of_any_length() {
    for dtype in FLOATS {
        for length in LENGTHS.into_iter().chain([0, 40_000]) {
            let (start, g) = (numbers(length, 17, dtype), numbers(length, 18, dtype));
            let (mut p, mut m, mut v) = (start.requires_grad(), g.zeros_like(), g.zeros_like());
            let step = AdamStep { learning_rate: 0.1, eps: 0.0, ..AdamStep::default() };
            adam_step(&mut p, &g, &mut m, &mut v, &step).unwrap();
            // The first step has the length of the rate, against the gradient's sign.
            let expected = &start - &(g.sign() * 0.1);
            close(&p.detach(), &expected.to_f64_vec(), &format!("adam of {length}"));
            let (mut p, mut u) = (start.requires_grad(), g.zeros_like());
            let step = SgdStep { learning_rate: 0.5, momentum: 0.9, ..SgdStep::default() };
            sgd_step(&mut p, &g, Some(&mut u), &step).unwrap();
            same(&p.detach(), &(&start - &(&g * 0.5)), &format!("sgd of {length}"));
            assert!(
                length < 2
                    || adam_step(&mut p, &g.narrow(0, 1, length - 1), &mut m, &mut v, &AdamStep::default()).is_err()
            );
        }
    }
}

#[test]
fn random_numbers_of_any_count() {
    for dtype in FLOATS {
        for count in (0..70).chain([127, 128, 129, 256, 257, 300]) {
            let uniform = Key::new(5).uniform([count], dtype);
            assert!(uniform.to_f64_vec().iter().all(|x| (0.0..1.0).contains(x)), "{count}");
            let normal = Key::new(5).normal([count], dtype);
            assert!(normal.to_f64_vec().iter().all(|x| x.abs() < 10.0), "{count}");
            let order = Key::new(6).permutation(count).sort(0, false).0;
            assert_eq!(order.to_vec::<i64>(), (0..count as i64).collect::<Vec<_>>());
            assert_eq!(Key::new(7).bernoulli(1.0, [count]).to_vec::<bool>(), vec![true; count]);
        }
    }
}
