//! Small tables that are built into the program; source and licence of each are in the repository's `data/README.md`.

use tove_tensor::Tensor;

use crate::table::{CsvOptions, Encoding, Role, Schema, Table, TableEncoder, Target, Task};
use crate::{Result, TensorDataset};

/// A table with a column to be predicted, also as tensors.
///
/// ```
/// use tove_data::{sets, table::Task};
/// let iris = sets::iris()?;
/// assert_eq!((iris.x().dims(), iris.target().task()), (&[150, 4][..], Task::Multiclass(3)));
/// assert_eq!(iris.target().classes(), ["setosa", "versicolor", "virginica"]);
/// # Ok::<(), tove_data::DataError>(())
/// ```
#[derive(Clone, Debug)]
pub struct TableSet {
    table: Table,
    schema: Schema,
    target: Target,
    x: Tensor,
    names: Vec<String>,
}

impl TableSet {
    fn open(packed: &[u8], target: &str) -> Result<TableSet> {
        let (table, _) = CsvOptions::new().read_bytes(packed)?;
        let schema = Schema::of(&table).with_role(target, Role::Target)?;
        let encoder = TableEncoder::fit(&table, &schema, &Encoding::default())?;
        let x = encoder.encode(&table)?.x;
        let target = Target::encode(table.column(target)?, None)?;
        Ok(TableSet { table, schema, target, x, names: encoder.feature_names().to_vec() })
    }

    /// The table, the target column included.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Kinds and roles of its columns.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// All other columns as numbers (n, features) of f64, categories one-hot.
    pub fn x(&self) -> &Tensor {
        &self.x
    }

    /// What is to be predicted (n): class codes (i64) or numbers (f64).
    pub fn y(&self) -> &Tensor {
        self.target.y()
    }

    /// The target with its task and classes.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Names of the features.
    pub fn feature_names(&self) -> &[String] {
        &self.names
    }

    /// Inputs and targets as a set to train on.
    ///
    /// # Errors
    /// Never: there are as many of the one as of the other.
    pub fn dataset(&self) -> Result<TensorDataset> {
        TensorDataset::new(self.x.clone(), self.y().clone())
    }

    /// The task.
    pub fn task(&self) -> Task {
        self.target.task()
    }
}

macro_rules! tables {
    ($($(#[$doc:meta])* $name:ident, $file:literal, $target:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// Never, as long as the file in the crate is whole.
        pub fn $name() -> Result<TableSet> {
            TableSet::open(include_bytes!(concat!("../../assets/", $file, ".csv.gz")), $target)
        }
    )*};
}

tables! {
    /// 150 flowers of three species by length and width of sepals and petals (Fisher 1936); target `species`.
    iris, "iris", "species";
    /// 178 wines of three cultivars by thirteen chemical measurements; target `cultivar`.
    wine, "wine", "cultivar";
    /// 569 tumours by thirty measurements of cell nuclei; target `diagnosis`, benign or malignant.
    breast_cancer, "breast-cancer", "diagnosis";
    /// 442 patients by age, sex, body mass, blood pressure and six serum values; target `progression` after a year.
    diabetes, "diabetes", "progression";
    /// 1,000 borrowers by thirteen categories and seven numbers; target `credit_risk`, 1 good and 2 bad.
    german_credit, "german-credit", "credit_risk";
}
