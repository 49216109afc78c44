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

fn run(blocks: usize, kept: &[usize], frugal: bool) -> Outcome {
    let chain = chain(blocks);
    let parameters: Vec<Vec<Tensor>> =
        (0..blocks).map(|i| vec![(values(WIDTH, i as u64) * 0.5).requires_grad()]).collect();
    let x = values(WIDTH, 77).requires_grad();
    let (kept_bytes, cost) = meter::measure(|| {
        let kept = if frugal { chain.keep(kept).frugal() } else { chain.keep(kept) };
        let (y, forward) = meter::measure(|| kept.run(&x, &parameters).sum());
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
    let (all, three) = (run(4, &[0, 1, 2, 3], false), run(4, &[0, 1, 3], false));
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

    // The more blocks are kept, the more memory and the less recomputation: every number of kept blocks out of eight. Of
    // neighbours that are dropped together the plain way holds all activations while it works on them, the frugal way
    // those of one block.
    let blocks = 8;
    // The order matters: the last block's activations are needed at once in the backward pass, so that dropping it saves
    // little and, as the very last, would cost the values between halves. In this order, found by trying all sets of
    // dropped blocks, every step saves; in others the peak can rise for a step.
    let drops = [0, 1, 2, 3, 5, 6, 7, 4];
    let sweep = |frugal: bool| -> Vec<Outcome> {
        let kept = |dropped: usize| (0..blocks).filter(|i| !drops[..dropped].contains(i)).collect::<Vec<usize>>();
        (0..=blocks).map(|dropped| run(blocks, &kept(dropped), frugal)).collect()
    };
    let (plain, frugal) = (sweep(false), sweep(true));
    let first = plain[0].gradients.clone();
    for (dropped, (plain, frugal)) in plain.iter().zip(&frugal).enumerate() {
        assert_eq!(plain.evaluations, blocks + dropped);
        assert!(plain.gradients == first && frugal.gradients == first, "{dropped} dropped");
    }
    let falls = |values: Vec<i64>| assert!(values.windows(2).all(|pair| pair[1] < pair[0]), "{values:?}");
    falls(plain.iter().map(|outcome| outcome.kept).collect());
    falls(frugal.iter().map(|outcome| outcome.kept).collect());
    falls(frugal.iter().map(|outcome| -(outcome.evaluations as i64)).collect());
    // The peak of forward and backward pass together, over the whole sweep.
    falls(frugal.iter().map(|outcome| outcome.peak as i64).collect());
    assert!(frugal[blocks].peak < plain[blocks].peak);
}
