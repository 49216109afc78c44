//! The tove side of the benchmark.
//!
//! `bench/run` starts this program and speaks to it in JSON lines over standard input and output, so that it can
//! alternate between tove and the peer within one run. `bench/README.md` describes the protocol, the data and what
//! quality means.

mod attacks;
mod attention;
mod cnn;
mod convolution;
mod curve;
mod data;
mod derivatives;
mod gpt;
mod learn_linear;
mod learn_logistic;
mod learn_margins;
mod learn_unsupervised;
mod manifold;
mod memory;
mod nets;
mod products;
mod protocol;
mod recommendation;
mod selftest;
mod tables;
mod timing;
mod vit;
mod w13;
mod w46;
mod word_vectors;
mod workload;

fn main() -> std::io::Result<()> {
    protocol::serve(std::io::stdin().lock(), std::io::stdout().lock())
}
