//! Optimizers on one function: gradient descent, momentum, Adam.

use serde_json::json;
use tove::optim::landscape::Range;
use tove::optim::{Adam, Landscape, Optimizer, Sgd};
use tove::plot::ContourMap;
use tove::plot::terminal::LineText;
use tove::tensor::Tensor;

use super::Shown;
use crate::arguments::Demo;
use crate::failure::Failure;
use crate::output::{number, table};

/// Steps taken.
const STEPS: usize = 100;

/// Rosenbrock's bent valley, lowest (0) at (1, 1), made less steep.
fn valley(x: &Tensor) -> Tensor {
    let (a, b) = (x.narrow(0, 0, 1), x.narrow(0, 1, 1));
    ((1.0 - &a).square() + 10.0 * (b - a.square()).square()).sum()
}

/// Points in the plane.
type Path = Vec<(f64, f64)>;

/// The points that a rule goes through, and the values there.
fn walk(rule: &mut dyn Optimizer) -> Result<(Path, Vec<f64>), Failure> {
    let mut x = Tensor::from([-1.2, 1.0]).requires_grad();
    let (mut path, mut values) = (Vec::new(), Vec::new());
    for _ in 0..=STEPS {
        let value = valley(&x);
        let point = x.to_f64_vec();
        path.push((point[0], point[1]));
        values.push(value.detach().item::<f64>());
        value.backward();
        rule.step(&mut [&mut x])?;
    }
    Ok((path, values))
}

/// Three rules from one starting point.
pub fn rules(_: &Demo) -> Result<Shown, Failure> {
    let mut rows = vec![["rule", "f after 10 steps", "after 50", "after 100"].map(str::to_owned).to_vec()];
    let steps: Vec<f64> = (0..=STEPS).map(|step| step as f64).collect();
    let (mut text, mut facts) = (LineText::new().x(&steps), Vec::new());
    let land = Landscape::sample(&valley, Range::new(-1.6, 1.6, 65), Range::new(-0.6, 1.6, 65))?;
    let mut map = ContourMap::new(&land.x, &land.y, &land.values).log_levels(14).title("Rosenbrock's valley");
    let all: [(&str, Box<dyn Optimizer>); 3] = [
        ("gradient descent, η = 0.015", Box::new(Sgd::new(0.015))),
        ("momentum 0.9, η = 0.005", Box::new(Sgd::new(0.005).with(|settings| settings.momentum(0.9)))),
        ("Adam, η = 0.1", Box::new(Adam::new(0.1))),
    ];
    for (name, mut rule) in all {
        let (path, values) = walk(&mut *rule)?;
        rows.push(vec![name.to_owned(), number(values[10]), number(values[50]), number(values[STEPS])]);
        text = text.series(name, &values);
        let inside: Vec<(f64, f64)> =
            path.iter().take_while(|(x, y)| x.abs() <= 1.6 && (-0.6..=1.6).contains(y)).copied().collect();
        map = map.path(name, &inside);
        facts.push(json!({"rule": name, "path": path, "values": values}));
    }
    let text = format!(
        "f(x, y) = (1 − x)² + 10 (y − x²)² has a bent valley with its lowest point at (1, 1). Plain descent goes down to the \
         bottom of the valley at once and then creeps along it; momentum and Adam keep going.\n\n{}\nf by step, logarithmic:\n{}",
        table(&rows),
        text.log().render(72, 12)?
    );
    Ok(Shown { text, document: json!(facts), picture: Some(Box::new(map)) })
}
