//! The program that the demonstrations differentiate: h₀ = x, h_i = tanh(h_{i-1} W_iᵀ + b_i) for i = 1..l, y = Σ h_l.
//!
//! Rows of h are the n samples of a batch. As vectors, h_i has n d_i numbers, and its Jacobian by h_{i-1} is block diagonal
//! with one block diag(1 - h²) W_i per sample, because samples do not see each other.

use tove_tensor::{DType, Tensor};

/// One layer: weight (out, in) and bias (out).
#[derive(Clone)]
pub struct Layer {
    /// (out, in).
    pub weight: Tensor,
    /// (out).
    pub bias: Tensor,
}

/// A chain of layers with tanh.
///
/// ```
/// use tove_lessons::program::Program;
/// use tove_tensor::testing::values;
/// let program = Program::new(&[3, 5, 2]);
/// let states = program.states(&values([4, 3], 1));
/// assert_eq!(states[2].shape(), &[4, 2]);
/// ```
#[derive(Clone)]
pub struct Program {
    /// The layers, first to last.
    pub layers: Vec<Layer>,
}

impl Program {
    /// Layers of the given widths with fixed, unremarkable weights.
    pub fn new(widths: &[usize]) -> Program {
        let layer = |(i, pair): (usize, &[usize])| Layer {
            weight: numbers(&[pair[1], pair[0]], i) / (pair[0] as f64).sqrt(),
            bias: numbers(&[pair[1]], i + 100) * 0.2,
        };
        Program { layers: widths.windows(2).enumerate().map(layer).collect() }
    }

    /// h₀ = x, h₁, …, h_l.
    pub fn states(&self, x: &Tensor) -> Vec<Tensor> {
        let mut states = vec![x.clone()];
        for layer in &self.layers {
            states.push(step(&states[states.len() - 1], &layer.weight, &layer.bias));
        }
        states
    }

    /// Weights and biases in turn.
    pub fn parameters(&self) -> Vec<Tensor> {
        self.layers.iter().flat_map(|layer| [layer.weight.clone(), layer.bias.clone()]).collect()
    }

    /// y as a function of all parameters.
    pub fn value(x: &Tensor, parameters: &[Tensor]) -> Tensor {
        parameters.chunks(2).fold(x.clone(), |h, p| step(&h, &p[0], &p[1])).sum()
    }
}

fn step(h: &Tensor, weight: &Tensor, bias: &Tensor) -> Tensor {
    (h.matmul(&weight.t()) + bias).tanh()
}

/// Numbers between -1 and 1 without symmetry.
fn numbers(shape: &[usize], seed: usize) -> Tensor {
    let count: usize = shape.iter().product();
    let number = |i: usize| ((seed as f64 * 0.377 + i as f64 * 0.618_033_988_7).fract() - 0.5) * 2.0;
    Tensor::from_vec((0..count).map(number).collect::<Vec<f64>>(), shape)
}

/// The slope of tanh from its value: 1 - h².
pub fn slope(h: &Tensor) -> Tensor {
    1.0 - h.square()
}

/// ∂h_i/∂h_{i-1} of a single sample (row `sample`): diag(1 - h_i²) W_i, of shape (d_i, d_{i-1}).
pub fn state_block(layer: &Layer, after: &Tensor, sample: usize) -> Tensor {
    slope(&after.get(sample)).unsqueeze(1) * &layer.weight
}

/// ∂h_i/∂h_{i-1} of the whole batch as one dense matrix (n d_i, n d_{i-1}), zeros included.
pub fn state_jacobian(layer: &Layer, after: &Tensor) -> Tensor {
    let samples = after.dims()[0];
    let [rows, columns] = [layer.weight.dims()[0], layer.weight.dims()[1]];
    let zero = Tensor::zeros([rows, columns], DType::F64);
    let row = |i: usize| {
        let blocks: Vec<Tensor> =
            (0..samples).map(|j| if i == j { state_block(layer, after, i) } else { zero.clone() }).collect();
        Tensor::concat(&blocks.iter().collect::<Vec<_>>(), 1)
    };
    let rows: Vec<Tensor> = (0..samples).map(row).collect();
    Tensor::concat(&rows.iter().collect::<Vec<_>>(), 0)
}

/// ∂h_i/∂w_i: (n d_i, d_i d_{i-1}). Row (s, o) holds (1 - h²) times the sample's input at the places of weight row o.
pub fn weight_jacobian(before: &Tensor, after: &Tensor) -> Tensor {
    let [samples, out, width] = [after.dims()[0], after.dims()[1], before.dims()[1]];
    let identity = Tensor::eye(out, DType::F64).reshape([1, out, out, 1]);
    let full = slope(after).reshape([samples, out, 1, 1]) * identity * before.reshape([samples, 1, 1, width]);
    full.reshape([samples * out, out * width])
}

/// ∂h_i/∂b_i: (n d_i, d_i).
pub fn bias_jacobian(after: &Tensor) -> Tensor {
    let [samples, out] = [after.dims()[0], after.dims()[1]];
    let identity = Tensor::eye(out, DType::F64).reshape([1, out, out]);
    (slope(after).reshape([samples, out, 1]) * identity).reshape([samples * out, out])
}
