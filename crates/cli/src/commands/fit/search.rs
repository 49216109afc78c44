//! `--search`: values of hyperparameters that are compared by cross-validation, all combinations or random draws.

use serde_json::{Value as Json, json};
use tove::learn::selection::{Grid, ParamDistribution, Space};
use tove::optim::settings::{Value, ValueKind};
use tove::tabular::{Candidate, Outcome};

use crate::arguments::Fit;
use crate::failure::Failure;
use crate::model_text;

/// Combinations that are tried, at most.
const MOST: usize = 1000;
/// Draws where there is a range, unless their number is given.
const DRAWS: usize = 20;
/// A range whose ends are so many times apart is drawn from by the logarithm.
const WIDE: f64 = 100.0;

/// That nothing is searched where the models are chosen automatically.
pub fn refuse_auto(fit: &Fit) -> Result<(), Failure> {
    match fit.search.first() {
        None => Ok(()),
        Some((name, _)) => Err(Failure::usage(format!("--search {name}: choose the model with --model first"))),
    }
}

/// The values of one flag.
enum Values {
    List(Vec<Value>),
    Range(f64, f64),
}

impl Values {
    fn read(option: &str, text: &str) -> Result<Values, Failure> {
        if let Some((low, high)) = text.split_once("..") {
            let end = |text: &str| text.trim().replace('_', "").parse::<f64>().ok().filter(|end| end.is_finite());
            return match (end(low), end(high)) {
                (Some(low), Some(high)) if low < high => Ok(Values::Range(low, high)),
                _ => Err(Failure::usage(format!("{option}: `{text}`: write a range as LOW..HIGH, such as 1e-3..1e3"))),
            };
        }
        match model_text::list(option, text)? {
            list if list.is_empty() => Err(Failure::usage(format!("{option}: give at least one value"))),
            list => Ok(Values::List(list)),
        }
    }

    fn distribution(&self, whole: bool) -> ParamDistribution {
        match self {
            Values::List(list) => ParamDistribution::Choice(list.clone()),
            Values::Range(low, high) if whole => {
                ParamDistribution::Whole { low: low.max(0.0) as u64, high: *high as u64 }
            }
            &Values::Range(low, high) if low > 0.0 && high / low >= WIDE => ParamDistribution::LogUniform { low, high },
            &Values::Range(low, high) => ParamDistribution::Uniform { low, high },
        }
    }
}

/// The model with the values of `--search`, a candidate for each combination; the model itself without the flag.
pub fn candidates(fit: &Fit, model: &Candidate) -> Result<Vec<Candidate>, Failure> {
    let mut axes: Vec<(&str, Values)> = Vec::new();
    for (name, text) in &fit.search {
        let option = format!("--search {name}");
        if axes.iter().any(|axis| axis.0 == name) {
            return Err(Failure::usage(format!("{option}: given twice; write all values after one name")));
        }
        axes.push((name, Values::read(&option, text)?));
    }
    if axes.is_empty() {
        return Ok(vec![model.clone()]);
    }
    let drawn = fit.search_iterations.is_some() || axes.iter().any(|axis| matches!(axis.1, Values::Range(..)));
    let count = match drawn {
        true => fit.search_iterations.unwrap_or(DRAWS),
        false => axes.iter().fold(1usize, |product, axis| match &axis.1 {
            Values::List(list) => product.saturating_mul(list.len()),
            Values::Range(..) => product,
        }),
    };
    if count == 0 || count > MOST {
        return Err(Failure::usage(format!(
            "--search: {count} combinations; try 1 to {MOST}, with fewer values or --search-iterations N"
        )));
    }
    let whole = |name: &str| {
        let all = model.estimator.describe_all();
        let kind = all.into_iter().find(|(own, _)| own == name).map(|(_, entry)| entry.kind);
        kind.is_some_and(|kind: ValueKind| kind.is_whole())
    };
    let all = match drawn {
        true => {
            let draw =
                |space: Space, (name, values): &(&str, Values)| space.draw(name, values.distribution(whole(name)));
            axes.iter().fold(Space::new(), draw).candidates(count, fit.seed).map_err(Failure::usage)?
        }
        false => {
            let over = |grid: Grid, (name, values): &(&str, Values)| match values {
                Values::List(list) => grid.over(name, list.clone()),
                Values::Range(..) => grid,
            };
            axes.iter().fold(Grid::new(), over).candidates()
        }
    };
    let mut found: Vec<Candidate> = Vec::new();
    for values in all {
        let mut candidate = model.clone();
        for (name, value) in &values {
            let option = |error| Failure::usage(format!("--search {name}={value}: {error}"));
            candidate.estimator.set(name, value.clone()).map_err(option)?;
        }
        candidate.estimator.validate().map_err(|error| Failure::usage(format!("--search: {error}")))?;
        let texts: Vec<String> = values.iter().map(|(name, value)| format!("{name}={value}")).collect();
        candidate.name = format!("{} with {}", model.name, texts.join(", "));
        // Draws from few values repeat.
        if !found.iter().any(|known| known.name == candidate.name) {
            found.push(candidate);
        }
    }
    Ok(found)
}

/// The values that were chosen and those that were tried, for machines; nothing without `--search`.
pub fn document(fit: &Fit, outcome: &Outcome) -> Json {
    if fit.search.is_empty() {
        return Json::Null;
    }
    let tried: serde_json::Map<String, Json> =
        fit.search.iter().map(|(name, text)| (name.clone(), text.clone().into())).collect();
    json!({"tried": tried, "iterations": fit.search_iterations, "chosen": chosen(fit, outcome)})
}

/// The value of each hyperparameter that was searched, of the model that was chosen.
pub fn chosen(fit: &Fit, outcome: &Outcome) -> serde_json::Map<String, Json> {
    let name = outcome.model.model().name();
    let settings = outcome.model.model().settings();
    let Ok(entry) = tove::learn::registry::find(name) else { return serde_json::Map::new() };
    let mut estimator = (entry.new)();
    if estimator.load_json(&settings).is_err() {
        return serde_json::Map::new();
    }
    let value = |name: &String| estimator.value(name).map(|value| (name.clone(), value.to_json()));
    fit.search.iter().filter_map(|(name, _)| value(name)).collect()
}
