//! Robustness: how predictions change under small changes of the input.
