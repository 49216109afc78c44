//! Two circles that no line separates, with a linear classifier and with one of a radial kernel.

use serde_json::json;
use tove::data::sets;
use tove::learn::{Fit, LogisticRegression, Model, Predict, Svc};
use tove::plot::DecisionMap;
use tove::tensor::{DType, Key, Tensor};

use super::Shown;
use crate::arguments::Demo;
use crate::failure::Failure;
use crate::output::{number, table};

/// Characters of the picture in the terminal.
const SIZE: (usize, usize) = (34, 15);
/// The square that is looked at.
const EDGE: f64 = 1.5;

/// Classes of a grid of points, row by row from the top.
fn classes(model: &dyn Model, columns: usize, rows: usize) -> Result<Vec<i64>, Failure> {
    let place = |at: usize, count: usize| -EDGE + 2.0 * EDGE * at as f64 / (count - 1) as f64;
    let points = (0..rows).flat_map(|y| (0..columns).flat_map(move |x| [place(x, columns), -place(y, rows)]));
    let grid = Tensor::from(points.collect::<Vec<f64>>()).reshape([rows * columns, 2]);
    Ok(model.predict(&grid)?.to_vec::<i64>())
}

/// Both classifiers side by side.
pub fn circles(demo: &Demo) -> Result<Shown, Failure> {
    let set = sets::circles(200, 0.5, 0.08, Key::new(demo.seed))?;
    let (x, y) = (set.x().to_dtype(DType::F64), set.y().clone());
    let linear = LogisticRegression::default().fit(&x, &y)?;
    let kernel = Svc::default().fit(&x, &y)?;
    let models: [(&str, &dyn Model); 2] = [("logistic regression", &linear), ("support vectors, RBF kernel", &kernel)];
    let mut rows = vec![["model", "accuracy"].map(str::to_owned).to_vec()];
    let (mut pictures, mut facts) = (Vec::new(), Vec::new());
    for (name, model) in models {
        let accuracy = model.score(&x, &y)?.value;
        rows.push(vec![name.to_owned(), number(accuracy)]);
        facts.push(json!({"model": name, "accuracy": accuracy}));
        let line = |line: &[i64]| line.iter().map(|&class| if class == 1 { '█' } else { '·' }).collect::<String>();
        pictures.push(classes(model, SIZE.0, SIZE.1)?.chunks(SIZE.0).map(line).collect::<Vec<String>>());
    }
    let beside: Vec<String> = pictures[0].iter().zip(&pictures[1]).map(|(a, b)| format!("{a}    {b}")).collect();
    let text = format!(
        "Class 1 lies inside class 0, so no line can do better than about a half. A radial kernel, k(x, z) = exp(−γ‖x − z‖²), \
         makes the classifier linear in another space and round in this one.\n\n{}\nWhere each says 1 (left the line, right \
         the kernel):\n\n{}\n",
        table(&rows),
        beside.join("\n")
    );
    let steps = 81;
    let axis: Vec<f64> = (0..steps).map(|at| -EDGE + 2.0 * EDGE * at as f64 / (steps - 1) as f64).collect();
    let points = axis.iter().flat_map(|&x| axis.iter().flat_map(move |&y| [x, y])).collect::<Vec<f64>>();
    let grid = Tensor::from(points).reshape([steps * steps, 2]);
    let found: Vec<usize> = kernel.predict(&grid)?.to_vec::<i64>().iter().map(|&class| class as usize).collect();
    let known: Vec<usize> = y.to_vec::<i64>().iter().map(|&class| class as usize).collect();
    let pairs = x.to_f64_vec();
    let side = |offset: usize| pairs.iter().skip(offset).step_by(2).copied().collect::<Vec<f64>>();
    let map = DecisionMap::new(&axis, &axis, &found)
        .points(&side(0), &side(1), &known)
        .class_names(&["outer circle", "inner circle"])
        .equal_axes()
        .title("Support vectors with an RBF kernel");
    Ok(Shown { text, document: json!(facts), picture: Some(Box::new(map)) })
}
