//! One error type with three halves: the caller's mistake, the data's state, and a file's fault.
//!
//! Every variant names the operation and the shapes, types or entries at fault, and its text says what to do. Tensor
//! methods and operators panic with exactly this text at the caller's line; their `try_` twins in
//! [`TryOps`](crate::TryOps) return it.

use crate::{DType, Shape};

/// What went wrong in a tensor operation. Kept small (shapes and texts are boxed), because results carry it around.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Two shapes that do not fit each other.
    #[error("{op}: shapes {} and {} do not fit: {problem}", .shapes.0, .shapes.1)]
    ShapePair {
        /// The operation.
        op: &'static str,
        /// Shapes of the first and the second operand.
        shapes: Box<(Shape, Shape)>,
        /// What does not fit and what would.
        problem: Box<str>,
    },
    /// One shape that the operation cannot take.
    #[error("{op}: shape {shape}: {problem}")]
    Shape {
        /// The operation.
        op: &'static str,
        /// The offending shape.
        shape: Box<Shape>,
        /// What is wrong with it.
        problem: Box<str>,
    },
    /// Data of a length that does not fill the shape.
    #[error("{op}: {len} elements cannot fill shape {shape}, which has {expected}")]
    Length {
        /// The operation.
        op: &'static str,
        /// Number of elements given.
        len: usize,
        /// The shape asked for.
        shape: Box<Shape>,
        /// Number of elements it has.
        expected: usize,
    },
    /// An element type the operation does not take.
    #[error("{op}: element type {dtype} is not supported: {expected}; convert with `to_dtype`")]
    DType {
        /// The operation.
        op: &'static str,
        /// The offending type.
        dtype: DType,
        /// What would be accepted.
        expected: &'static str,
    },
    /// Operands of different element types. Tensors are never promoted silently; Rust numbers take the tensor's type.
    #[error("{op}: element types {left} and {right} differ; convert one of them with `to_dtype`")]
    DTypePair {
        /// The operation.
        op: &'static str,
        /// Type of the first operand.
        left: DType,
        /// Type of the second operand.
        right: DType,
    },
    /// An axis outside the tensor's rank.
    #[error("{op}: axis {axis} does not exist in shape {shape}; axes are -{}..{}", .shape.rank(), .shape.rank())]
    Axis {
        /// The operation.
        op: &'static str,
        /// The axis asked for.
        axis: isize,
        /// The tensor's shape.
        shape: Box<Shape>,
    },
    /// An index outside its axis.
    #[error("{op}: index {index} is out of range for an axis of size {size}")]
    Index {
        /// The operation.
        op: &'static str,
        /// The index.
        index: i64,
        /// Size of the axis.
        size: usize,
    },
    /// A parameter outside its range.
    #[error("{op}: {name} {problem}")]
    Parameter {
        /// The operation.
        op: &'static str,
        /// The parameter.
        name: &'static str,
        /// What is wrong and what is accepted.
        problem: Box<str>,
    },
    /// A derivative was asked of something that has none.
    #[error("{op}: {problem}")]
    Derivative {
        /// The operation.
        op: &'static str,
        /// Why there is no derivative, and what to do.
        problem: Box<str>,
    },
    /// The data do not allow the computation (singular, not positive definite, not converged, not finite).
    #[error("{op}: {problem}")]
    Data {
        /// The operation.
        op: &'static str,
        /// What the data look like and what would help.
        problem: Box<str>,
    },
}

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Whether the data's state, not the call, is at fault.
    pub fn is_data(&self) -> bool {
        matches!(self, Error::Data { .. })
    }

    /// Stands for the operation where memory is asked for on behalf of one that is known further out.
    pub(crate) const NAMELESS: &'static str = "new tensor";

    /// The same error with the operation's name, where it has none yet.
    #[cold]
    pub(crate) fn named(mut self, name: &'static str) -> Error {
        if let Error::Shape { op, .. } | Error::Data { op, .. } = &mut self
            && *op == Error::NAMELESS
        {
            *op = name;
        }
        self
    }

    /// Two shapes that do not fit each other.
    #[cold]
    pub fn shapes(op: &'static str, left: &Shape, right: &Shape, problem: impl Into<String>) -> Error {
        Error::ShapePair { op, shapes: Box::new((left.clone(), right.clone())), problem: problem.into().into() }
    }

    /// One shape that `op` cannot take.
    #[cold]
    pub fn shape(op: &'static str, shape: &Shape, problem: impl Into<String>) -> Error {
        Error::Shape { op, shape: Box::new(shape.clone()), problem: problem.into().into() }
    }

    /// An axis outside a shape.
    #[cold]
    pub fn axis(op: &'static str, axis: isize, shape: &Shape) -> Error {
        Error::Axis { op, axis, shape: Box::new(shape.clone()) }
    }

    /// A parameter out of its range.
    #[cold]
    pub fn parameter(op: &'static str, name: &'static str, problem: impl Into<String>) -> Error {
        Error::Parameter { op, name, problem: problem.into().into() }
    }

    /// A derivative that does not exist.
    #[cold]
    pub fn derivative(op: &'static str, problem: impl Into<String>) -> Error {
        Error::Derivative { op, problem: problem.into().into() }
    }

    /// The data's state at fault.
    #[cold]
    pub fn data(op: &'static str, problem: impl Into<String>) -> Error {
        Error::Data { op, problem: problem.into().into() }
    }
}

/// Unwraps in a public method: the one place where the crate panics, always with the caller's line.
pub(crate) trait OrPanic<T> {
    /// The value, or a panic with the error's text.
    fn or_panic(self) -> T;
}

impl<T> OrPanic<T> for Result<T> {
    #[inline]
    #[track_caller]
    fn or_panic(self) -> T {
        match self {
            Ok(value) => value,
            Err(error) => raise(&error),
        }
    }
}

#[cold]
#[track_caller]
fn raise(error: &Error) -> ! {
    panic!("{error}")
}
