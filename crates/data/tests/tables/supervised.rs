//! Samples with their targets.

use tove_data::table::{Column, Table, Target, Task, TaskKind, propose_task, read_csv};
use tove_data::{DataError, Dataset, Key, TensorDataset, sets};
use tove_tensor::Tensor;
use tove_tensor::io::WriteOptions;

use super::Folder;

#[test]
fn task_kinds_are_proposed_and_can_be_overridden() {
    let proposed = |column: &Column| propose_task(column).unwrap().task;
    // Inspection proposes: real numbers, one of m values, one of two.
    assert_eq!(proposed(sets::diabetes().unwrap().table().column("progression").unwrap()), Task::Regression);
    assert_eq!(proposed(sets::iris().unwrap().table().column("species").unwrap()), Task::Multiclass(3));
    assert_eq!(proposed(sets::wine().unwrap().table().column("cultivar").unwrap()), Task::Multiclass(3));
    assert_eq!(proposed(sets::german_credit().unwrap().table().column("credit_risk").unwrap()), Task::Binary);
    assert_eq!(proposed(&Column::booleans(vec![true, false])), Task::Binary);
    assert_eq!(proposed(&Column::floats((0..50).map(|i| f64::from(i) / 3.0).collect())), Task::Regression);
    assert_eq!(proposed(&Column::integers((0..500).collect())), Task::Regression);
    assert!(propose_task(&Column::integers((0..500).collect())).unwrap().reason.contains("500"));

    // The user can override.
    let quality = Column::integers((0..100).map(|i| 3 + i % 5).collect());
    assert_eq!(proposed(&quality), Task::Multiclass(5));
    let number = Target::encode(&quality, Some(TaskKind::Regression)).unwrap();
    assert_eq!((number.task(), number.y().to_vec::<f64>()[4]), (Task::Regression, 7.0));
    let halves = Column::floats((0..60).map(|i| f64::from(i % 3) / 2.0).collect());
    assert_eq!(proposed(&halves), Task::Regression);
    let classes = Target::encode(&halves, Some(TaskKind::Classification)).unwrap();
    assert_eq!(
        (classes.task(), classes.classes()),
        (Task::Multiclass(3), &["0.0", "0.5", "1.0"].map(str::to_owned)[..])
    );

    let names = Column::categories(["a", "b", "c"]);
    let refused = Target::encode(&names, Some(TaskKind::Regression));
    assert!(matches!(refused, Err(DataError::TaskMismatch { task: Task::Multiclass(3), .. })));
}

#[test]
fn targets_without_use_are_refused() {
    let refusal = |column: &Column| propose_task(column).unwrap_err().to_string();
    assert!(refusal(&Column::integers(vec![1, 1])).contains("nothing to learn"));
    assert!(refusal(&Column::floats(vec![f64::NAN])).contains("missing"));
    let gaps = Column::floats(vec![1.0, f64::NAN, 2.5]);
    assert!(Target::encode(&gaps, None).unwrap_err().to_string().contains("drop"));
    let labels = Target::encode(&Column::categories(["a", "b"]), None).unwrap().labels().clone();
    assert!(labels.encode(&Column::categories(["c"])).unwrap_err().to_string().contains("\"c\""));
    assert_eq!(labels.decode(&Tensor::from([1i64, 0])).unwrap(), Column::categories(["b", "a"]));
    assert!(labels.decode(&Tensor::from([2i64])).is_err());
}

/// y = 2x in every row.
fn paired(table: &Table) -> bool {
    let (x, y) = (table.column("x").unwrap(), table.column("y").unwrap());
    (0..table.n_rows()).all(|row| x.number(row).map(|x| 2.0 * x) == y.number(row))
}

#[test]
fn lengths_are_equal_csv_goes_both_ways_and_pairs_stay_together() {
    // Equal lengths are enforced.
    let uneven = Table::new([("x", Column::integers(vec![1, 2, 3])), ("y", Column::integers(vec![2, 4]))]);
    assert!(matches!(uneven, Err(DataError::ColumnLength { rows: 2, others: 3, .. })));
    assert!(matches!(
        TensorDataset::new(Tensor::arange(0, 3), Tensor::arange(0, 2)),
        Err(DataError::Lengths { x: 3, y: 2 })
    ));

    // A CSV file is saved and loaded by a library call.
    let count = 997;
    let group = Column::categories((0..count).map(|i| format!("g{}", i % 5)));
    let table = Table::new([
        ("x", Column::floats((0..count).map(|i| i as f64 / 3.0).collect())),
        ("y", Column::floats((0..count).map(|i| 2.0 * (i as f64 / 3.0)).collect())),
        ("group", group),
    ])
    .unwrap();
    let folder = Folder::new();
    let path = folder.path("pairs.csv");
    table.write_csv(&path, WriteOptions::default()).unwrap();
    let (loaded, _) = read_csv(&path).unwrap();
    assert_eq!(loaded, table);

    // Indexing, shuffling and splitting never break the pairing, and lose or double no row.
    let sum = |tables: &[&Table]| -> f64 {
        tables.iter().map(|t| (0..t.n_rows()).filter_map(|row| t.column("x").unwrap().number(row)).sum::<f64>()).sum()
    };
    let whole = sum(&[&table]);
    let taken = loaded.take(&[5, 5, 0, 996]).unwrap();
    assert!(paired(&taken) && taken.column("x").unwrap().number(3) == Some(332.0));
    assert!(matches!(loaded.take(&[count]), Err(DataError::Index { index: 997, len: 997 })));
    for seed in 0..20 {
        let mixed = loaded.shuffle(Key::new(seed));
        assert!(paired(&mixed) && mixed != loaded && (sum(&[&mixed]) - whole).abs() < 1e-6);
        for (a, b) in
            [loaded.split(0.7, Key::new(seed)).unwrap(), loaded.split_stratified("group", 0.7, Key::new(seed)).unwrap()]
        {
            assert!(paired(&a) && paired(&b) && (sum(&[&a, &b]) - whole).abs() < 1e-6);
            assert_eq!((a.n_rows(), b.n_rows()), (698, 299));
        }
    }

    // The same for tensors.
    let x = Tensor::arange(0, 100);
    let data = TensorDataset::new(x.clone(), &x * 2).unwrap();
    let (train, test) = data.split(0.8, Key::new(1)).unwrap();
    for part in [train, test] {
        let batch = part.all(Key::new(0)).unwrap();
        assert_eq!((&batch.x * 2).to_vec::<i64>(), batch.y.to_vec::<i64>());
    }
}
