//! The loss of negative sampling and its gradient.
//!
//! For a hidden vector v, the output vector u₀ of the word to predict and u₁ … u_k of words drawn at random, the loss is
//! −log σ(u₀·v) − Σ log σ(−u_j·v). Several hidden vectors that predict the same word share the drawn words, so that all products
//! are of small matrices.

use tove_tensor::kernels::math::Float;

/// Numbers in a vector register; rows are padded with zeros to a multiple of it.
pub(super) const LANES: usize = 8;
type Lanes = [f32; LANES];

/// Memory of one step.
#[derive(Default)]
pub(super) struct Step {
    /// Hidden vectors, row after row.
    pub hidden: Vec<f32>,
    /// Output vectors, the word to predict first.
    pub outputs: Vec<f32>,
    /// Changes of the hidden vectors.
    pub hidden_change: Vec<f32>,
    /// Changes of the output vectors.
    pub output_change: Vec<f32>,
    scores: Vec<f32>,
}

impl Step {
    /// Prepares for a number of hidden vectors and outputs.
    #[inline(always)]
    pub fn resize(&mut self, hidden: usize, outputs: usize, width: usize) {
        self.hidden.resize(hidden * width, 0.0);
        self.hidden_change.resize(hidden * width, 0.0);
        self.outputs.resize(outputs * width, 0.0);
        self.output_change.resize(outputs * width, 0.0);
        self.scores.resize(hidden * outputs, 0.0);
    }

    /// Computes the changes: minus `rate` times the gradient. Returns the sum of the losses of all hidden vectors.
    #[inline(always)]
    pub fn run(&mut self, width: usize, rate: f32) -> f32 {
        let n = width / LANES;
        let (hidden, outputs) = (self.hidden.as_chunks::<LANES>().0, self.outputs.as_chunks::<LANES>().0);
        let count = outputs.len() / n;
        for (row, scores) in hidden.chunks_exact(n).zip(self.scores.chunks_exact_mut(count)) {
            let mut j = 0;
            while j + 3 <= count {
                scores[j..j + 3].copy_from_slice(&dots::<3>(row, &outputs[j * n..(j + 3) * n]));
                j += 3;
            }
            while j < count {
                scores[j] = dots::<1>(row, &outputs[j * n..(j + 1) * n])[0];
                j += 1;
            }
        }
        // With the sign of the first scores turned, all losses are log(1 + e^s).
        self.scores.chunks_exact_mut(count).for_each(|scores| scores[0] = -scores[0]);
        let used = self.scores.len();
        self.scores.resize(used.next_multiple_of(LANES), f32::MIN);
        let mut losses = [0.0f32; LANES];
        for scores in self.scores.as_chunks_mut::<LANES>().0 {
            for lane in 0..LANES {
                let score = scores[lane];
                let small = <f32 as Float>::exp(-score.abs());
                losses[lane] += <f32 as Float>::ln(1.0 + small) + score.max(0.0);
                scores[lane] = -rate * (if score >= 0.0 { 1.0 } else { small }) / (1.0 + small);
            }
        }
        self.scores.truncate(used);
        self.scores.chunks_exact_mut(count).for_each(|scores| scores[0] = -scores[0]);
        let changes = self.hidden_change.as_chunks_mut::<LANES>().0;
        for (change, scores) in changes.chunks_exact_mut(n).zip(self.scores.chunks_exact(count)) {
            combine(change, outputs, |j| scores[j], count);
        }
        let changes = self.output_change.as_chunks_mut::<LANES>().0;
        let rows = hidden.len() / n;
        for (j, change) in changes.chunks_exact_mut(n).enumerate() {
            let scores = &self.scores;
            combine(change, hidden, |row| scores[row * count + j], rows);
        }
        losses.iter().sum()
    }
}

/// The products of a row with N rows.
#[inline(always)]
fn dots<const N: usize>(row: &[Lanes], others: &[Lanes]) -> [f32; N] {
    let n = row.len();
    let mut sums = [[0.0f32; LANES]; N];
    let others: [&[Lanes]; N] = std::array::from_fn(|j| &others[j * n..(j + 1) * n]);
    for at in 0..n {
        let x = &row[at];
        for j in 0..N {
            let y = &others[j][at];
            (0..LANES).for_each(|lane| sums[j][lane] += x[lane] * y[lane]);
        }
    }
    sums.map(|s| ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7])))
}

/// The sum of `count` rows with weights.
#[inline(always)]
fn combine(out: &mut [Lanes], rows: &[Lanes], weight: impl Fn(usize) -> f32, count: usize) {
    let n = out.len();
    for (at, out) in out.iter_mut().enumerate() {
        let mut sum = [0.0f32; LANES];
        for j in 0..count {
            let (w, row) = (weight(j), &rows[j * n + at]);
            (0..LANES).for_each(|lane| sum[lane] += w * row[lane]);
        }
        *out = sum;
    }
}

/// out += x.
#[inline(always)]
pub(super) fn add(out: &mut [f32], x: &[f32]) {
    out.iter_mut().zip(x).for_each(|(out, x)| *out += x);
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
    step.resize(hidden.len() / width, outputs.len() / width, padded);
    let pad = |to: &mut [f32], from: &[f32]| {
        to.chunks_exact_mut(padded)
            .zip(from.chunks_exact(width))
            .for_each(|(to, from)| to[..width].copy_from_slice(from));
    };
    pad(&mut step.hidden, hidden);
    pad(&mut step.outputs, outputs);
    let loss = step.run(padded, -1.0);
    let cut = |rows: &[f32]| rows.chunks_exact(padded).flat_map(|row| row[..width].to_vec()).collect();
    (f64::from(loss), cut(&step.hidden_change), cut(&step.output_change))
}
