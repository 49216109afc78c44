//! B20 and B21: what the modes cost, and checkpointing. Costs are counted by the meter.

use std::cell::Cell;

use tove_tensor::testing::values;
use tove_tensor::{Chain, Tensor, grad, jvp, meter, vjp};

use crate::support::{TOL64, close};

const MANY: usize = 1000;

fn basis(i: usize, n: usize) -> Tensor {
    let mut direction = vec![0.0; n];
    direction[i] = 1.0;
    Tensor::from_vec(direction, n)
}

/// Peak bytes of the gradient or the directional derivative of a chain of `depth` functions on 1000 numbers.
fn peaks(depth: usize) -> (u64, u64) {
    let f = |x: &Tensor| {
        let mut h = x.sin();
        for _ in 1..depth {
            h = h.sin();
        }
        h.sum()
    };
    let x = values(MANY, 1);
    let reverse = meter::measure(|| grad(f)(&x)).1.peak_bytes();
    let forward = meter::measure(|| jvp(f, &x, &x)).1.peak_bytes();
    (reverse, forward)
}

#[test]
fn b20_modes_trade_passes_and_memory() {
    // Many inputs, one output: one backward pass, against one forward pass per input.
    let runs = Cell::new(0);
    let many_to_one = |x: &Tensor| {
        runs.set(runs.get() + 1);
        (x.sin() * x).sum()
    };
    let x = values(MANY, 1);
    let (gradient, cost) = meter::measure(|| grad(many_to_one)(&x));
    assert_eq!(runs.replace(0), 1);
    assert_eq!(cost.calls("backward step"), 3); // sin, product and sum, each visited once
    let slopes: Vec<f64> = (0..MANY).map(|i| jvp(many_to_one, &x, &basis(i, MANY)).1.item()).collect();
    assert_eq!(runs.get(), MANY);
    close(&Tensor::from(slopes), &gradient, TOL64);

    // One input, many outputs: one forward pass, against one backward pass per output.
    let (runs, w) = (Cell::new(0), values(MANY, 2));
    let one_to_many = |t: &Tensor| {
        runs.set(runs.get() + 1);
        (t * &w).cos()
    };
    let t = Tensor::scalar(0.7);
    let ((_, column), cost) = meter::measure(|| jvp(one_to_many, &t, &Tensor::scalar(1.0)));
    assert_eq!((runs.replace(0), cost.calls("backward step")), (1, 0));
    let ((rows, passes), cost) = meter::measure(|| {
        let (_, pull) = vjp(one_to_many, &t);
        let rows: Vec<f64> = (0..MANY).map(|i| pull(&basis(i, MANY)).item()).collect();
        let passes = rows.len();
        (rows, passes)
    });
    assert_eq!((runs.get(), passes, cost.calls("backward step")), (1, MANY, 2 * MANY as u64));
    close(&Tensor::from(rows), &column, TOL64);

    // Memory: reverse mode keeps every intermediate, forward mode only the current ones.
    let (reverse, forward): (Vec<u64>, Vec<u64>) = [8, 16, 32, 64].into_iter().map(peaks).unzip();
    assert!(forward.iter().all(|&peak| peak == forward[0]), "{forward:?}");
    let block = 8 * MANY as u64;
    for (i, depth) in [8u64, 16, 32, 64].into_iter().enumerate() {
        assert!(reverse[i] >= depth * block && reverse[i] <= (depth + 4) * block, "{reverse:?}");
    }
}

const WIDTH: usize = 64;

/// Blocks with several activations each.
fn chain(blocks: usize) -> Chain {
    (0..blocks).fold(Chain::new(), |chain, _| {
        chain.block(|x, w| {
            let h = (x * &w[0]).sin();
            let h = (h.exp() * &h).tanh();
            (h.sigmoid() * &h).sin().sin().sin()
        })
    })
}

struct Outcome {
    evaluations: usize,
    /// Bytes kept between forward and backward pass.
    kept: i64,
    peak: u64,
    gradients: Vec<Vec<u64>>,
}

fn run(blocks: usize, kept: &[usize]) -> Outcome {
    let chain = chain(blocks);
    let parameters: Vec<Vec<Tensor>> =
        (0..blocks).map(|i| vec![(values(WIDTH, i as u64) * 0.5).requires_grad()]).collect();
    let x = values(WIDTH, 77).requires_grad();
    let (kept_bytes, cost) = meter::measure(|| {
        let (y, forward) = meter::measure(|| chain.keep(kept).run(&x, &parameters).sum());
        y.backward();
        forward.held_bytes()
    });
    let leaves = parameters.iter().flatten().chain([&x]);
    let bits = |leaf: &Tensor| leaf.grad().unwrap().to_vec::<f64>().into_iter().map(f64::to_bits).collect();
    Outcome {
        evaluations: chain.evaluations(),
        kept: kept_bytes,
        peak: cost.peak_bytes(),
        gradients: leaves.map(bits).collect(),
    }
}

#[test]
fn b21_checkpointing_trades_work_for_memory() {
    // Four blocks; 1, 2 and 4 kept: block 3 runs again in the backward pass, and only it.
    let (all, three) = (run(4, &[0, 1, 2, 3]), run(4, &[0, 1, 3]));
    assert_eq!((all.evaluations, three.evaluations), (4, 5));
    assert_eq!(three.evaluations as f64 / all.evaluations as f64, 1.25);
    assert_eq!(three.gradients, all.gradients);
    assert!(
        three.kept < all.kept && three.peak < all.peak,
        "{:?} {:?}",
        (three.kept, all.kept),
        (three.peak, all.peak)
    );
    let plain = {
        let parameters: Vec<Vec<Tensor>> = (0..4).map(|i| vec![values(WIDTH, i) * 0.5]).collect();
        let gradient = grad(|x: &Tensor| chain(4).keep(&[0, 1, 2, 3]).run(x, &parameters).sum())(&values(WIDTH, 77));
        gradient.to_vec::<f64>().into_iter().map(f64::to_bits).collect::<Vec<_>>()
    };
    assert_eq!(all.gradients.last(), Some(&plain));

    // The more blocks are kept, the more memory and the less recomputation: every number of kept blocks out of eight.
    let blocks = 8;
    let drops = [0, 2, 4, 6, 1, 3, 5, 7]; // neighbours last, and the last block at the very end: its rerun saves nothing
    let sweep: Vec<Outcome> = (0..=blocks)
        .map(|dropped| {
            let kept: Vec<usize> = (0..blocks).filter(|i| !drops[..dropped].contains(i)).collect();
            run(blocks, &kept)
        })
        .collect();
    for (dropped, outcome) in sweep.iter().enumerate() {
        assert_eq!(outcome.evaluations, blocks + dropped);
        assert_eq!(outcome.gradients, sweep[0].gradients);
    }
    let kept: Vec<i64> = sweep.iter().map(|outcome| outcome.kept).collect();
    assert!(kept.windows(2).all(|pair| pair[1] < pair[0]), "{kept:?}");
    // The peak of both passes falls as long as no run of dropped blocks outgrows what is kept elsewhere.
    let peaks: Vec<u64> = sweep[..5].iter().map(|outcome| outcome.peak).collect();
    assert!(peaks.windows(2).all(|pair| pair[1] < pair[0]), "{peaks:?}");
}
