//! Model files written before fitted models shared one description of themselves: they load and predict the same bits.
//!
//! tests/zoo holds a file of every estimator, fitted by the program to 45 rows, with the program's predictions for five rows.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use serde_json::Value;
use tove::data::table::CsvOptions;
use tove::learn::{Predict, Task, restore};
use tove::tabular::TabularModel;

#[test]
fn files_of_every_estimator_predict_what_they_did() {
    let zoo = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/zoo");
    let known: Value = serde_json::from_str(&std::fs::read_to_string(zoo.join("predictions.json")).unwrap()).unwrap();
    let known = known["predictions"].as_object().unwrap();
    assert_eq!(known.len(), 22);
    for (name, wanted) in known {
        let model = TabularModel::load(zoo.join(format!("{name}.tove"))).unwrap();
        let file = if model.model().task() == Task::Regression { "numbers.csv" } else { "classes.csv" };
        let (table, _) = CsvOptions::new().read_bytes(&std::fs::read(zoo.join(file)).unwrap()).unwrap();
        let (rows, _, _) = model.rows(&table).unwrap();
        // What is written today is read as well.
        for fitted in [model.model(), &*restore(&model.model().record()).unwrap()] {
            assert_eq!(fitted.name(), name);
            assert!(fitted.settings().is_object());
            let answers = fitted.predict(&rows).unwrap().to_f64_vec();
            match model.model().task() {
                Task::Regression => {
                    let wanted: Vec<f64> = wanted.as_array().unwrap().iter().map(|y| y.as_f64().unwrap()).collect();
                    assert_eq!(answers, wanted, "{name}");
                }
                Task::Classification => {
                    let found: Vec<&str> =
                        answers.iter().map(|&code| model.classes()[code as usize].as_str()).collect();
                    let wanted: Vec<&str> = wanted.as_array().unwrap().iter().map(|k| k.as_str().unwrap()).collect();
                    assert_eq!(found, wanted, "{name}");
                }
            }
        }
    }
}
