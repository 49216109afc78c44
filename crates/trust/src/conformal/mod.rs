//! Conformal prediction: sets and intervals that hold the truth with a guaranteed probability.
