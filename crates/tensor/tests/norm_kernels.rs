//! The kernels of normalisation, softmax, cross-entropy and attention against compositions of plain operations: values,
//! gradients, second derivatives in both modes, `vmap`, odd sizes, empty tensors, thread counts and messages.

use tove_tensor::optimizer_kernels::{AdamStep, adam_step};
use tove_tensor::random::Key;
use tove_tensor::{CrossEntropy, DType, Reduction, Tensor, TryNorm, grad, hvp, jvp, set_num_threads, vjp, vmap};

/// Numbers in [-1, 1) from a multiplicative hash.
fn random(seed: u64, shape: &[usize]) -> Tensor {
    let value = |i: u64| {
        let mut z = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(seed.wrapping_mul(0xd1b5_4a32_d192_ed03));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    let count = shape.iter().product::<usize>() as u64;
    Tensor::from_vec((0..count).map(value).collect::<Vec<f64>>(), shape)
}

fn close(what: &str, a: &Tensor, b: &Tensor, tolerance: f64) {
    assert_eq!(a.shape(), b.shape(), "{what}");
    for (i, (x, y)) in a.to_f64_vec().iter().zip(&b.to_f64_vec()).enumerate() {
        let same = x == y || (x.is_nan() && y.is_nan());
        assert!(same || (x - y).abs() <= tolerance * (1.0 + y.abs()), "{what} at {i}: {x} is not {y}");
    }
}

type Function<'a> = &'a dyn Fn(&Vec<Tensor>) -> Tensor;

/// Value and gradients of a fused operation and of its composition agree, in f64 and f32.
fn agree(what: &str, inputs: &[Tensor], fused: Function<'_>, plain: Function<'_>) {
    for (dtype, tolerance) in [(DType::F64, 1e-11), (DType::F32, 2e-4)] {
        let inputs: Vec<Tensor> = inputs.iter().map(|x| x.to_dtype(dtype)).collect();
        let ((a, pull_a), (b, pull_b)) = (vjp(fused, &inputs), vjp(plain, &inputs));
        close(what, &a, &b, tolerance);
        let upstream = random(99, a.dims()).to_dtype(dtype);
        for (i, (x, y)) in pull_a(&upstream).iter().zip(&pull_b(&upstream)).enumerate() {
            close(&format!("{what}: gradient {i} in {dtype}"), x, y, tolerance);
        }
    }
}

/// First derivatives against differences of values, second derivatives against differences of gradients, both modes.
fn gradcheck(what: &str, inputs: &[Tensor], f: Function<'_>) {
    let inputs = inputs.to_vec();
    let weights = random(7, f(&inputs).dims());
    let scalar = |p: &Vec<Tensor>| (f(p) * &weights).sum();
    let direction: Vec<Tensor> = inputs.iter().enumerate().map(|(i, x)| random(40 + i as u64, x.dims())).collect();
    let moved = |h: f64| -> Vec<Tensor> { inputs.iter().zip(&direction).map(|(x, d)| x + &(d * h)).collect() };
    let along = |gradient: &[Tensor]| -> f64 {
        gradient.iter().zip(&direction).map(|(g, d)| (g * d).sum().item::<f64>()).sum()
    };
    let h = 1e-5;
    let (up, down) = (moved(h), moved(-h));
    let slope = (scalar(&up).item::<f64>() - scalar(&down).item::<f64>()) / (2.0 * h);
    let reverse = along(&grad(scalar)(&inputs));
    let forward = jvp(scalar, &inputs, &direction).1.item::<f64>();
    assert!((slope - reverse).abs() < 1e-7 * (1.0 + slope.abs()), "{what}: {reverse} is not {slope}");
    assert!((forward - reverse).abs() < 1e-10 * (1.0 + slope.abs()), "{what}: {forward} is not {reverse}");
    let second = (along(&grad(scalar)(&up)) - along(&grad(scalar)(&down))) / (2.0 * h);
    let over_reverse = along(&hvp(scalar, &inputs, &direction));
    let directional = |p: &Vec<Tensor>| {
        let terms = grad(scalar)(p).iter().zip(&direction).map(|(g, d)| (g * d).sum()).collect::<Vec<_>>();
        terms.iter().skip(1).fold(terms[0].clone(), |sum, term| &sum + term)
    };
    let twice = along(&grad(directional)(&inputs));
    assert!((second - over_reverse).abs() < 1e-6 * (1.0 + second.abs()), "{what}: {over_reverse} is not {second}");
    assert!((twice - over_reverse).abs() < 1e-9 * (1.0 + second.abs()), "{what}: {twice} is not {over_reverse}");
}

fn plain_softmax(x: &Tensor, axis: isize) -> Tensor {
    let e = (x - &x.detach().max_axes(&[axis], true)).exp();
    &e / &e.sum_axes(&[axis], true)
}

fn plain_layer_norm(p: &[Tensor], eps: f64) -> Tensor {
    let centred = &p[0] - &p[0].mean_axes(&[-1], true);
    let variance = centred.square().mean_axes(&[-1], true);
    &(&(&centred * &(&variance + eps).rsqrt()) * &p[1]) + &p[2]
}

fn plain_batch_norm(p: &[Tensor], eps: f64) -> Tensor {
    let axes: Vec<isize> = (0..p[0].rank() as isize).filter(|&axis| axis != 1).collect();
    let centred = &p[0] - &p[0].mean_axes(&axes, true);
    let variance = centred.square().mean_axes(&axes, true);
    let mut shape = vec![1; p[0].rank() - 1];
    shape[0] = p[0].dims()[1];
    let scaled = &centred * &(&variance + eps).rsqrt();
    &(&scaled * &p[1].reshape(&shape[..])) + &p[2].reshape(&shape[..])
}

fn plain_attention(p: &[Tensor], causal: bool) -> Tensor {
    let width = p[0].dims()[p[0].rank() - 1];
    let mut scores = &p[0].matmul(&p[1].t()) * (1.0 / (width as f64).sqrt());
    if let Some(mask) = p.get(3) {
        scores = &scores + mask;
    }
    if causal {
        let (m, n) = (p[0].dims()[p[0].rank() - 2], p[1].dims()[p[1].rank() - 2]);
        let seen = Tensor::arange(0, m as i64).unsqueeze(1).ge(&Tensor::arange(0, n as i64));
        scores = seen.select(&scores, &Tensor::scalar(f64::NEG_INFINITY).to_dtype(scores.dtype()));
    }
    plain_softmax(&scores, -1).matmul(&p[2])
}

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

#[test]
fn second_derivatives_in_both_modes() {
    let x = random(1, &[3, 4, 2]);
    gradcheck("softmax", std::slice::from_ref(&x), &|p| p[0].softmax(1));
    gradcheck("log_softmax", std::slice::from_ref(&x), &|p| p[0].log_softmax(-1));
    gradcheck("gelu_tanh", &[&x * 3.0], &|p| p[0].gelu_tanh());
    gradcheck("gelu", &[&x * 3.0], &|p| p[0].gelu());
    let affine = |n: usize| [x.clone(), random(2, &[n]), random(3, &[n])];
    gradcheck("layer_norm", &affine(2), &|p| p[0].layer_norm(&[2], Some(&p[1]), Some(&p[2]), 0.1));
    gradcheck("batch_norm", &affine(4), &|p| p[0].batch_norm(Some(&p[1]), Some(&p[2]), 0.1).0);
    let whole = [x.clone(), random(2, &[4, 2])];
    gradcheck("layer_norm of two axes", &whole, &|p| p[0].layer_norm(&[4, 2], Some(&p[1]), None, 0.1));
    let qkv = [random(4, &[2, 5, 3]), random(5, &[2, 5, 3]), random(6, &[2, 5, 2])];
    gradcheck("attention", &qkv, &|p| p[0].scaled_dot_product_attention(&p[1], &p[2], false, None, Some(0.7)));
    gradcheck("causal attention", &qkv, &|p| p[0].scaled_dot_product_attention(&p[1], &p[2], true, None, None));
}

#[test]
fn vmap_is_a_loop_over_slices() {
    let rows = |x: &Tensor, f: &dyn Fn(&Tensor) -> Tensor| {
        let results: Vec<Tensor> = (0..x.dims()[0]).map(|i| f(&x.get(i))).collect();
        Tensor::stack(&results.iter().collect::<Vec<_>>(), 0)
    };
    let x = random(1, &[3, 4, 5]);
    let classes = Tensor::from([0i64, 4, 2, 2]);
    let mean = CrossEntropy { ignore_index: Some(2), ..CrossEntropy::default() };
    type Function = Box<dyn Fn(&Tensor) -> Tensor>;
    let functions: [(&str, Function); 8] = [
        ("softmax", Box::new(|x| x.softmax(0))),
        ("log_softmax", Box::new(|x| x.log_softmax(1))),
        ("layer_norm", Box::new(|x| x.layer_norm(&[5], None, None, 1e-5))),
        ("batch_norm", Box::new(|x| x.batch_norm(None, None, 1e-5).0)),
        ("statistics", Box::new(|x| x.batch_norm(None, None, 1e-5).1.variance)),
        ("cross_entropy", Box::new(move |x| x.cross_entropy(&classes, &mean))),
        ("attention", Box::new(|x| x.scaled_dot_product_attention(x, x, true, None, None))),
        ("packed_attention", Box::new(|x| x.narrow(1, 0, 3).packed_attention(1, true, None, None))),
    ];
    for (name, f) in &functions {
        close(name, &vmap(|x: &Tensor| f(x))(&x), &rows(&x, f), 1e-13);
        let slope = |x: &Tensor| grad(|x: &Tensor| f(x).square().sum())(x);
        close(&format!("slope of {name}"), &vmap(slope)(&x), &rows(&x, &slope), 1e-11);
    }
    let keys = random(2, &[4, 5]);
    let mixed = |x: &Tensor| x.scaled_dot_product_attention(&keys, x, false, None, None);
    close("mixed", &vmap(mixed)(&x), &rows(&x, &mixed), 1e-13);
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let x = random(1, &[700, 130]).to_dtype(DType::F32);
    let images = x.reshape([70, 13, 100]);
    let heads = random(2, &[6, 200, 8]).to_dtype(DType::F32);
    let (w, b) = (random(3, &[130]).to_dtype(DType::F32), random(4, &[130]).to_dtype(DType::F32));
    let classes = Tensor::from_vec((0..700).map(|i| i % 130).collect::<Vec<i64>>(), [700]);
    let all = || {
        let mut results = Vec::new();
        let mut keep = |inputs: Vec<Tensor>, f: Function<'_>| {
            let (y, pull) = vjp(f, &inputs);
            results.extend(pull(&random(9, y.dims()).to_dtype(DType::F32)).iter().map(|g| g.to_vec::<f32>()));
            results.push(y.to_vec::<f32>());
        };
        keep(vec![x.clone()], &|p| p[0].softmax(-1));
        keep(vec![x.clone()], &|p| p[0].log_softmax(0));
        keep(vec![x.clone(), w.clone(), b.clone()], &|p| p[0].layer_norm(&[130], Some(&p[1]), Some(&p[2]), 1e-5));
        keep(vec![x.clone(), w.clone(), b.clone()], &|p| p[0].batch_norm(Some(&p[1]), Some(&p[2]), 1e-5).0);
        keep(vec![images.clone()], &|p| p[0].batch_norm(None, None, 1e-5).0);
        keep(vec![x.clone()], &|p| p[0].cross_entropy(&classes, &CrossEntropy::default()));
        keep(vec![heads.clone()], &|p| p[0].scaled_dot_product_attention(&p[0], &p[0], true, None, None));
        keep(vec![heads.reshape([6, 100, 48 / 3])], &|p| p[0].narrow(2, 0, 12).packed_attention(2, true, None, None));
        let (mut p, mut m, mut v) = (x.clone(), x.zeros_like(), x.zeros_like());
        adam_step(&mut p, &x, &mut m, &mut v, &AdamStep::default()).expect("shapes agree");
        results.push(p.to_vec::<f32>());
        results
    };
    set_num_threads(1);
    let alone = all();
    for threads in [2, 3, 8] {
        set_num_threads(threads);
        assert!(all() == alone, "{threads} threads");
    }
    set_num_threads(0);
}

#[test]
fn messages_name_what_is_wrong() {
    let x = random(1, &[2, 3]);
    let text = |result: tove_tensor::Result<Tensor>| result.expect_err("wrong on purpose").to_string();
    let wrong = text(x.try_cross_entropy(&Tensor::from([0i64, 3]), &CrossEntropy::default()));
    assert_eq!(wrong, "cross_entropy: target has class 3 in row 1, but there are 3 classes, 0 to 2");
    assert!(text(x.try_cross_entropy(&Tensor::from([0i64]), &CrossEntropy::default())).contains("(2, 3)"));
    assert!(text(x.try_softmax(2)).contains("axis 2"));
    assert!(text(x.try_layer_norm(&[2], None, None, 1e-5)).contains("last axes"));
    assert!(text(x.try_layer_norm(&[3], Some(&random(1, &[2])), None, 1e-5)).contains("weight needs shape"));
    assert!(text(x.try_layer_norm(&[3], None, None, -1.0)).contains("eps"));
    assert!(text(Tensor::from([1.0]).try_batch_norm(None, None, 1e-5).map(|(y, _)| y)).contains("channel"));
    assert!(text(x.try_scaled_dot_product_attention(&random(1, &[2, 4]), &x, false, None, None)).contains("width"));
    let (mut p, g) = (x.clone(), random(1, &[3]));
    let (mut m, mut v) = (x.zeros_like(), x.zeros_like());
    let error = adam_step(&mut p, &g, &mut m, &mut v, &AdamStep::default()).expect_err("shapes differ");
    assert!(error.to_string().contains("(3)") || error.to_string().contains("(3,)"), "{error}");
}

#[test]
fn dropout_is_a_function_of_key_and_index() {
    let x = random(1, &[100, 130]);
    let y = x.dropout(0.25, Key::new(1));
    let (a, b) = (x.to_vec::<f64>(), y.to_vec::<f64>());
    assert!(a.iter().zip(&b).all(|(x, y)| *y == 0.0 || (y - x / 0.75).abs() < 1e-15));
    let dropped = b.iter().filter(|y| **y == 0.0).count() as f64 / b.len() as f64;
    assert!((dropped - 0.25).abs() < 0.02, "{dropped}");
    assert_ne!(b, x.dropout(0.25, Key::new(2)).to_vec::<f64>());
    assert_eq!(x.dropout(0.0, Key::new(1)).to_vec::<f64>(), a);
    assert!(x.dropout(1.0, Key::new(1)).to_vec::<f64>().iter().all(|y| *y == 0.0));
    assert!(x.try_dropout(1.5, Key::new(1)).expect_err("no probability").to_string().contains("1.5"));
    gradcheck("dropout", &[random(1, &[4, 5])], &|p| p[0].dropout(0.5, Key::new(3)));
}
