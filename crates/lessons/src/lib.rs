//! Demonstrations that nobody needs in a library, but that show why the library does what it does. Each module opens with
//! the statement it demonstrates; costs are counted with [`tove_tensor::meter`], never timed.

pub mod association;
pub mod batch_norm;
pub mod classification;
pub mod collapse;
pub mod convolution;
pub mod depth;
pub mod log_sum_exp;
pub mod memoriser;
pub mod printed_forms;
pub mod probability;
pub mod program;
pub mod regress_and_round;
pub mod soft_margin;
pub mod tangent_matrices;
