//! Random numbers, comparisons, and the compositions that define the operations.

use tove_tensor::{DType, Tensor, grad, hvp, jvp, vjp};

/// Numbers in [-1, 1) from a multiplicative hash.
pub fn random(seed: u64, shape: &[usize]) -> Tensor {
    let value = |i: u64| {
        let mut z = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(seed.wrapping_mul(0xd1b5_4a32_d192_ed03));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    let count = shape.iter().product::<usize>() as u64;
    Tensor::from_vec((0..count).map(value).collect::<Vec<f64>>(), shape)
}

pub fn close(what: &str, a: &Tensor, b: &Tensor, tolerance: f64) {
    assert_eq!(a.shape(), b.shape(), "{what}");
    for (i, (x, y)) in a.to_f64_vec().iter().zip(&b.to_f64_vec()).enumerate() {
        let same = x == y || (x.is_nan() && y.is_nan());
        assert!(same || (x - y).abs() <= tolerance * (1.0 + y.abs()), "{what} at {i}: {x} is not {y}");
    }
}

pub type Function<'a> = &'a dyn Fn(&Vec<Tensor>) -> Tensor;

/// Value and gradients of a fused operation and of its composition agree, in f64 and f32.
pub fn agree(what: &str, inputs: &[Tensor], fused: Function<'_>, plain: Function<'_>) {
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
pub fn gradcheck(what: &str, inputs: &[Tensor], f: Function<'_>) {
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

pub fn plain_softmax(x: &Tensor, axis: isize) -> Tensor {
    let e = (x - &x.detach().max_axes(&[axis], true)).exp();
    &e / &e.sum_axes(&[axis], true)
}

pub fn plain_layer_norm(p: &[Tensor], eps: f64) -> Tensor {
    let centred = &p[0] - &p[0].mean_axes(&[-1], true);
    let variance = centred.square().mean_axes(&[-1], true);
    &(&(&centred * &(&variance + eps).rsqrt()) * &p[1]) + &p[2]
}

pub fn plain_batch_norm(p: &[Tensor], eps: f64) -> Tensor {
    let axes: Vec<isize> = (0..p[0].rank() as isize).filter(|&axis| axis != 1).collect();
    let centred = &p[0] - &p[0].mean_axes(&axes, true);
    let variance = centred.square().mean_axes(&axes, true);
    let mut shape = vec![1; p[0].rank() - 1];
    shape[0] = p[0].dims()[1];
    let scaled = &centred * &(&variance + eps).rsqrt();
    &(&scaled * &p[1].reshape(&shape[..])) + &p[2].reshape(&shape[..])
}

pub fn plain_attention(p: &[Tensor], causal: bool) -> Tensor {
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
