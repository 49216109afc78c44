//! Forward mode with a tangent matrix for every parameter.
//!
//! Along the program h_i = f_i(h_{i-1}, w_i), keep Ŵ_j = ∂h_i/∂w_j for every j ≤ i. Step i multiplies each older one by
//! ∂h_i/∂h_{i-1} and starts its own, Ŵ_i = ∂h_i/∂w_i. At the end, 1ᵀ Ŵ_j is the gradient of y = Σ h_l by w_j. One tangent
//! matrix has (numbers of h_i) x (numbers of w_j) entries: storage is d_out Σ p_j, and one update with the dense Jacobian
//! of a batch costs O(n² d² p_j), or O(n d² p_j) block by block. A single directional derivative carries one vector
//! instead, at a constant factor over the program itself.
//!
//! ```
//! use tove_lessons::{program::Program, tangent_matrices::{Blocks, run}};
//! use tove_tensor::testing::values;
//! let result = run(&Program::new(&[3, 4, 2]), &values([1, 3], 1), Blocks::Dense);
//! assert_eq!(result.gradients.len(), 4); // two weights, two biases
//! println!("{}", result.table);
//! ```

use std::fmt::Write;

use tove_tensor::Tensor;

use crate::program::{Program, bias_jacobian, state_block, state_jacobian, weight_jacobian};

/// How a tangent matrix is multiplied by the Jacobian of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocks {
    /// By the whole (n d_i, n d_{i-1}) matrix, zeros included.
    Dense,
    /// Sample by sample, by the (d_i, d_{i-1}) blocks of its diagonal.
    Diagonal,
}

/// What forward mode with tangent matrices found.
pub struct Tangents {
    /// Gradients of y by weights and biases in turn, in the parameters' shapes.
    pub gradients: Vec<Tensor>,
    /// The shapes of all tangent matrices after each step, and of the final rows.
    pub table: String,
    /// Numbers held in tangent matrices after the last step.
    pub live: usize,
}

/// The tangent matrices Ŵ_j of weights and biases in turn after the last step, given all states h_0 … h_l of the program.
/// `after_step` sees them after every step.
///
/// ```
/// use tove_lessons::{program::Program, tangent_matrices::{Blocks, tangent_matrices}};
/// use tove_tensor::testing::values;
/// let program = Program::new(&[3, 4, 2]);
/// let states = program.states(&values([5, 3], 1));
/// let tangents = tangent_matrices(&program, &states, Blocks::Dense, |_| {});
/// assert_eq!(tangents[0].shape(), &[5 * 2, 4 * 3]);
/// ```
pub fn tangent_matrices(
    program: &Program,
    states: &[Tensor],
    blocks: Blocks,
    mut after_step: impl FnMut(&[Tensor]),
) -> Vec<Tensor> {
    let mut tangents: Vec<Tensor> = Vec::new();
    for (i, layer) in program.layers.iter().enumerate() {
        let (before, after) = (&states[i], &states[i + 1]);
        for tangent in &mut tangents {
            *tangent = match blocks {
                Blocks::Dense => state_jacobian(layer, after).matmul(tangent),
                Blocks::Diagonal => by_sample(
                    after,
                    |sample, width| {
                        state_block(layer, after, sample).matmul(&tangent.narrow(0, sample * width.0, width.0))
                    },
                    (before.dims()[1], after.dims()[1]),
                ),
            };
        }
        tangents.push(weight_jacobian(before, after));
        tangents.push(bias_jacobian(after));
        after_step(&tangents);
    }
    tangents
}

/// Runs the program on `x` (samples, features), pushing all tangent matrices along.
pub fn run(program: &Program, x: &Tensor, blocks: Blocks) -> Tangents {
    let mut table = String::new();
    let mut step = 0;
    let tangents = tangent_matrices(program, &program.states(x), blocks, |tangents| {
        step += 1;
        let shapes: Vec<String> = tangents.iter().map(|tangent| tangent.shape().to_string()).collect();
        let _ = writeln!(table, "step {step}: {}", shapes.join(" "));
    });
    let live = tangents.iter().map(Tensor::numel).sum();
    let rows: Vec<Tensor> = tangents.iter().map(|tangent| tangent.sum_axes(&[0], true)).collect(); // 1ᵀ Ŵ
    let shapes: Vec<String> = rows.iter().map(|row| row.shape().to_string()).collect();
    let _ = writeln!(table, "gradient: {}", shapes.join(" "));
    let parameters = program.parameters();
    let gradients = rows.iter().zip(&parameters).map(|(row, p)| row.reshape(p.shape())).collect();
    Tangents { gradients, table, live }
}

/// Results for the samples of a batch, one under the other.
fn by_sample(after: &Tensor, product: impl Fn(usize, (usize, usize)) -> Tensor, widths: (usize, usize)) -> Tensor {
    let parts: Vec<Tensor> = (0..after.dims()[0]).map(|sample| product(sample, widths)).collect();
    Tensor::concat(&parts.iter().collect::<Vec<_>>(), 0)
}
