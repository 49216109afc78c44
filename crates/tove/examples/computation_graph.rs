//! Prints a function's program beside its reverse program, then its graph in DOT.
//!
//! ```text
//! cargo run -p tove --example computation_graph | sed -n '/^digraph/,$p' | dot -Tsvg > graph.svg
//! ```

use tove::prelude::*;
use tove::tensor::Trace;

fn main() -> Result<()> {
    let (w, x, b) = (Tensor::from([[0.5, -1.0], [2.0, 0.25]]), Tensor::from([1.0, 3.0]), Tensor::scalar(0.1));
    let trace = Trace::of(|p| (p[0].matmul(&p[1]) + &p[2]).tanh().square().sum(), &[w, x, b]);
    println!("{}", trace.dual());
    println!("{}", trace.to_dot()?);
    Ok(())
}
