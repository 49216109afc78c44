//! Kernels against the compositions that define them, on odd sizes.

use tove_tensor::{CrossEntropy, DType, Reduction, Tensor, TryNorm, grad, vjp};

use crate::support::{
    agree, close, gradcheck, plain_attention, plain_batch_norm, plain_layer_norm, plain_softmax, random,
};

#[test]
fn softmax_agrees_with_its_definition_on_odd_shapes() {
    let shapes: [&[usize]; 7] = [&[1], &[7, 1], &[3, 65], &[5, 4, 3], &[2, 130, 70], &[300, 257], &[2, 3, 0]];
    for shape in shapes {
        for axis in 0..shape.len() as isize {
            if shape[axis as usize] == 0 {
                continue;
            }
            let x = [&random(1, shape) * 20.0];
            agree(&format!("softmax {shape:?} {axis}"), &x, &|p| p[0].softmax(axis), &|p| plain_softmax(&p[0], axis));
            let log = |p: &Vec<Tensor>| plain_softmax(&p[0], axis).ln();
            agree(&format!("log_softmax {shape:?} {axis}"), &[random(1, shape)], &|p| p[0].log_softmax(axis), &log);
        }
    }
    assert_eq!(Tensor::zeros([2, 0], DType::F32).softmax(-1).shape(), &[2, 0]);
}

#[test]
fn rows_without_any_mass_are_defined() {
    let x = Tensor::from([[f64::NEG_INFINITY; 2], [0.0, f64::NEG_INFINITY]]);
    assert_eq!(x.softmax(-1).to_vec::<f64>(), [0.0, 0.0, 1.0, 0.0]);
    assert_eq!(x.t().softmax(0).t().to_vec::<f64>(), [0.0, 0.0, 1.0, 0.0]);
    assert_eq!(x.log_softmax(-1).to_vec::<f64>(), [f64::NEG_INFINITY, f64::NEG_INFINITY, 0.0, f64::NEG_INFINITY]);
    let slope = grad(|x: &Tensor| (x.softmax(-1) * &Tensor::from([1.0, 2.0])).sum())(&x);
    assert_eq!(slope.to_vec::<f64>(), [0.0; 4]);
    let (q, v) = (random(1, &[2, 3]), random(2, &[2, 3]));
    let mask = Tensor::from([[f64::NEG_INFINITY; 2], [0.0, 0.0]]);
    let attend = |p: &Vec<Tensor>| p[0].scaled_dot_product_attention(&p[1], &p[2], false, Some(&mask), None);
    let inputs = vec![q.clone(), q, v];
    assert_eq!(attend(&inputs).narrow(0, 0, 1).to_vec::<f64>(), [0.0; 3]);
    let gradients = grad(|p: &Vec<Tensor>| attend(p).sum())(&inputs);
    assert!(gradients.iter().all(|g| g.to_vec::<f64>().iter().all(|value| value.is_finite())));
}

#[test]
fn norms_agree_with_their_definitions_on_odd_shapes() {
    let layer: [&[usize]; 6] = [&[1, 2], &[3, 7], &[2, 5, 65], &[130, 257], &[1, 5000], &[1000, 16]];
    for shape in layer {
        let n = shape[shape.len() - 1];
        let inputs = [random(1, shape), random(2, &[n]), random(3, &[n])];
        let fused = |p: &Vec<Tensor>| p[0].layer_norm(&[n], Some(&p[1]), Some(&p[2]), 1e-3);
        agree(&format!("layer_norm {shape:?}"), &inputs, &fused, &|p| plain_layer_norm(p, 1e-3));
    }
    let batch: [&[usize]; 6] = [&[2, 1], &[7, 3], &[600, 70], &[4, 3, 5, 7], &[3, 2, 1000], &[2, 65, 1]];
    for shape in batch {
        let inputs = [random(1, shape), random(2, &[shape[1]]), random(3, &[shape[1]])];
        let fused = |p: &Vec<Tensor>| p[0].batch_norm(Some(&p[1]), Some(&p[2]), 1e-3).0;
        agree(&format!("batch_norm {shape:?}"), &inputs, &fused, &|p| plain_batch_norm(p, 1e-3));
        let (mean, variance) = (random(4, &[shape[1]]), &random(5, &[shape[1]]).square() + 0.5);
        let inputs = [random(1, shape), random(2, &[shape[1]]), random(3, &[shape[1]]), mean, variance];
        let fused = |p: &Vec<Tensor>| p[0].batch_norm_with(&p[3], &p[4], Some(&p[1]), Some(&p[2]), 1e-3);
        let mut ones = vec![1; shape.len() - 1];
        ones[0] = shape[1];
        let plain = |p: &Vec<Tensor>| {
            let c = |i: usize| p[i].reshape(&ones[..]);
            &(&(&(&p[0] - &c(3)) * &Tensor::rsqrt(&(&c(4) + 1e-3))) * &c(1)) + &c(2)
        };
        agree(&format!("batch_norm_with {shape:?}"), &inputs, &fused, &plain);
    }
    assert_eq!(Tensor::zeros([0, 4], DType::F32).layer_norm(&[4], None, None, 1e-5).shape(), &[0, 4]);
}

#[test]
fn norms_far_from_zero_keep_their_digits() {
    let spread = &random(1, &[512, 64]) * 3f64.sqrt();
    let far: Tensor = &spread + 1e4;
    let far = far.to_dtype(DType::F32);
    let exact = far.to_dtype(DType::F64);
    let layer = exact.layer_norm(&[64], None, None, 1e-5);
    close("layer_norm", &far.layer_norm(&[64], None, None, 1e-5).to_dtype(DType::F64), &layer, 1e-4);
    let (y, statistics) = far.batch_norm(None, None, 1e-5);
    let (z, exact) = exact.batch_norm(None, None, 1e-5);
    close("batch_norm", &y.to_dtype(DType::F64), &z, 1e-4);
    close("variance", &statistics.variance.to_dtype(DType::F64), &exact.variance, 1e-5);
    assert_eq!(statistics.count, 512);
    let images = far.reshape([8, 64, 64]);
    let (y, _) = images.batch_norm(None, None, 1e-5);
    close(
        "batch_norm of images",
        &y.to_dtype(DType::F64),
        &images.to_dtype(DType::F64).batch_norm(None, None, 1e-5).0,
        1e-4,
    );
}

#[test]
fn attention_agrees_with_its_definition() {
    for (m, n, d, e) in
        [(1, 1, 1, 1), (5, 5, 3, 4), (70, 70, 8, 8), (130, 300, 4, 5), (300, 130, 4, 3), (257, 257, 5, 5)]
    {
        for causal in [false, true] {
            let inputs = [random(1, &[2, 3, m, d]), random(2, &[2, 3, n, d]), random(3, &[2, 3, n, e])];
            let fused = |p: &Vec<Tensor>| p[0].scaled_dot_product_attention(&p[1], &p[2], causal, None, None);
            agree(&format!("attention {m} {n} {causal}"), &inputs, &fused, &|p| plain_attention(p, causal));
            let mut masked = inputs.to_vec();
            masked.push(random(4, &[3, m, n]));
            let fused = |p: &Vec<Tensor>| p[0].scaled_dot_product_attention(&p[1], &p[2], causal, Some(&p[3]), None);
            agree(&format!("masked {m} {n} {causal}"), &masked, &fused, &|p| plain_attention(p, causal));
        }
    }
    // Heads that lie between tokens in memory are read in place.
    let x = random(5, &[2, 6, 3, 4]);
    let heads = x.permute(&[0, 2, 1, 3]);
    let direct = heads.contiguous().scaled_dot_product_attention(&heads, &heads, true, None, None);
    assert_eq!(heads.scaled_dot_product_attention(&heads, &heads, true, None, None).to_f64_vec(), direct.to_f64_vec());
}

#[test]
fn packed_attention_is_attention_of_its_parts_bit_by_bit() {
    for (tokens, heads, width) in [(1, 1, 1), (5, 2, 3), (70, 4, 8), (130, 3, 5)] {
        for dtype in [DType::F32, DType::F64] {
            for (causal, masked) in [(false, false), (true, false), (true, true)] {
                let x = random(1, &[2, 2, tokens, 3 * heads * width]).to_dtype(dtype);
                let mask = random(2, &[2, 1, heads, tokens, tokens]).to_dtype(dtype);
                let mask = masked.then_some(&mask);
                let packed = |x: &Tensor| x.packed_attention(heads, causal, mask, None);
                let parted = |x: &Tensor| {
                    let apart = x.reshape([2, 2, tokens, 3 * heads, width]).swap_axes(2, 3);
                    let part = |i: usize| apart.narrow(2, i * heads, heads);
                    let mixed = part(0).scaled_dot_product_attention(&part(1), &part(2), causal, mask, None);
                    mixed.swap_axes(2, 3).reshape([2, 2, tokens, heads * width])
                };
                let ((a, pull_a), (b, pull_b)) = (vjp(packed, &x), vjp(parted, &x));
                assert_eq!(a.to_f64_vec(), b.to_f64_vec(), "{tokens} {heads} {width} {dtype}");
                let upstream = random(3, a.dims()).to_dtype(dtype);
                assert_eq!(pull_a(&upstream).to_f64_vec(), pull_b(&upstream).to_f64_vec(), "{tokens} {heads} {width}");
            }
        }
    }
    let x = random(1, &[2, 4, 12]);
    gradcheck("packed attention", std::slice::from_ref(&x), &|p| p[0].packed_attention(2, true, None, None));
    let mask = random(2, &[2, 4, 4]);
    gradcheck("its mask", &[x.clone(), mask], &|p| p[0].packed_attention(2, false, Some(&p[1]), Some(0.7)));
    assert!(x.try_packed_attention(5, false, None, None).is_err_and(|error| error.to_string().contains("5 heads")));
    assert!(x.try_packed_attention(0, false, None, None).is_err());
    assert!(x.try_packed_attention(2, false, Some(&random(2, &[3, 4, 4])), None).is_err());
}

fn cross_entropies() -> Vec<(CrossEntropy, Tensor)> {
    let classes = Tensor::from([1i64, 0, 4, 2, 1]);
    let mut list = Vec::new();
    for reduction in [Reduction::Mean, Reduction::Sum, Reduction::None] {
        for label_smoothing in [0.0, 0.1] {
            for ignore_index in [None, Some(1)] {
                list.push((CrossEntropy { reduction, label_smoothing, ignore_index }, classes.clone()));
            }
            let options = CrossEntropy { reduction, label_smoothing, ignore_index: None };
            list.push((options, random(8, &[5, 5]).square()));
        }
    }
    list
}

fn plain_cross_entropy(x: &Tensor, target: &Tensor, options: &CrossEntropy) -> Tensor {
    let log = plain_softmax(x, -1).ln();
    let hard = target.dtype() == DType::I64;
    let t = if hard { Tensor::eye(5, x.dtype()).to_f64_vec() } else { vec![] };
    let t = if hard {
        let rows: Vec<f64> = target.to_vec::<i64>().iter().flat_map(|&c| t[c as usize * 5..][..5].to_vec()).collect();
        Tensor::from_vec(rows, [5, 5]).to_dtype(x.dtype())
    } else {
        target.to_dtype(x.dtype())
    };
    let smoothed = &(&t * (1.0 - options.label_smoothing)) + options.label_smoothing / 5.0;
    let kept: Vec<f64> = match (hard, options.ignore_index) {
        (true, Some(ignored)) => target.to_vec::<i64>().iter().map(|&c| f64::from(u8::from(c != ignored))).collect(),
        _ => vec![1.0; 5],
    };
    let count: f64 = kept.iter().sum();
    let losses = &-&(&smoothed * &log).sum_axes(&[-1], false) * &Tensor::from(kept).to_dtype(x.dtype());
    match options.reduction {
        Reduction::None => losses,
        Reduction::Sum => losses.sum(),
        Reduction::Mean => losses.sum() * (1.0 / count),
    }
}

#[test]
fn cross_entropy_agrees_with_its_definition_with_all_options() {
    for (options, target) in cross_entropies() {
        let target_like =
            |x: &Tensor| if target.dtype() == DType::I64 { target.clone() } else { target.to_dtype(x.dtype()) };
        let fused = |p: &Vec<Tensor>| p[0].cross_entropy(&target_like(&p[0]), &options);
        let plain = |p: &Vec<Tensor>| plain_cross_entropy(&p[0], &target, &options);
        agree(&format!("{options:?}"), &[&random(1, &[5, 5]) * 4.0], &fused, &plain);
        gradcheck(&format!("{options:?}"), &[random(1, &[5, 5])], &fused);
    }
    let (x, t) = (random(1, &[5, 5]), random(2, &[5, 5]).square());
    gradcheck("soft targets", &[x, t], &|p| p[0].cross_entropy(&p[1], &CrossEntropy::default()));
}
