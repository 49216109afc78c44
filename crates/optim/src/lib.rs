//! Step rules for any differentiable function.
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

mod adam;

pub use adam::Adam;
