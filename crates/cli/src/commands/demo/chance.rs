//! How often Hoeffding's interval holds, and what a penalty does to coefficients.

use serde_json::json;
use tove::data::sets;
use tove::learn::features::StandardScaler;
use tove::learn::linear::Ridge;
use tove::learn::{Fit, Transform};
use tove::metrics::hoeffding;
use tove::plot::LineChart;
use tove::plot::terminal::LineText;
use tove::tensor::{DType, Key};

use super::Shown;
use crate::arguments::Demo;
use crate::failure::Failure;
use crate::output::{number, table};

/// Test sets drawn for each number of samples.
const DRAWS: usize = 2000;

/// The share of test sets whose error is further from the true one than Hoeffding's ε, beside δ.
pub fn coverage(demo: &Demo) -> Result<Shown, Failure> {
    let (truth, delta) = (0.2, 0.05);
    let head = ["N", "ε", "test sets outside ε", "allowed", "95 % of them lie within"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let (mut counts, mut bounds, mut actual, mut misses) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for n in [10usize, 30, 100, 300, 1000, 3000] {
        let key = Key::new(demo.seed).fold(n as u64);
        let wrong = key.bernoulli(truth, [DRAWS, n]).to_dtype(DType::F64).mean_axes(&[1], false).to_f64_vec();
        let mut gaps: Vec<f64> = wrong.iter().map(|error| (error - truth).abs()).collect();
        gaps.sort_by(f64::total_cmp);
        let epsilon = hoeffding(n as f64, 1.0, delta);
        let outside = gaps.iter().filter(|&&gap| gap >= epsilon).count() as f64 / DRAWS as f64;
        let within = gaps[(DRAWS as f64 * (1.0 - delta)) as usize];
        rows.push(vec![n.to_string(), number(epsilon), number(outside), number(delta), number(within)]);
        counts.push(n as f64);
        bounds.push(epsilon);
        actual.push(within);
        misses.push(outside);
    }
    let lines = LineText::new().x(&counts).log_x().log();
    let picture = lines.series("Hoeffding's ε", &bounds).series("where 95 % lie", &actual).render(72, 10)?;
    let text = format!(
        "A classifier that is wrong with probability {truth} is evaluated on {DRAWS} test sets of N samples. Hoeffding allows {delta} \
         of them to lie further than ε from the truth; fewer do, since ε holds for every distribution and not only for this one.\
         \n\n{}\nDistance from the true error by N, both axes logarithmic:\n{picture}",
        table(&rows)
    );
    let chart = LineChart::new()
        .series("Hoeffding's ε", &counts, &bounds)
        .series("where 95 % of the test sets lie", &counts, &actual)
        .log_x()
        .log_y()
        .x_label("N")
        .y_label("distance from the true error")
        .title("How much Hoeffding's interval gives away");
    let document = json!({"n": counts, "epsilon": bounds, "outside": misses, "within_95": actual});
    Ok(Shown { text, document, picture: Some(Box::new(chart)) })
}

/// Coefficients of ridge regression on the diabetes data, by the strength of the penalty.
pub fn penalty(_: &Demo) -> Result<Shown, Failure> {
    let set = sets::diabetes()?;
    let x = StandardScaler::default().fit(set.x(), None)?.transform(set.x())?;
    let alphas: Vec<f64> = (-4..=20).map(|k| 10f64.powf(f64::from(k) / 4.0)).collect();
    let mut paths = vec![Vec::new(); set.feature_names().len()];
    let mut lengths = Vec::new();
    for &alpha in &alphas {
        let model = Ridge::default().alpha(alpha).fit(&x, set.y())?;
        let weights = model.coef().to_f64_vec();
        lengths.push(weights.iter().map(|w| w * w).sum::<f64>().sqrt());
        paths.iter_mut().zip(weights).for_each(|(path, weight)| path.push(weight));
    }
    let mut rows = vec![vec!["feature".to_owned()]];
    let shown = [0, 8, 12, 16, 20, 24];
    rows[0].extend(shown.iter().map(|&at| format!("α = {}", number(alphas[at]))));
    for (name, path) in set.feature_names().iter().zip(&paths) {
        rows.push(std::iter::once(name.clone()).chain(shown.iter().map(|&at| number(path[at]))).collect());
    }
    let text = format!(
        "Ridge regression, min ‖y − Xw‖² + α‖w‖², on the diabetes data (442 patients, features standardized). A stronger \
         penalty shrinks all coefficients towards zero; those of collinear features change sign on the way.\n\n{}\n\
         ‖w‖ by α, on a logarithmic axis:\n{}",
        table(&rows),
        LineText::new().x(&alphas).log_x().series("‖w‖", &lengths).render(72, 10)?
    );
    let mut chart =
        LineChart::new().log_x().x_label("α").y_label("coefficient").title("Ridge regression by its penalty");
    for (name, path) in set.feature_names().iter().zip(&paths) {
        chart = chart.series(name.as_str(), &alphas, path);
    }
    let document = json!({"alpha": alphas, "features": set.feature_names(), "coefficients": paths});
    Ok(Shown { text, document, picture: Some(Box::new(chart)) })
}
