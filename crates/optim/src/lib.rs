//! Step rules and tools for any differentiable function.
//!
//! ```
//! use tove_optim::Adam;
//! use tove_tensor::Tensor;
//!
//! let mut w = Tensor::from([4.0, -3.0]).requires_grad();
//! let mut adam = Adam::new(0.1);
//! for _ in 0..300 {
//!     (&w * &w).sum().backward();
//!     adam.step(&mut [&mut w]).unwrap();
//! }
//! assert!(w.to_vec::<f64>().iter().all(|w| w.abs() < 1e-2));
//! ```

// Derived code names this crate by its path from outside.
extern crate self as tove_optim;

mod clip;
mod deadline;
mod groups;
mod interrupt;
pub mod lbfgs;
mod leaves;
mod optimizer;
pub mod rules;
pub mod schedule;
pub mod settings;
mod watch;

pub use clip::{clip_norm, clip_value, gradient_norm, non_finite_gradient, scale_gradients};
pub use deadline::{deadline, out_of_time, until};
pub use groups::{Group, bias_or_norm};
pub use interrupt::{interrupt_on, interrupted};
pub use lbfgs::{Lbfgs, LbfgsSettings};
pub use leaves::same_leaves;
pub use optimizer::{Closure, Optimizer, OptimizerState, StateError};
pub use rules::{
    Adagrad, AdagradSettings, Adam, AdamSettings, AdamW, AdamWSettings, NesterovLookAhead, NesterovLookAheadSettings,
    RmsProp, RmsPropSettings, Sgd, SgdSettings,
};
pub use schedule::{ReduceOnPlateau, ReduceOnPlateauSettings, Schedule};
pub use watch::DivergenceWatch;

// Tools for any differentiable function: objectives, descent, constraints, certificates.
mod batches;
mod convexity;
mod descent;
mod divergence;
mod escape;
mod fault;
pub mod landscape;
mod line_search;
pub mod losses;
mod multi_start;
mod newton;
pub mod objective;
mod optimality;
pub mod penalties;
mod penalty_method;
mod projection;
mod risk;
mod sampling;
mod stochastic;
mod subgradient;

pub use batches::Batches;
pub use convexity::{
    ChordViolation, Convex, LeastCurvature, TangentViolation, check_chords, check_tangents, least_curvature,
};
pub use descent::{
    Receding, Rules, Run, State, Steepest, Stop, backtracking_descent, directional_derivative, gradient_descent,
    is_descent_direction, iterate, random_start, steepest_descent, steepest_direction,
};
pub use escape::Escape;
pub use landscape::{Landscape, vector_field};
pub use line_search::{Armijo, Step};
pub use multi_start::{MultiStart, multi_start};
pub use newton::{Damping, Newton, NewtonStep, newton_step};
pub use objective::{Objective, ravel};
pub use optimality::{
    BallSample, Claim, Classification, FirstOrder, PointKind, SecondOrder, classify, first_order, sample_ball,
    second_order,
};
pub use penalties::{Mask, Norm, NormPenalty, SparseActivations};
pub use penalty_method::{Indicator, Penalised, PenaltyRun, QuadraticPenalty, Round};
pub use projection::{
    Affine, BoxSet, ConvexSet, HalfSpace, Intersection, L1Ball, L2Ball, LInfBall, Simplex, projected_gradient,
};
pub use risk::{EmpiricalRisk, Fitted, Method, RiskFit, compare};
pub use sampling::Region;
pub use stochastic::{FiniteSum, StochasticRun, stochastic_gradient};
pub use subgradient::{
    NotSubgradient, SubgradientRun, check_subgradient, subgradient_descent, subgradient_descent_with,
};
