//! The tove side of the benchmark.
fn main() {}
