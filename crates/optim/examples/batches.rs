//! Prints how samples are shuffled and cut into batches: `cargo run -p tove-optim --example batches -- SAMPLES SIZE EPOCHS SEED`.

use tove_optim::Batches;

fn main() {
    let numbers: Vec<usize> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let given = |i: usize, default: usize| numbers.get(i).copied().unwrap_or(default);
    match Batches::new(given(0, 12), given(1, 4), given(3, 0) as u64) {
        Ok(batches) => print!("{}", batches.describe(given(2, 2))),
        Err(error) => eprintln!("{error}"),
    }
}
