//! Resident memory stays flat over a long training run.

use tove::prelude::*;

/// Resident bytes of this process, where the system tells.
fn resident() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * 4096)
}

fn numbers(shape: [usize; 2], seed: f64) -> Tensor {
    let number = |i: usize| (seed + i as f64 * 0.618_034).fract() as f32 - 0.5;
    Tensor::from_vec((0..shape[0] * shape[1]).map(number).collect(), shape)
}

#[test]
fn memory_is_flat_over_ten_thousand_steps() {
    if resident().is_none() {
        println!("SKIPPED: system feature absent: /proc/self/statm");
        return;
    }
    let (x, y) = (numbers([32, 16], 0.1), numbers([32, 4], 0.2));
    let shapes = [[64, 16], [1, 64], [4, 64], [1, 4]];
    let mut parameters: Vec<Tensor> = shapes.iter().zip(1..).map(|(&s, i)| numbers(s, f64::from(i) * 0.3)).collect();
    parameters[1] = parameters[1].get(0);
    parameters[3] = parameters[3].get(0);
    parameters.iter_mut().for_each(|p| *p = p.contiguous().requires_grad());
    let mut adam = Adam::default();
    let mut train = |steps: usize| {
        let mut last = 0.0;
        for _ in 0..steps {
            let [w1, b1, w2, b2] = [&parameters[0], &parameters[1], &parameters[2], &parameters[3]];
            let hidden = x.linear(w1, Some(b1), Activation::Relu);
            let error = hidden.linear(w2, Some(b2), Activation::Identity) - &y;
            let loss = error.square().mean();
            last = loss.item::<f32>();
            loss.backward();
            let mut targets: Vec<&mut Tensor> = parameters.iter_mut().collect();
            adam.step(&mut targets).expect("every parameter has a gradient");
        }
        last
    };
    let before = train(500); // buffers, threads and lists find their size
    let start = resident().unwrap_or_default();
    let after = train(10_000);
    let end = resident().unwrap_or_default();
    assert!(after < before, "no training: {before} to {after}");
    let growth = end.saturating_sub(start);
    assert!(growth < 512 * 1024, "{growth} bytes more after 10,000 steps");
}
