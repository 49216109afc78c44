//! The loss of negative sampling and its gradient.
//!
//! For a hidden vector v, the output vector u₀ of the word to predict and u₁ … u_k of words drawn at random, the loss is
//! −log σ(u₀·v) − Σ log σ(−u_j·v). Several hidden vectors that predict the same word share the drawn words, so that all products
//! are of small matrices.

// Loops over registers read better by index, and stay in the function that has the instruction set.
#![allow(clippy::needless_range_loop)]

use tove_tensor::kernels::math::Float;

/// Numbers in a vector register; rows are padded with zeros to a multiple of it.
pub(super) const LANES: usize = 8;
type Lanes = [f32; LANES];

/// Rows of a tile that is kept in registers.
const TILE: usize = 3;
/// Factors 1 + e^−|s| of the losses that are multiplied before a logarithm is taken; each is at most 2.
const FACTORS: u32 = 100;

/// Memory of one step.
pub(super) struct Step {
    /// Hidden vectors, row after row.
    pub hidden: Vec<f32>,
    /// Output vectors, the word to predict first.
    pub outputs: Vec<f32>,
    /// Changes of the hidden vectors, where they are not rows of a table themselves.
    pub change: Vec<f32>,
    /// For each hidden vector and output, minus the step size times the derivative of the loss by their product.
    weights: Vec<f32>,
    /// Product of factors whose logarithms are losses, and how many there are.
    product: Lanes,
    factors: u32,
}

impl Default for Step {
    fn default() -> Step {
        let rows = Vec::new;
        Step { hidden: rows(), outputs: rows(), change: rows(), weights: rows(), product: [1.0; LANES], factors: 0 }
    }
}

impl Step {
    /// Computes the weights of the changes from the hidden vectors and the outputs. Returns the sum of the losses, up to what
    /// [`Step::rest`] still has.
    #[inline(always)]
    pub fn weigh<const FUSED: bool>(&mut self, width: usize, rate: f32) -> f32 {
        let n = width / LANES;
        let (hidden, outputs) = (self.hidden.as_chunks::<LANES>().0, self.outputs.as_chunks::<LANES>().0);
        let (rows, count) = (hidden.len() / n, outputs.len() / n);
        self.weights.resize((rows * count).next_multiple_of(LANES), 0.0);
        self.weights[rows * count..].fill(f32::MIN);
        let weights = &mut self.weights;
        let mut i = 0;
        while i < rows {
            let r = TILE.min(rows - i);
            let mut j = 0;
            while j < count {
                let c = TILE.min(count - j);
                let (x, y) = (&hidden[i * n..(i + r) * n], &outputs[j * n..(j + c) * n]);
                let out = &mut weights[i * count + j..];
                match (r, c) {
                    (3, 3) => dots::<FUSED, 3, 3>(x, y, n, out, count),
                    (3, 2) => dots::<FUSED, 3, 2>(x, y, n, out, count),
                    (3, 1) => dots::<FUSED, 3, 1>(x, y, n, out, count),
                    (2, 3) => dots::<FUSED, 2, 3>(x, y, n, out, count),
                    (2, 2) => dots::<FUSED, 2, 2>(x, y, n, out, count),
                    (2, 1) => dots::<FUSED, 2, 1>(x, y, n, out, count),
                    (1, 3) => dots::<FUSED, 1, 3>(x, y, n, out, count),
                    (1, 2) => dots::<FUSED, 1, 2>(x, y, n, out, count),
                    _ => dots::<FUSED, 1, 1>(x, y, n, out, count),
                }
                j += c;
            }
            i += r;
        }
        // With the sign of the first scores turned, all losses are log(1 + e^s).
        for i in 0..rows {
            weights[i * count] = -weights[i * count];
        }
        let (mut losses, mut rest, mut product) = ([0.0f32; LANES], 0.0, self.product);
        for scores in weights.as_chunks_mut::<LANES>().0 {
            let mut small = [0.0; LANES];
            for lane in 0..LANES {
                small[lane] = <f32 as Float>::exp(-scores[lane].abs());
            }
            for lane in 0..LANES {
                product[lane] *= 1.0 + small[lane];
                losses[lane] += scores[lane].max(0.0);
                let share = if scores[lane] >= 0.0 { 1.0 } else { small[lane] };
                scores[lane] = -rate * share / (1.0 + small[lane]);
            }
            self.factors += 1;
            if self.factors == FACTORS {
                self.factors = 0;
                rest += logarithms(&mut product);
            }
        }
        self.product = product;
        weights.truncate(rows * count);
        for i in 0..rows {
            weights[i * count] = -weights[i * count];
        }
        losses.iter().sum::<f32>() + rest
    }

    /// The losses that are still in the product.
    #[inline(always)]
    pub fn rest(&mut self) -> f32 {
        self.factors = 0;
        logarithms(&mut self.product)
    }

    /// Adds the changes of the hidden vectors to the rows of a table at these slots.
    #[inline(always)]
    pub fn change_hidden<const FUSED: bool>(&self, table: &mut [f32], slots: &[u32], width: usize) {
        let count = self.outputs.len() / width;
        update::<FUSED>(table, slots, width, &self.outputs, &self.weights, (count, 1));
    }

    /// Adds the changes of the outputs to the rows of a table at these slots.
    #[inline(always)]
    pub fn change_outputs<const FUSED: bool>(&self, table: &mut [f32], slots: &[u32], width: usize) {
        update::<FUSED>(table, slots, width, &self.hidden, &self.weights, (1, slots.len()));
    }

    /// Computes the changes of the hidden vectors into `change`.
    #[inline(always)]
    pub fn changes<const FUSED: bool>(&mut self, slots: &[u32], width: usize) {
        let mut change = std::mem::take(&mut self.change);
        change.clear();
        change.resize(self.hidden.len(), 0.0);
        self.change_hidden::<FUSED>(&mut change, slots, width);
        self.change = change;
    }
}

/// The sum of logarithms of factors, which are then 1.
#[inline(always)]
fn logarithms(factors: &mut Lanes) -> f32 {
    let mut sum = 0.0;
    for factor in factors {
        sum += <f32 as Float>::ln(*factor);
        *factor = 1.0;
    }
    sum
}

/// a b + c, rounded once where the instruction set has that.
#[inline(always)]
fn multiply_add<const FUSED: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

/// The products of R rows with C rows, to the beginning of rows of `stride` numbers. Loops, not closures: the compiler must not
/// put the arithmetic into functions without the instruction set.
#[inline(always)]
fn dots<const FUSED: bool, const R: usize, const C: usize>(
    rows: &[Lanes],
    others: &[Lanes],
    n: usize,
    out: &mut [f32],
    stride: usize,
) {
    let (rows, others) = (parts::<R>(rows, n), parts::<C>(others, n));
    let mut sums = [[[0.0f32; LANES]; C]; R];
    for at in 0..n {
        for i in 0..R {
            let x = rows[i][at];
            for j in 0..C {
                let y = others[j][at];
                for lane in 0..LANES {
                    sums[i][j][lane] = multiply_add::<FUSED>(x[lane], y[lane], sums[i][j][lane]);
                }
            }
        }
    }
    for i in 0..R {
        for j in 0..C {
            let s = sums[i][j];
            out[i * stride + j] = ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
        }
    }
}

/// Rows of `n` registers.
#[inline(always)]
fn parts<const N: usize>(rows: &[Lanes], n: usize) -> [&[Lanes]; N] {
    let mut parts: [&[Lanes]; N] = [&[]; N];
    for i in 0..N {
        parts[i] = &rows[i * n..(i + 1) * n];
    }
    parts
}

/// Adds to the row of each slot the sum of `rows` with its weights: that of row j for slot i is at i strides.0 + j strides.1.
#[inline(always)]
fn update<const FUSED: bool>(
    table: &mut [f32],
    slots: &[u32],
    width: usize,
    rows: &[f32],
    weights: &[f32],
    strides: (usize, usize),
) {
    let n = width / LANES;
    let (table, rows) = (table.as_chunks_mut::<LANES>().0, rows.as_chunks::<LANES>().0);
    for (group, slots) in slots.chunks(TILE).enumerate() {
        for (part, rows) in rows.chunks(TILE * n).enumerate() {
            let weights = &weights[group * TILE * strides.0 + part * TILE * strides.1..];
            match (slots.len(), rows.len() / n) {
                (3, 3) => update_tile::<FUSED, 3, 3>(table, slots, rows, n, weights, strides),
                (3, 2) => update_tile::<FUSED, 3, 2>(table, slots, rows, n, weights, strides),
                (3, 1) => update_tile::<FUSED, 3, 1>(table, slots, rows, n, weights, strides),
                (2, 3) => update_tile::<FUSED, 2, 3>(table, slots, rows, n, weights, strides),
                (2, 2) => update_tile::<FUSED, 2, 2>(table, slots, rows, n, weights, strides),
                (2, 1) => update_tile::<FUSED, 2, 1>(table, slots, rows, n, weights, strides),
                (1, 3) => update_tile::<FUSED, 1, 3>(table, slots, rows, n, weights, strides),
                (1, 2) => update_tile::<FUSED, 1, 2>(table, slots, rows, n, weights, strides),
                _ => update_tile::<FUSED, 1, 1>(table, slots, rows, n, weights, strides),
            }
        }
    }
}

#[inline(always)]
fn update_tile<const FUSED: bool, const R: usize, const C: usize>(
    table: &mut [Lanes],
    slots: &[u32],
    rows: &[Lanes],
    n: usize,
    weights: &[f32],
    strides: (usize, usize),
) {
    let (mut own, mut starts) = ([[0.0; C]; R], [0; R]);
    for i in 0..R {
        starts[i] = slots[i] as usize * n;
        for j in 0..C {
            own[i][j] = weights[i * strides.0 + j * strides.1];
        }
    }
    let rows = parts::<C>(rows, n);
    for at in 0..n {
        let mut x = [[0.0; LANES]; C];
        for j in 0..C {
            x[j] = rows[j][at];
        }
        // One after another: two slots may be the same.
        for i in 0..R {
            let mut sum = table[starts[i] + at];
            for j in 0..C {
                for lane in 0..LANES {
                    sum[lane] = multiply_add::<FUSED>(own[i][j], x[j][lane], sum[lane]);
                }
            }
            table[starts[i] + at] = sum;
        }
    }
}

/// out += x.
#[inline(always)]
pub(super) fn add(out: &mut [f32], x: &[f32]) {
    for (out, x) in out.iter_mut().zip(x) {
        *out += x;
    }
}

/// The loss of negative sampling and its gradients with respect to the hidden vectors and the output vectors, as the training
/// computes them: rows of `width` numbers, the output vector of the word to predict first.
///
/// ```
/// use tove_learn::words::negative_sampling;
/// // A word to predict and one other: log(1 + e^−2) + log(1 + e^1).
/// let (loss, hidden, _) = negative_sampling(&[1.0, 2.0], &[0.0, 1.0, 1.0, 0.0], 2);
/// assert!((loss - 1.44).abs() < 1e-3 && hidden[0] > 0.0 && hidden[1] < 0.0);
/// ```
pub fn negative_sampling(hidden: &[f32], outputs: &[f32], width: usize) -> (f64, Vec<f32>, Vec<f32>) {
    if width == 0 || hidden.is_empty() || outputs.is_empty() {
        return (0.0, vec![0.0; hidden.len()], vec![0.0; outputs.len()]);
    }
    let padded = width.next_multiple_of(LANES);
    let mut step = Step::default();
    let padding = |rows: &[f32]| -> Vec<f32> {
        let pad =
            |row: &[f32]| row.iter().copied().chain(std::iter::repeat_n(0.0, padded - width)).collect::<Vec<f32>>();
        rows.chunks_exact(width).flat_map(pad).collect()
    };
    (step.hidden, step.outputs) = (padding(hidden), padding(outputs));
    let loss = step.weigh::<false>(padded, -1.0) + step.rest();
    let slots = |rows: &[f32]| (0..(rows.len() / padded) as u32).collect::<Vec<u32>>();
    step.changes::<false>(&slots(&step.hidden), padded);
    let mut output_change = vec![0.0; step.outputs.len()];
    step.change_outputs::<false>(&mut output_change, &slots(&step.outputs), padded);
    let cut = |rows: &[f32]| rows.chunks_exact(padded).flat_map(|row| row[..width].to_vec()).collect();
    (f64::from(loss), cut(&step.change), cut(&output_change))
}
