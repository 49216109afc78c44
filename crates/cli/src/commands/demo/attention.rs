//! Attention weights: softmax(Q Kᵀ / √d) of a sentence.

use serde_json::json;
use tove::plot::HeatMap;
use tove::tensor::Tensor;

use super::Shown;
use crate::arguments::Demo;
use crate::failure::Failure;
use crate::output::table;

const WORDS: [&str; 6] = ["the", "cat", "chased", "its", "own", "tail"];

/// Directions of meaning: article, animal, action, owner, part of a body.
fn meaning() -> Tensor {
    Tensor::from([
        [1.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 0.2, 0.0, 0.0],
        [0.0, 0.2, 1.0, 0.0, 0.0],
        [0.2, 0.0, 0.0, 1.0, 0.0],
        [0.0, 0.0, 0.0, 0.6, 0.0],
        [0.0, 0.1, 0.0, 0.0, 1.0],
    ])
}

/// What a word of each meaning asks for: an action asks for an animal, an owner for an animal, a part for an owner.
fn wants() -> Tensor {
    Tensor::from([
        [0.0, 1.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 1.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 0.0, 1.0],
        [0.0, 1.0, 0.0, 0.0, 0.3],
        [0.0, 0.3, 0.0, 1.0, 0.0],
    ])
}

/// The weights of one head, whole and with the mask of a language model.
pub fn weights(_: &Demo) -> Result<Shown, Failure> {
    let (keys, sharpness) = (meaning(), 8.0);
    let queries = keys.matmul(&wants());
    let scores = queries.matmul(&keys.t()) * (sharpness / 5f64.sqrt());
    let n = WORDS.len();
    let mask: Vec<f64> = (0..n * n).map(|at| if at % n > at / n { -1e9 } else { 0.0 }).collect();
    let whole = scores.softmax(-1).to_f64_vec();
    let masked = (scores + Tensor::from(mask).reshape([n, n])).softmax(-1).to_f64_vec();
    let grid = |weights: &[f64]| {
        let head = std::iter::once(String::new()).chain(WORDS.iter().map(|word| (*word).to_owned()));
        let mut rows = vec![head.collect::<Vec<String>>()];
        for (word, line) in WORDS.iter().zip(weights.chunks(n)) {
            let shade = |weight: &f64| {
                let blocks = [' ', '░', '▒', '▓', '█'];
                format!("{}{:.2}", blocks[((weight * 5.0) as usize).min(4)], weight)
            };
            rows.push(std::iter::once((*word).to_owned()).chain(line.iter().map(shade)).collect());
        }
        table(&rows)
    };
    let text = format!(
        "Attention mixes the values of all words with weights softmax(q·k/√d): what a word asks for (its query) times what the \
         others offer (their keys). Here queries and keys are made by hand: an action asks for an animal, an owner for an \
         animal, a part of a body for an owner. Each row sums to 1.\n\n{}\nA language model may only look back, so what lies \
         ahead is masked:\n\n{}",
        grid(&whole),
        grid(&masked)
    );
    let map = HeatMap::new(&WORDS, &WORDS, &whole).bounds(0.0, 1.0).show_values().title("Attention weights");
    let document = json!({"words": WORDS, "weights": whole, "masked": masked});
    Ok(Shown { text, document, picture: Some(Box::new(map)) })
}
