//! Tables to tensors.

use serde_json::Value;
use tove_data::table::encode::{Impute, ManyCategories, TextFeatures};
use tove_data::table::{Column, Dates, Encoding, Role, Schema, Table, TableEncoder, Target, Text, Unit, Values};
use tove_data::{DataError, Key};
use tove_tensor::DType;

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap_or(f64::NAN)).collect()
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|x| x.as_str().unwrap().to_owned()).collect()
}

fn near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() <= 1e-12 * b.abs().max(1.0), "{found:?}\n{expected:?}");
    }
}

fn encode(table: &Table, options: Encoding) -> (TableEncoder, Vec<f64>) {
    let encoder = TableEncoder::fit(table, &Schema::of(table), &options).unwrap();
    let x = encoder.encode(table).unwrap().x.to_vec::<f64>();
    (encoder, x)
}

#[test]
fn numbers_categories_and_words_are_those_of_scikit_learn() {
    let fixture = super::fixture("sklearn_encoding.json");
    let number = Table::new([("x", Column::floats(numbers(&fixture["numbers"])))]).unwrap();
    for (impute, name) in [(Impute::Mean, "mean"), (Impute::Median, "median")] {
        let plain = Encoding { impute, indicators: false, ..Encoding::default() };
        near(&encode(&number, plain).1, &numbers(&fixture[name]));
        near(&encode(&number, Encoding { scale: true, ..plain }).1, &numbers(&fixture[&format!("{name}_scaled")]));
    }
    let port = Table::new([("p", Column::categories(strings(&fixture["port"])))]).unwrap();
    let expected: Vec<f64> = fixture["one_hot"].as_array().unwrap().iter().flat_map(numbers).collect();
    near(&encode(&port, Encoding::default()).1, &expected);
    let text = Table::new([("t", Column::texts(strings(&fixture["text"])))]).unwrap();
    let tfidf = Encoding { text: TextFeatures::TfIdf { max_words: 6, min_rows: 1 }, ..Encoding::default() };
    let (encoder, x) = encode(&text, tfidf);
    let words: Vec<String> = strings(&fixture["words"]).iter().map(|word| format!("t:{word}")).collect();
    assert_eq!(encoder.feature_names(), words);
    near(&x, &fixture["tfidf"].as_array().unwrap().iter().flat_map(numbers).collect::<Vec<_>>());
}

fn everything() -> Table {
    let port = [Some("S"), None, Some("C"), Some("S"), Some("Q"), None];
    Table::new([
        ("age", Column::floats(vec![20.0, f64::NAN, 40.0, 33.3, 0.1, 7.0])),
        ("count", Column::Integer([Some(1), Some(2), None, Some(4), Some(5), Some(6)].into_iter().collect())),
        ("ok", Column::booleans(vec![true, false, true, true, false, false])),
        ("port", Column::Categorical(port.into_iter().collect())),
        ("many", Column::categories((0..6).map(|i| format!("v{}", i / 2)))),
        ("day", Column::Date(Dates::new(vec![0, 1, 2, 400, 401, 402].into(), Unit::Days))),
        (
            "at",
            Column::Date(Dates::new(
                Values::from_iter([Some(0), Some(3_700), None, Some(90_000), Some(1), Some(2)]),
                Unit::Seconds,
            )),
        ),
        (
            "note",
            Column::Text(Text::from_iter([
                Some("a good day"),
                None,
                Some("bad day bad"),
                Some(""),
                Some("x"),
                Some("good"),
            ])),
        ),
        ("y", Column::integers(vec![0, 1, 1, 0, 1, 0])),
    ])
    .unwrap()
}

fn options() -> Vec<Encoding> {
    let base = Encoding { scale: true, max_one_hot: 2, ..Encoding::default() };
    vec![
        base,
        Encoding { many: ManyCategories::OneHot, text: TextFeatures::TfIdf { max_words: 10, min_rows: 1 }, ..base },
        Encoding {
            many: ManyCategories::Drop,
            text: TextFeatures::Drop,
            dates: false,
            impute: Impute::Constant(-1.0),
            ..base
        },
        Encoding { many: ManyCategories::Target { smoothing: 2.0, folds: 3, seed: 1 }, impute: Impute::Median, ..base },
    ]
}

#[test]
fn encoders_come_back_bit_for_bit_and_sparse_equals_dense() {
    let table = everything();
    let schema = Schema::of(&table).with_role("y", Role::Target).unwrap();
    let target = Target::encode(table.column("y").unwrap(), None).unwrap();
    for options in options() {
        let (encoder, _) = TableEncoder::fit_encode(&table, &schema, &options, &target).unwrap();
        let (json, tensor) = encoder.to_state().unwrap();
        let back = TableEncoder::from_state(&json, &tensor).unwrap();
        let (x, again) = (encoder.encode(&table).unwrap(), back.encode(&table).unwrap());
        let bits = |x: &tove_tensor::Tensor| x.to_vec::<f64>().into_iter().map(f64::to_bits).collect::<Vec<_>>();
        assert_eq!(bits(&x.x), bits(&again.x));
        assert_eq!(
            (back.feature_names(), x.x.dims()),
            (encoder.feature_names(), &[6, encoder.feature_names().len()][..])
        );
        assert_eq!(encoder.feature_columns().len(), encoder.feature_names().len());
        let sparse = encoder.encode_sparse(&table).unwrap();
        assert_eq!(sparse.x.to_dense(DType::F64).unwrap().to_vec::<f64>(), x.x.to_vec::<f64>());
        assert_eq!((sparse.unseen, sparse.imputed), (x.unseen, x.imputed));
        assert!((0..6).all(|row| sparse.x.row(row).map(|(column, _)| column).is_sorted()));
        let single = encoder.encode_as(&table, DType::F32).unwrap().x;
        assert!(single.to_dtype(DType::F64).allclose(&x.x, 1e-6, 1e-6));
        assert!(encoder.encode_as(&table, DType::I64).is_err());
        // A file with too few numbers, or sizes that make no sense, is refused.
        assert!(TableEncoder::from_state(&json, &tove_tensor::Tensor::from(vec![0.0f64; 2])).is_err());
        assert!(TableEncoder::from_state("[]x", &tensor).is_err());
    }
    let huge = "[{\"column\":\"a\",\"form\":{\"hashedtext\":{\"buckets\":9999999999999}}}]";
    assert!(TableEncoder::from_state(huge, &tove_tensor::Tensor::from(Vec::<f64>::new())).is_err());
}

#[test]
fn features_have_names_and_dates_have_parts() {
    let table = everything();
    let schema = Schema::of(&table).with_role("y", Role::Target).unwrap();
    let encoder =
        TableEncoder::fit(&table, &schema, &Encoding { text: TextFeatures::Drop, ..Encoding::default() }).unwrap();
    let names = encoder.feature_names();
    let expected = [
        "age",
        "age is missing",
        "count",
        "count is missing",
        "ok",
        "port=C",
        "port=Q",
        "port=S",
        "port is missing",
        "many=v0",
        "many=v1",
        "many=v2",
        "day year",
        "day month",
        "day weekday",
        "day seconds",
        "at year",
        "at month",
        "at weekday",
        "at seconds",
        "at hour",
    ];
    assert_eq!(names, expected);
    let encoded = encoder.encode(&table).unwrap();
    let row = |i: usize| encoded.x.to_vec::<f64>()[i * names.len()..(i + 1) * names.len()].to_vec();
    // 1971-02-05 was a Friday; 1970-01-02 01:00 has hour 1.
    assert_eq!(row(3)[12..16], [1971.0, 2.0, 4.0, 400.0 * 86_400.0]);
    assert_eq!(row(3)[16..], [1970.0, 1.0, 4.0, 90_000.0, 1.0]);
    assert_eq!(row(1)[5..9], [0.0, 0.0, 0.0, 1.0]);
    let imputed: Vec<&str> = encoded.imputed.iter().map(|(column, _)| column.as_str()).collect();
    assert_eq!(imputed, ["age", "count", "at"]);
}

#[test]
fn only_training_rows_are_learnt_from() {
    let table = Table::new([
        ("x", Column::floats((0..100).map(f64::from).collect())),
        ("c", Column::categories((0..100).map(|i| format!("c{}", i % 10)))),
    ])
    .unwrap();
    let (train, test) = table.split(0.5, Key::new(3)).unwrap();
    let encoder =
        TableEncoder::fit(&train, &Schema::of(&table), &Encoding { scale: true, ..Encoding::default() }).unwrap();
    let mean = encoder
        .encode(&train)
        .unwrap()
        .x
        .try_to_vec::<f64>()
        .unwrap()
        .iter()
        .step_by(encoder.feature_names().len())
        .sum::<f64>();
    assert!(mean.abs() < 1e-9);
    // Other rows are scaled by the mean and spread of these, so a far value stays far.
    let changed = test.with_column("x", Column::floats(vec![1e6; 50])).unwrap();
    assert!(encoder.encode(&changed).unwrap().x.at::<f64>(&[0, 0]) > 1e4);
    let few = train.filter(|row| train.column("c").unwrap().text(row).unwrap() != "c3");
    let encoder = TableEncoder::fit(&few, &Schema::of(&table), &Encoding::default()).unwrap();
    assert!(!encoder.feature_names().contains(&"c=c3".to_owned()), "a category of other rows is not learnt");
    let unseen = encoder.encode(&table).unwrap().unseen;
    assert_eq!(unseen, [("c".to_owned(), 10)]);
}

#[test]
fn target_means_are_smoothed_and_out_of_fold() {
    let groups: Vec<String> = (0..60).map(|i| format!("g{}", i % 6)).collect();
    let y: Vec<f64> = (0..60).map(|i| f64::from(i % 6) + f64::from(i) / 100.0).collect();
    let table = Table::new([("g", Column::categories(&groups)), ("y", Column::floats(y.clone()))]).unwrap();
    let schema = Schema::of(&table).with_role("y", Role::Target).unwrap();
    let target = Target::encode(table.column("y").unwrap(), None).unwrap();
    let many = ManyCategories::Target { smoothing: 3.0, folds: 5, seed: 9 };
    let options = Encoding { max_one_hot: 2, many, ..Encoding::default() };
    assert!(
        matches!(TableEncoder::fit(&table, &schema, &options), Err(DataError::Schema { column, .. }) if column == "g")
    );
    let (encoder, training) = TableEncoder::fit_encode(&table, &schema, &options, &target).unwrap();
    let later = encoder.encode(&table).unwrap().x.to_vec::<f64>();
    let prior = y.iter().sum::<f64>() / 60.0;
    for (row, value) in later.iter().enumerate() {
        let own: Vec<f64> = (0..60).filter(|i| i % 6 == row % 6).map(|i| y[i]).collect();
        let expected = (own.iter().sum::<f64>() + 3.0 * prior) / (own.len() as f64 + 3.0);
        assert!((value - expected).abs() < 1e-12);
    }
    // Changing one target changes no value that its own row sees, but values of other rows of the group.
    let mut other = y.clone();
    other[0] += 1000.0;
    let changed = Target::encode(&Column::floats(other), None).unwrap();
    let (_, moved) = TableEncoder::fit_encode(&table, &schema, &options, &changed).unwrap();
    let (before, after) = (training.x.to_vec::<f64>(), moved.x.to_vec::<f64>());
    assert_eq!(before[0], after[0]);
    assert!((1..60).any(|row| row % 6 == 0 && before[row] != after[row]));
    let short = Target::encode(&Column::floats(vec![1.0, 2.0, 3.5]), None).unwrap();
    assert!(matches!(
        TableEncoder::fit_encode(&table, &schema, &options, &short),
        Err(DataError::Lengths { x: 60, y: 3 })
    ));
}

#[test]
fn what_cannot_be_encoded_is_said() {
    let table = Table::new([("x", Column::floats(vec![1.0, f64::INFINITY]))]).unwrap();
    let error = TableEncoder::fit(&table, &Schema::of(&table), &Encoding::default()).unwrap_err().to_string();
    assert!(error.contains("\"x\"") && error.contains("inf"), "{error}");
    let (encoder, _) = encode(&Table::new([("x", Column::floats(vec![1.0]))]).unwrap(), Encoding::default());
    let other = Table::new([("x", Column::categories(["a"]))]).unwrap();
    assert!(encoder.encode(&other).unwrap_err().to_string().contains("conform"));
    assert!(encoder.encode(&Table::new([("z", Column::floats(vec![1.0]))]).unwrap()).is_err());
}
