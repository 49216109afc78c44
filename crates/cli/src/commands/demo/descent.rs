//! Gradient descent on f(x, y) = x² + 10 y².

use serde_json::json;
use tove::optim::landscape::Range;
use tove::optim::{Landscape, Rules, gradient_descent};
use tove::plot::ContourMap;
use tove::plot::terminal::LineText;
use tove::tensor::Tensor;

use super::Shown;
use crate::arguments::Demo;
use crate::commands::training::positive;
use crate::failure::Failure;
use crate::output::{number, table};

/// Steps taken.
const STEPS: usize = 40;

fn valley(x: &Tensor) -> Tensor {
    (x.square() * Tensor::from([1.0, 10.0])).sum()
}

/// The path, in numbers and on a contour map.
pub fn show(demo: &Demo) -> Result<Shown, Failure> {
    let step = positive("step", demo.step)?;
    let start = Tensor::from([-2.5, 0.9]);
    let rules = Rules { keep_path: true, ..Rules::fixed(STEPS) };
    let run = gradient_descent(&valley, &start, step, &rules)?;
    let path: Vec<(f64, f64)> = run.path.iter().map(|point| point.to_f64_vec()).map(|p| (p[0], p[1])).collect();
    let mut rows = vec![["step", "x", "y", "f"].map(str::to_owned).to_vec()];
    for (place, (&(x, y), &f)) in path.iter().zip(&run.values).enumerate() {
        if place < 5 || place.is_multiple_of(10) {
            rows.push(vec![place.to_string(), format!("{x:.4}"), format!("{y:.4}"), number(f)]);
        }
    }
    // Curvatures are 2 and 20: a step is multiplied by 1 − 2η along x and by 1 − 20η along y.
    let verdict = if step < 0.1 {
        "Both coordinates shrink, because |1 − 2η| and |1 − 20η| are below 1."
    } else {
        "y grows with every step, because |1 − 20η| is not below 1: the step is too long for the steep direction."
    };
    let steps: Vec<f64> = (0..run.values.len()).map(|step| step as f64).collect();
    let curve = LineText::new().x(&steps).series("f", &run.values).log().render(72, 10);
    let text = format!(
        "f(x, y) = x² + 10 y², x ← x − η ∇f(x) with η = {step}, from (−2.5, 0.9).\n\n{}\n{verdict}\n\nf by step, logarithmic:\n{}",
        table(&rows),
        curve.unwrap_or_default()
    );
    let (x, y) = (Range::new(-3.0, 3.0, 61), Range::new(-1.5, 1.5, 61));
    let land = Landscape::sample(&valley, x, y)?;
    let inside = |&&(x, y): &&(f64, f64)| x.abs() <= 3.0 && y.abs() <= 1.5;
    let drawn: Vec<(f64, f64)> = path.iter().take_while(inside).copied().collect();
    let map = ContourMap::new(&land.x, &land.y, &land.values)
        .log_levels(12)
        .equal_axes()
        .path(format!("gradient descent, η = {step}"), &drawn)
        .title("f(x, y) = x² + 10 y²");
    let document = json!({"step": step, "path": path, "values": run.values});
    Ok(Shown { text, document, picture: Some(Box::new(map)) })
}
