//! Neural and convolutional networks of the syllabus (H, I) against PyTorch, SciPy and plain arithmetic.

// Helpers of tests end the test where they fail.
#![allow(clippy::unwrap_used)]

mod activations;
mod convolution;
mod dropout;
mod group_norms;
mod initialisation;
mod learning;
mod monitors;
mod norms;
mod perceptron;
mod receptive_field;
mod representations;
mod saved;
mod support;
