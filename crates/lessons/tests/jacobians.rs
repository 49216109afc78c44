//! B14, B15, B16 and B18: tangent matrices, explicit Jacobian products, and what they cost.

use tove_lessons::association::{from_the_left, from_the_right, in_order, jacobians, weight_gradient};
use tove_lessons::program::{Program, state_block, state_jacobian, weight_jacobian};
use tove_lessons::tangent_matrices::{Blocks, run, tangent_matrices};
use tove_tensor::testing::values;
use tove_tensor::{Tensor, grad, jvp, meter};

const TOL64: f64 = 1e-10;

#[track_caller]
fn close(a: &Tensor, b: &Tensor) {
    assert_eq!(a.shape(), b.shape());
    let norm = |x: &Tensor| x.square().sum().sqrt().item::<f64>();
    let error = norm(&(a - b)) / norm(b).max(1.0);
    assert!(error <= TOL64, "error {error:e}");
}

fn reverse(program: &Program, x: &Tensor) -> Vec<Tensor> {
    grad(|p: &Vec<Tensor>| Program::value(x, p))(&program.parameters())
}

#[test]
fn b14_tangent_matrices_equal_reverse_mode_and_have_the_tables_shapes() {
    let program = Program::new(&[3, 5, 4, 2]);
    let x = values([1, 3], 1);
    let found = run(&program, &x, Blocks::Dense);
    for (ours, theirs) in found.gradients.iter().zip(&reverse(&program, &x)) {
        close(ours, theirs);
    }
    // Per layer: weight tangent d x (d_out d_in), bias tangent d x d_out, with d the width reached so far.
    let expected = "\
step 1: (5, 15) (5, 5)
step 2: (4, 15) (4, 5) (4, 20) (4, 4)
step 3: (2, 15) (2, 5) (2, 20) (2, 4) (2, 8) (2, 2)
gradient: (1, 15) (1, 5) (1, 20) (1, 4) (1, 8) (1, 2)
";
    assert_eq!(found.table, expected);
    // Also for a batch, and block by block.
    let batch = values([4, 3], 2);
    for blocks in [Blocks::Dense, Blocks::Diagonal] {
        let found = run(&program, &batch, blocks);
        for (ours, theirs) in found.gradients.iter().zip(&reverse(&program, &batch)) {
            close(ours, theirs);
        }
    }
}

/// FLOPs of updating one tangent matrix of the first layer by the second layer's Jacobian, for a batch of n and width d.
fn update(n: usize, d: usize, blocks: Blocks) -> u64 {
    let program = Program::new(&[d, d, d]);
    let x = values([n, d], 1);
    let states = program.states(&x);
    let tangent = weight_jacobian(&states[0], &states[1]); // (n d, p) with p = d²
    let layer = &program.layers[1];
    let cost = match blocks {
        Blocks::Dense => meter::measure(|| state_jacobian(layer, &states[2]).matmul(&tangent)).1,
        Blocks::Diagonal => {
            let block = |s| state_block(layer, &states[2], s).matmul(&tangent.narrow(0, s * d, d));
            meter::measure(|| (0..n).map(block).collect::<Vec<_>>()).1
        }
    };
    cost.flops_of("matmul")
}

/// The cost of all tangent matrices of a program of these widths on n samples, while they are all held.
fn whole(n: usize, widths: &[usize], blocks: Blocks) -> meter::Cost {
    let program = Program::new(widths);
    let states = program.states(&values([n, widths[0]], 1));
    let (_tangents, cost) = meter::measure(|| tangent_matrices(&program, &states, blocks, |_| {}));
    cost
}

/// The program's total, as the law has it: 2 n² d_i d_{i-1} p_j summed over all pairs j < i, n in place of n² by blocks.
/// With a weight and a bias per layer, p_j = d_j d_{j-1} + d_j.
fn law(n: usize, widths: &[usize], blocks: Blocks) -> (u64, u64) {
    let factor = if blocks == Blocks::Dense { n * n } else { n };
    let sizes: Vec<usize> = widths.windows(2).map(|pair| pair[1] * pair[0] + pair[1]).collect();
    let step = |i: usize| widths[i + 1] * widths[i] * sizes[..i].iter().sum::<usize>();
    let flops = 2 * factor * (0..sizes.len()).map(step).sum::<usize>();
    let numbers = n * widths[widths.len() - 1] * sizes.iter().sum::<usize>();
    (flops as u64, 8 * numbers as u64)
}

/// The products are all there is: a Jacobian is made of a multiplication for each of its n d² numbers, a new tangent of one
/// for each of its n d³, and from eight layers on the products, l (l - 1) n d² (d² + d), outweigh all of these by a factor
/// of d. Nor is more held on the way than the tangents, two copies of one while it is updated, and a Jacobian in pieces
/// and whole.
fn nothing_beside_the_law(n: usize, widths: &[usize], blocks: Blocks) {
    let (cost, (flops, bytes)) = (whole(n, widths, blocks), law(n, widths, blocks));
    let (d, rest) = (widths[0], (cost.flops() - flops) as f64 / flops as f64);
    assert!(rest <= 1.0 / d as f64, "{blocks:?} n={n} {widths:?}: {rest:.3} beside the products");
    let more = 8 * (2 * n * d.pow(3) + 2 * (n * d).pow(2)) as u64;
    let peak = cost.peak_bytes();
    assert!(peak <= bytes + more, "{blocks:?} n={n} {widths:?}: {peak} bytes, {bytes} in tangents");
}

/// Work and peak memory of one directional derivative as multiples of the program's own.
fn single(n: usize, d: usize, l: usize) -> (f64, f64) {
    let program = Program::new(&vec![d; l + 1]);
    let (x, parameters) = (values([n, d], 1), program.parameters());
    let plain = meter::measure(|| Program::value(&x, &parameters)).1;
    let pushed = meter::measure(|| jvp(|p: &Vec<Tensor>| Program::value(&x, p), &parameters, &parameters)).1;
    let ratio = |a: u64, b: u64| a as f64 / b as f64;
    (ratio(pushed.flops(), plain.flops()), ratio(pushed.peak_bytes(), plain.peak_bytes()))
}

/// Sizes are powers of two, which the buffers do not round up.
#[test]
fn b15_cost_of_forward_mode() {
    let p = |d: u64| d * d; // numbers in a weight
    let cases = [(2, 4, 4), (4, 4, 4), (2, 8, 4), (2, 4, 8)]; // each of n, d, l doubled
    for (n, d, l) in cases {
        let (wide, high, long) = (n as u64, d as u64, l as u64);
        for (blocks, factor) in [(Blocks::Dense, wide * wide), (Blocks::Diagonal, wide)] {
            // One update: 2 n² d² p dense, 2 n d² p by blocks.
            let one = 2 * factor * high * high;
            assert_eq!(update(n, d, blocks), one * p(high));
            // The program's total sums this over all pairs j < i, for weights and biases.
            let cost = whole(n, &vec![d; l + 1], blocks);
            let (flops, bytes) = (cost.flops_of("matmul"), cost.held_bytes() as u64);
            let pairs = long * (long - 1) / 2;
            assert_eq!(flops, pairs * one * (p(high) + high), "{blocks:?} n={n} d={d} l={l}");
            // Storage: (numbers of the output) x (sum of the parameters), in f64.
            assert_eq!(bytes, 8 * wide * high * long * (p(high) + high), "{blocks:?} n={n} d={d} l={l}");
        }
    }
    // Layers of unequal width tell d_i from d_{i-1}, and the width of the output from the others.
    for widths in [&[8, 16, 32, 8][..], &[16, 16, 32, 8], &[8, 16, 32, 16], &[8, 16, 32, 8, 16]] {
        for (n, blocks) in [(2, Blocks::Dense), (4, Blocks::Dense), (2, Blocks::Diagonal), (4, Blocks::Diagonal)] {
            let cost = whole(n, widths, blocks);
            let found = (cost.flops_of("matmul"), cost.held_bytes() as u64);
            assert_eq!(found, law(n, widths, blocks), "{blocks:?} n={n} {widths:?}");
        }
    }
    for (n, d, l) in [(2, 4, 8), (4, 4, 8), (2, 8, 8), (2, 16, 8), (2, 8, 16)] {
        nothing_beside_the_law(n, &vec![d; l + 1], Blocks::Dense);
        nothing_beside_the_law(n, &vec![d; l + 1], Blocks::Diagonal);
    }
    // Not so for a single directional derivative: a constant factor over the program, in work and in memory, however n, d
    // and l are doubled. Three products in place of one, A'B and AB' beside AB, and a few passes over the state: at most
    // 3.25 times the work at d = 16, which the first layer, whose input is fixed, lowers by 1 / l. A tangent beside every
    // value, and one product more at a time: at most 4 times the memory.
    let base = single(2, 16, 4);
    for (n, d, l) in [(2, 16, 4), (4, 16, 4), (8, 16, 4), (2, 32, 4), (2, 64, 4), (2, 16, 8), (2, 16, 16)] {
        let (work, memory) = single(n, d, l);
        let (more_work, more_memory) = (work / base.0, memory / base.1);
        assert!(work <= 3.25 && memory <= 4.0, "n={n} d={d} l={l}: work {work:.3}, memory {memory:.3}");
        assert!(more_work <= 1.1 && more_memory <= 1.02, "n={n} d={d} l={l}: {more_work:.3} {more_memory:.3}");
    }
}

#[test]
fn b16_explicit_product_equals_backprop_in_one_order_only() {
    let program = Program::new(&[3, 7, 5, 4, 2]);
    let x = values([1, 3], 1);
    let gradients = reverse(&program, &x);
    for i in 0..4 {
        close(&weight_gradient(&program, &x, i), &gradients[2 * i]);
    }
    let batch = values([3, 3], 2);
    let gradients = reverse(&program, &batch);
    for i in 0..4 {
        close(&weight_gradient(&program, &batch, i), &gradients[2 * i]);
    }
    // 1ᵀ and the four Jacobians: of all 120 orders only l, l-1, …, 1 conforms from a row to ∂y/∂x.
    let mut factors = vec![Tensor::ones([1, 2], x.dtype())];
    factors.extend(jacobians(&program, &x));
    let mut conforming = Vec::new();
    for order in permutations(factors.len()) {
        if in_order(&factors, &order).is_ok() {
            conforming.push(order);
        }
    }
    assert_eq!(conforming, [vec![0, 1, 2, 3, 4]]);
    let by_x = grad(|x: &Tensor| Program::value(x, &program.parameters()))(&x);
    close(&in_order(&factors, &[0, 1, 2, 3, 4]).expect("the conforming order"), &by_x);
}

fn permutations(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![vec![]];
    }
    let insert = |shorter: Vec<usize>| (0..n).map(move |at| [&shorter[..at], &[n - 1], &shorter[at..]].concat());
    permutations(n - 1).into_iter().flat_map(insert).collect()
}

#[test]
fn b18_association_order_changes_the_cost_not_the_result() {
    let cost = |d: usize, l: usize| {
        let factors: Vec<Tensor> = (0..l).map(|i| values([d, d], i as u64) * (1.0 / d as f64)).collect();
        let (left, cheap) = meter::measure(|| from_the_left(&factors));
        let (right, dear) = meter::measure(|| from_the_right(&factors));
        close(&left, &right);
        (cheap.flops(), dear.flops())
    };
    for (d, l) in [(8, 5), (16, 5), (32, 5), (16, 10), (16, 20)] {
        let (wide, deep) = (d as u64, l as u64);
        // l products of a row with a matrix, against l - 1 of two matrices and one of a row with a matrix.
        assert_eq!(cost(d, l), (2 * deep * wide.pow(2), 2 * (deep - 1) * wide.pow(3) + 2 * wide.pow(2)));
    }
    // The same on the Jacobians of a program with layers of unequal width.
    let factors = jacobians(&Program::new(&[6, 3, 9, 4]), &values([2, 6], 1));
    close(&from_the_left(&factors), &from_the_right(&factors));
}
