//! B20 and B21: what the modes cost, and checkpointing. Costs are counted by the meter.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tove_tensor::autodiff::KeptChain;
use tove_tensor::testing::values;
use tove_tensor::{Chain, Tensor, grad, jacfwd, jacobian, jacrev, jvp, meter, vjp, vmap};

use crate::support::{TOL64, close};

const MANY: usize = 1000;

fn basis(i: usize, n: usize) -> Tensor {
    let mut direction = vec![0.0; n];
    direction[i] = 1.0;
    Tensor::from_vec(direction, n)
}

/// Peak bytes of the library's Jacobians of a chain of `depth` functions: by reverse mode of one number by 1000, by forward
/// mode of 1000 numbers by one.
fn peaks(depth: usize) -> (u64, u64) {
    let chain = |x: &Tensor| (1..depth).fold(x.sin(), |h, _| h.sin());
    let (x, w) = (values(MANY, 1), values(MANY, 2));
    let reverse = meter::measure(|| jacrev(|x: &Tensor| chain(x).sum(), &x)).1.peak_bytes();
    let forward = meter::measure(|| jacfwd(|t: &Tensor| chain(&(t * &w)), &Tensor::scalar(0.7))).1.peak_bytes();
    (reverse, forward)
}

/// Floating-point operations of `count` directional derivatives, and of as many cotangents pulled back, in one sweep.
fn sweeps(f: &dyn Fn(&Tensor) -> Tensor, x: &Tensor, count: usize) -> (u64, u64) {
    let rows = |like: &Tensor| {
        let sizes: Vec<usize> = [count].into_iter().chain(like.dims().iter().copied()).collect();
        values(sizes, 5)
    };
    let y = f(x);
    let pushed = meter::measure(|| vmap(|v: &Tensor| jvp(f, x, v).1)(&rows(x))).1.flops();
    let pulled = meter::measure(|| {
        let (_, pull) = vjp(f, x);
        vmap(|u: &Tensor| pull(u))(&rows(&y))
    });
    (pushed, pulled.1.flops())
}

/// How many directional derivatives, and how many backward passes, a cost amounts to: sweeps cost a + b k for k of them.
fn amounts(f: &dyn Fn(&Tensor) -> Tensor, x: &Tensor, cost: (u64, u64)) -> (f64, f64) {
    let (one, two) = (sweeps(f, x, 1), sweeps(f, x, 2));
    let count = |cost: u64, one: u64, two: u64| 1.0 + (cost as f64 - one as f64) / (two as f64 - one as f64);
    (count(cost.0, one.0, two.0), count(cost.1, one.1, two.1))
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

    // The library's own Jacobians: each runs the function once, forward mode with a directional derivative per input, reverse
    // mode with a backward pass per output, all of them in one sweep.
    let flops = |work: &dyn Fn() -> Tensor| meter::measure(work).1;
    let jacobians = |f: &dyn Fn(&Tensor) -> Tensor, x: &Tensor| {
        let (forward, reverse, chosen) = (flops(&|| jacfwd(f, x)), flops(&|| jacrev(f, x)), flops(&|| jacobian(f, x)));
        assert_eq!(forward.calls("backward step"), 0);
        let steps = reverse.calls("backward step");
        assert!(steps > 0);
        (amounts(f, x, (forward.flops(), reverse.flops())), forward.flops(), reverse.flops(), chosen, steps)
    };
    let many = MANY as f64;
    let wide = |x: &Tensor| (x.sin() * x).sum();
    let ((pushed, pulled), forward, reverse, chosen, steps) = jacobians(&wide, &x);
    assert!((pushed / many - 1.0).abs() < 1e-9 && (pulled - 1.0).abs() < 1e-9, "{pushed} and {pulled}");
    assert!(forward > 100 * reverse, "{forward} and {reverse}");
    // `jacobian` takes the cheaper one: reverse here, with one more run to learn the number of outputs.
    assert_eq!(chosen.calls("backward step"), steps);
    assert_eq!(chosen.flops(), reverse + meter::measure(|| wide(&x)).1.flops());
    let tall = |t: &Tensor| (t * &w).cos();
    let ((pushed, pulled), forward, reverse, chosen, _) = jacobians(&tall, &t);
    assert!((pushed - 1.0).abs() < 1e-9 && (pulled / many - 1.0).abs() < 1e-9, "{pushed} and {pulled}");
    assert!(reverse > 100 * forward, "{forward} and {reverse}");
    assert_eq!(chosen.calls("backward step"), 0);
    assert_eq!(chosen.flops(), forward + meter::measure(|| tall(&t)).1.flops());
    close(&jacobian(wide, &x), &gradient, TOL64);
    close(&jacobian(tall, &t), &column, TOL64);

    // Memory: reverse mode keeps every intermediate, forward mode only the current ones.
    let (reverse, forward): (Vec<u64>, Vec<u64>) = [8, 16, 32, 64].into_iter().map(peaks).unzip();
    assert!(forward.iter().all(|&peak| peak == forward[0]), "{forward:?}");
    let block = 8 * MANY as u64;
    for (i, depth) in [8u64, 16, 32, 64].into_iter().enumerate() {
        assert!(reverse[i] >= depth * block && reverse[i] <= (depth + 4) * block, "{reverse:?}");
    }
}

const WIDTH: usize = 64;

/// How often each block has run.
type Counters = Arc<Vec<AtomicUsize>>;

/// Blocks with several activations each, which count their runs.
fn chain(blocks: usize) -> (Chain, Counters) {
    let counters: Counters = Arc::new((0..blocks).map(|_| AtomicUsize::new(0)).collect());
    let chain = (0..blocks).fold(Chain::new(), |chain, block| {
        let counters = counters.clone();
        chain.block(move |x, w| {
            counters[block].fetch_add(1, Ordering::Relaxed);
            let h = (x * &w[0]).sin();
            let h = (h.exp() * &h).tanh();
            (h.sigmoid() * &h).sin().sin().sin()
        })
    });
    (chain, counters)
}

struct Outcome {
    evaluations: usize,
    /// How often each block ran.
    runs: Vec<usize>,
    /// Bytes kept between forward and backward pass.
    kept: i64,
    peak: u64,
    gradients: Vec<Vec<u64>>,
}

fn run_with(blocks: usize, choose: impl FnOnce(&Chain) -> KeptChain<'_>) -> Outcome {
    let (chain, counters) = chain(blocks);
    let parameters: Vec<Vec<Tensor>> =
        (0..blocks).map(|i| vec![(values(WIDTH, i as u64) * 0.5).requires_grad()]).collect();
    let x = values(WIDTH, 77).requires_grad();
    let (kept_bytes, cost) = meter::measure(|| {
        let kept = choose(&chain);
        let (y, forward) = meter::measure(|| kept.run(&x, &parameters).sum());
        y.backward();
        forward.held_bytes()
    });
    let leaves = parameters.iter().flatten().chain([&x]);
    let bits = |leaf: &Tensor| leaf.grad().unwrap().to_vec::<f64>().into_iter().map(f64::to_bits).collect();
    let runs: Vec<usize> = counters.iter().map(|counter| counter.load(Ordering::Relaxed)).collect();
    assert_eq!(runs.iter().sum::<usize>(), chain.evaluations());
    Outcome {
        evaluations: chain.evaluations(),
        runs,
        kept: kept_bytes,
        peak: cost.peak_bytes(),
        gradients: leaves.map(bits).collect(),
    }
}

fn run(blocks: usize, kept: &[usize], frugal: bool) -> Outcome {
    run_with(blocks, |chain| if frugal { chain.keep(kept).frugal() } else { chain.keep(kept) })
}

#[test]
fn b21_checkpointing_trades_work_for_memory() {
    // Four blocks; 1, 2 and 4 kept: block 3 runs again in the backward pass, and only it.
    let (all, three) = (run(4, &[0, 1, 2, 3], false), run(4, &[0, 1, 3], false));
    assert_eq!((all.evaluations, three.evaluations), (4, 5));
    assert_eq!((all.runs, three.runs), (vec![1, 1, 1, 1], vec![1, 1, 2, 1]));
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
        let gradient = grad(|x: &Tensor| chain(4).0.keep(&[0, 1, 2, 3]).run(x, &parameters).sum())(&values(WIDTH, 77));
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
        let twice = |block: usize| 1 + usize::from(drops[..dropped].contains(&block));
        assert_eq!(plain.runs, (0..blocks).map(twice).collect::<Vec<_>>(), "{dropped} dropped");
        assert!(plain.gradients == first && frugal.gradients == first, "{dropped} dropped");
    }
    let falls = |values: Vec<i64>| assert!(values.windows(2).all(|pair| pair[1] < pair[0]), "{values:?}");
    falls(plain.iter().map(|outcome| outcome.kept).collect());
    falls(frugal.iter().map(|outcome| outcome.kept).collect());
    falls(frugal.iter().map(|outcome| -(outcome.evaluations as i64)).collect());
    // The peak of forward and backward pass together, over the whole sweep.
    falls(frugal.iter().map(|outcome| outcome.peak as i64).collect());
    assert!(frugal[blocks].peak < plain[blocks].peak);

    // The same by the distance between checkpoints: every k-th block of twelve is kept and runs once, the others run twice.
    let blocks = 12;
    let every: Vec<Outcome> = (1..=blocks).map(|k| run_with(blocks, |chain| chain.keep_every(k))).collect();
    for (k, outcome) in (1..=blocks).zip(&every) {
        let runs: Vec<usize> = (1..=blocks).map(|block| if block % k == 0 { 1 } else { 2 }).collect();
        assert_eq!(outcome.runs, runs, "every {k}");
        assert_eq!(outcome.evaluations, 2 * blocks - blocks / k);
        assert_eq!(outcome.gradients, every[0].gradients, "every {k}");
    }
    // Fewer checkpoints, less memory and more work; with as many of them, not more memory the farther apart they are.
    for (fewer, more) in every.iter().skip(1).zip(&every) {
        assert!(fewer.evaluations >= more.evaluations && fewer.kept <= more.kept, "{} and {}", fewer.kept, more.kept);
        let less = fewer.evaluations > more.evaluations;
        assert!(!less || fewer.kept < more.kept, "{} and {}", fewer.kept, more.kept);
    }
}
