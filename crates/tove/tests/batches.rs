//! A row has the same answer, to the last bit, whatever other rows are asked for with it: alone, in batches of any size,
//! joined with the rows of others, and for any number of threads. Whoever joins requests relies on it.
#![allow(clippy::unwrap_used)]

#[path = "common/mutate.rs"]
#[allow(dead_code)]
mod mutate;

use mutate::Random;
use tove::data::table::encode::{Encoding, TextFeatures};
use tove::data::table::{Column, CsvOptions, Kind, Role, Table};
use tove::learn::{Capabilities, registry};
use tove::optim::settings::Hyperparameters;
use tove::tabular::{Candidate, Plan, Predictions, TabularModel};
use tove::tensor::set_num_threads;

/// Numbers, categories, gaps and words; two classes, seven classes, numbers to predict.
fn table(rows: usize) -> Table {
    let mut text = "size,count,colour,words,class,kind,y\n".to_owned();
    let mut random = Random(7);
    for row in 0..rows {
        let size = random.below(1000) as f64 / 64.0;
        let shown = if random.below(13) == 0 { String::new() } else { size.to_string() };
        let (count, colour) = (random.below(40), ["red", "blue", "green", ""][random.below(4)]);
        let words: Vec<String> = (0..6).map(|_| format!("word{}", random.below(300))).collect();
        let class = ["yes", "no"][usize::from(size + count as f64 / 4.0 > 12.0 + (row % 5) as f64)];
        let kind = ["a", "b", "c", "d", "e", "f", "g"][(count + row % 3) / 6];
        let y = size * 0.5 - count as f64 * 0.25 + (row % 7) as f64 / 8.0;
        text.push_str(&format!("{shown},{count},{colour},{},{class},{kind},{y}\n", words.join(" ")));
    }
    CsvOptions::new().kind("words", Kind::Text).read_bytes(text.as_bytes()).unwrap().0
}

/// How a model is made: the target, the numbers that words become (none leaves them out), settings.
struct Order<'a> {
    target: &'a str,
    words: usize,
    settings: &'a [(&'a str, &'a str)],
}

fn fitted(name: &str, order: &Order, train: &Table) -> tove::tabular::Result<TabularModel> {
    let mut candidate = Candidate::named(name)?;
    for (setting, value) in order.settings {
        candidate.estimator.parse(setting, value).map_err(tove::learn::LearnError::from)?;
    }
    let text = if order.words == 0 { TextFeatures::Drop } else { TextFeatures::Hash { buckets: order.words } };
    let encoding = Encoding { text, ..Plan::usual_encoding() };
    let mut plan = Plan::new(order.target).folds(0).encoding(encoding);
    for other in ["class", "kind", "y"].into_iter().filter(|name| *name != order.target) {
        plan = plan.role(other, Role::Dropped);
    }
    Ok(plan.fit(train, &[candidate], &mut |_| {})?.model)
}

/// Everything that is said of each row, as bits.
fn bits(predictions: &Predictions) -> Vec<Vec<u64>> {
    let column = &predictions.column;
    let label = |row: usize| match column {
        Column::Float(values) => values.get(row).unwrap().to_bits(),
        other => other.text(row).unwrap().bytes().fold(0, |hash, byte| hash * 257 + u64::from(byte)),
    };
    let soft: Vec<u64> = predictions.probabilities.iter().flat_map(|all| all.to_f64_vec()).map(f64::to_bits).collect();
    let width = soft.len() / column.len();
    (0..column.len()).map(|row| [&[label(row)], &soft[row * width..(row + 1) * width]].concat()).collect()
}

/// Rows alone, in batches of many sizes and joined with others, against the whole table.
fn assert_steady(name: &str, model: &TabularModel, data: &Table, random: &mut Random) {
    let rows = data.n_rows();
    let whole = bits(&model.predict(data).unwrap());
    let sizes = [1, 1, 2, 3, 4, 5, 7, 8, 12, 13, 15, 16, 17, 31, 33, 64, 100, 255, 257, 1023, 1025, 1500];
    for threads in [1, 2] {
        set_num_threads(threads);
        for size in sizes.into_iter().filter(|&size| size < rows) {
            let places: Vec<usize> = (0..size).map(|_| random.below(rows)).collect();
            let found = bits(&model.predict(&data.take(&places).unwrap()).unwrap());
            for (place, found) in places.iter().zip(found) {
                assert_eq!(found, whole[*place], "{name}: row {place} among {size} with {threads} threads");
            }
        }
        // Requests of different sizes in one batch.
        let places: Vec<Vec<usize>> =
            [1, 3, 1, 40, 2].iter().map(|&size| (0..size).map(|_| random.below(rows)).collect()).collect();
        let parts: Vec<_> = places.iter().map(|places| model.rows(&data.take(places).unwrap()).unwrap()).collect();
        let answers = model.ask_together(&parts.iter().map(|part| &part.0).collect::<Vec<_>>()).unwrap();
        assert_eq!(answers.len(), parts.len());
        for ((places, (_, context)), answers) in places.iter().zip(parts).zip(answers) {
            let found = bits(&model.predictions(answers, context).unwrap());
            let expected: Vec<Vec<u64>> = places.iter().map(|&place| whole[place].clone()).collect();
            assert_eq!(found, expected, "{name}: joined with others, {threads} threads");
        }
    }
    set_num_threads(0);
}

/// Targets for an estimator.
fn targets(own: &Capabilities) -> &'static [&'static str] {
    if own.regresses() { &["y"] } else { &["class", "kind"] }
}

#[test]
fn every_estimator_answers_a_row_alike_in_any_batch() {
    tove::estimators::register();
    let (train, data) = (table(160), table(10_000));
    let mut random = Random(1);
    let mut compared = Vec::new();
    let supervised = |entry: &registry::Entry| entry.capabilities.predicts() && !entry.capabilities.clusters();
    for entry in registry::all().into_iter().filter(|entry| supervised(entry) && !entry.composite) {
        for target in targets(&entry.capabilities) {
            // A few features, and more than a product takes for few.
            for words in [0, 70] {
                let settings: &[_] = match entry.name {
                    "SVC" if words == 0 => &[("probability", "true")],
                    name if name.starts_with("Mlp") => &[("epochs", "3"), ("validation_fraction", "0")],
                    _ => &[],
                };
                // Some refuse such a table for what it is, as a machine of a given share of errors may.
                let Ok(model) = fitted(entry.name, &Order { target, words, settings }, &train) else { continue };
                let name = format!("{} of {target}, {words} words", entry.name);
                assert_steady(&name, &model, &data, &mut random);
                compared.push(entry.name);
            }
        }
    }
    compared.dedup();
    assert!(compared.len() >= 22 && compared.iter().any(|name| name.starts_with("Mlp")), "{compared:?}");
}

/// Sums of thousands of terms are cut by the size of the result; words that become many numbers stay sparse for some models.
#[test]
fn long_sums_and_sparse_rows_too() {
    let (train, data) = (table(70), table(300));
    let mut random = Random(2);
    let net: &[_] = &[("epochs", "1"), ("hidden", "24"), ("validation_fraction", "0")];
    let wide: &[_] = &[("epochs", "1"), ("hidden", "4200"), ("validation_fraction", "0")];
    for (name, target, words, settings) in [
        ("MlpClassifier", "kind", 5000, net),
        ("MlpRegressor", "y", 70, wide),
        ("KernelRidge", "y", 5000, &[]),
        ("SVC", "kind", 20_000, &[]),
        ("SVC", "class", 600, &[]),
        ("LogisticRegression", "kind", 600, &[]),
        ("LogisticRegression", "class", 5000, &[]),
        ("Ridge", "y", 5000, &[]),
        ("SGDClassifier", "kind", 600, &[]),
    ] {
        let model = fitted(name, &Order { target, words, settings }, &train).unwrap();
        assert_steady(&format!("{name} of {target}, {words} words"), &model, &data, &mut random);
    }
    // Many points with several coefficients each.
    let model = fitted("SVC", &Order { target: "kind", words: 70, settings: &[] }, &table(1500)).unwrap();
    assert_steady("SVC of 1500 rows", &model, &data, &mut random);
}
