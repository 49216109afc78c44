//! Softmax at several temperatures.

use serde_json::json;
use tove::plot::TemperatureChart;

use super::Shown;
use crate::arguments::Demo;
use crate::failure::Failure;

/// Characters of a bar that stands for probability 1.
const FULL: usize = 50;

/// softmax(x / τ) as bars. All temperatures have one scale, so that they can be compared.
pub fn show(demo: &Demo) -> Result<Shown, Failure> {
    let chart = TemperatureChart::new(&demo.scores, &demo.temperature);
    let probabilities = chart.probabilities().map_err(Failure::usage)?;
    let mut text = String::from(
        "softmax(x/τ)ᵢ = exp(xᵢ/τ) / Σⱼ exp(xⱼ/τ). A large τ makes all probabilities equal, a small one leaves only the \
         largest score.\n",
    );
    let names: Vec<String> = demo.scores.iter().map(|score| format!("x = {score}")).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    for (temperature, row) in demo.temperature.iter().zip(&probabilities) {
        text.push_str(&format!("\nτ = {temperature}\n"));
        for (name, p) in names.iter().zip(row) {
            let bar = "█".repeat((p * FULL as f64).round() as usize);
            text.push_str(format!("  {name:width$}  {p:.4} {bar}").trim_end());
            text.push('\n');
        }
    }
    let document = json!({"scores": demo.scores, "temperatures": demo.temperature, "probabilities": probabilities});
    Ok(Shown { text, document, picture: Some(Box::new(chart)) })
}
