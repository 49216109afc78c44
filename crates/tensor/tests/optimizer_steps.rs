//! Steps of optimisers against plain loops in double precision.

use tove_tensor::Tensor;
use tove_tensor::optimizer_kernels::{AdamStep, AdamTensors, SgdStep, adam_step, adam_step_all, sgd_step};

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

#[test]
fn optimizer_steps_follow_their_formulas() {
    let count = 40_003;
    let (start, g) = (random(1, &[count]), random(2, &[count]));
    for decoupled in [false, true] {
        let (mut p, mut m, mut v) = (start.requires_grad(), g.zeros_like(), g.zeros_like());
        let (mut rp, mut rm, mut rv) = (start.to_vec::<f64>(), vec![0.0; count], vec![0.0; count]);
        for step in 1..=3u64 {
            let settings = AdamStep { learning_rate: 0.01, weight_decay: 0.1, decoupled, step, ..AdamStep::default() };
            adam_step(&mut p, &g, &mut m, &mut v, &settings).expect("shapes agree");
            for (i, &g) in g.to_vec::<f64>().iter().enumerate() {
                let g = if decoupled { g } else { g + 0.1 * rp[i] };
                rp[i] *= if decoupled { 1.0 - 0.001 } else { 1.0 };
                rm[i] = 0.9 * rm[i] + 0.1 * g;
                rv[i] = 0.999 * rv[i] + 0.001 * g * g;
                let (a, b) = (rm[i] / (1.0 - 0.9f64.powi(step as i32)), rv[i] / (1.0 - 0.999f64.powi(step as i32)));
                rp[i] -= 0.01 * a / (b.sqrt() + 1e-8);
            }
        }
        assert!(p.is_leaf());
        close("adam", &p.detach(), &Tensor::from(rp), 1e-12);
    }
    for nesterov in [false, true] {
        let (mut p, mut u) = (start.clone(), g.zeros_like());
        let (mut rp, mut ru) = (start.to_vec::<f64>(), vec![0.0; count]);
        for step in 1..=3u64 {
            let dampening = if nesterov { 0.0 } else { 0.5 };
            let settings = SgdStep { learning_rate: 0.1, momentum: 0.9, weight_decay: 0.1, dampening, nesterov, step };
            sgd_step(&mut p, &g, Some(&mut u), &settings).expect("shapes agree");
            for (i, &g) in g.to_vec::<f64>().iter().enumerate() {
                let g = g + 0.1 * rp[i];
                ru[i] = if step == 1 { g } else { 0.9 * ru[i] + (1.0 - dampening) * g };
                rp[i] -= 0.1 * if nesterov { g + 0.9 * ru[i] } else { ru[i] };
            }
        }
        close("sgd", &p, &Tensor::from(rp), 1e-12);
    }
    let mut p = start.clone();
    let settings = SgdStep { learning_rate: 0.5, ..SgdStep::default() };
    sgd_step(&mut p, &g, None, &settings).expect("shapes agree");
    close("plain descent", &p, &(&start - &(&g * 0.5)), 1e-15);
    assert!(sgd_step(&mut p, &g, None, &SgdStep { momentum: 0.5, ..settings }).is_err());
}

#[test]
fn a_step_for_all_is_a_step_for_each() {
    let shapes: [&[usize]; 4] = [&[8, 64], &[64], &[200, 300], &[]];
    let gradients: Vec<Tensor> = (0..4u64).map(|i| random(10 + i, shapes[i as usize])).collect();
    let start = || -> Vec<[Tensor; 3]> {
        (0..4u64)
            .map(|i| random(i, shapes[i as usize]))
            .map(|p| [p.requires_grad(), p.zeros_like(), p.zeros_like()])
            .collect()
    };
    let (mut together, mut apart) = (start(), start());
    for step in 1..=3 {
        let settings = AdamStep { weight_decay: 0.1, step, ..AdamStep::default() };
        let all = together.iter_mut().zip(&gradients);
        let all = all.map(|([parameter, first, second], gradient)| AdamTensors { parameter, gradient, first, second });
        adam_step_all(all, &settings).expect("shapes agree");
        for ([p, m, v], g) in apart.iter_mut().zip(&gradients) {
            adam_step(p, g, m, v, &settings).expect("shapes agree");
        }
    }
    for (a, b) in together.iter().flatten().zip(apart.iter().flatten()) {
        assert_eq!(a.to_f64_vec(), b.to_f64_vec());
    }
    // A mistake in the last one leaves the first one alone.
    let before = together[0][0].to_f64_vec();
    let wrong = random(1, &[5]);
    let all = together.iter_mut().zip([&gradients[0], &gradients[1], &gradients[2], &wrong]);
    let all = all.map(|([parameter, first, second], gradient)| AdamTensors { parameter, gradient, first, second });
    let error = adam_step_all(all, &AdamStep::default()).expect_err("shapes differ").to_string();
    assert!(error.contains("adam_step_all"), "{error}");
    assert_eq!(together[0][0].to_f64_vec(), before);
}
