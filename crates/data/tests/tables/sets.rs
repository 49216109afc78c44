//! The tables that ship with the project.

use std::path::Path;

use tove_data::sets::{TableSet, breast_cancer, diabetes, german_credit, iris, wine};
use tove_data::table::{Task, read_csv};

#[test]
fn bundled_tables_are_the_files_of_the_data_folder() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data");
    let sets: [(&str, &str, TableSet, Task, usize); 5] = [
        ("iris.csv", "species", iris().unwrap(), Task::Multiclass(3), 4),
        ("wine.csv", "cultivar", wine().unwrap(), Task::Multiclass(3), 13),
        ("breast-cancer.csv", "diagnosis", breast_cancer().unwrap(), Task::Binary, 30),
        ("diabetes.csv", "progression", diabetes().unwrap(), Task::Regression, 10),
        ("german-credit.csv", "credit_risk", german_credit().unwrap(), Task::Binary, 61),
    ];
    for (file, target, set, task, features) in sets {
        let (table, report) = read_csv(folder.join(file)).unwrap();
        assert!(table == *set.table(), "{file}");
        assert_eq!((report.notes(), set.task()), (vec![], task), "{file}");
        assert_eq!((set.x().dims(), set.feature_names().len()), (&[table.n_rows(), features][..], features), "{file}");
        assert_eq!(set.y().numel(), table.n_rows());
        assert!(table.has(target) && !set.feature_names().iter().any(|name| name == target));
        assert!(set.dataset().is_ok());
    }
    assert_eq!(german_credit().unwrap().target().classes(), ["1", "2"]);
}
