//! The chain of Jacobians, multiplied from either end.
//!
//! ∂y/∂w_i = 1ᵀ [∂h_l/∂h_{l-1}] … [∂h_{i+1}/∂h_i] [∂h_i/∂w_i], in this order only: with layers of unequal width no other
//! conforms. The result does not depend on where one starts multiplying, the cost does: from the left every product is a
//! row times a matrix, O(d²); from the right, matrix times matrix, O(d³).
//!
//! ```
//! use tove_lessons::{association::{jacobians, from_the_left}, program::Program};
//! use tove_tensor::testing::values;
//! let chain = jacobians(&Program::new(&[3, 5, 2]), &values([1, 3], 1));
//! assert_eq!(from_the_left(&chain).shape(), &[1, 3]); // ∂y/∂x
//! ```

use tove_tensor::{DType, Result, Tensor, TryOps};

use crate::program::{Program, state_jacobian, weight_jacobian};

/// [∂h_l/∂h_{l-1}], …, [∂h_1/∂h_0], in the order of the product.
pub fn jacobians(program: &Program, x: &Tensor) -> Vec<Tensor> {
    let states = program.states(x);
    let jacobian = |i: usize| state_jacobian(&program.layers[i], &states[i + 1]);
    (0..program.layers.len()).rev().map(jacobian).collect()
}

/// 1ᵀ with as many numbers as the first factor has rows.
fn ones(factors: &[Tensor]) -> Tensor {
    Tensor::ones([1, factors.first().map_or(1, |factor| factor.dims()[0])], DType::F64)
}

/// ((1ᵀ J_l) J_{l-1}) … : rows times matrices, as reverse mode does it.
pub fn from_the_left(factors: &[Tensor]) -> Tensor {
    factors.iter().fold(ones(factors), |row, factor| row.matmul(factor))
}

/// 1ᵀ (J_l (J_{l-1} (…))): matrices times matrices, as forward mode with all tangents does it.
pub fn from_the_right(factors: &[Tensor]) -> Tensor {
    let mut factors = factors.iter().rev();
    let Some(last) = factors.next() else { return Tensor::ones([1, 1], DType::F64) };
    let product = factors.fold(last.clone(), |product, factor| factor.matmul(&product));
    Tensor::ones([1, product.dims()[0]], DType::F64).matmul(&product)
}

/// The gradient of y by the weight of layer `i` (from 0) as the explicit product, reshaped to the weight's shape.
pub fn weight_gradient(program: &Program, x: &Tensor, i: usize) -> Tensor {
    let states = program.states(x);
    let mut factors = jacobians(program, x);
    factors.truncate(program.layers.len() - 1 - i);
    factors.push(weight_jacobian(&states[i], &states[i + 1]));
    from_the_left(&factors).reshape(program.layers[i].weight.shape())
}

/// The product of factors in a given order, or the error of the first pair that does not conform.
pub fn in_order(factors: &[Tensor], order: &[usize]) -> Result<Tensor> {
    let mut chosen = order.iter().filter_map(|&i| factors.get(i));
    let Some(first) = chosen.next() else { return Ok(Tensor::ones([1, 1], DType::F64)) };
    chosen.try_fold(first.clone(), |product, factor| product.try_matmul(factor))
}
