//! A list of candidate regularization strengths.

use std::ops::Deref;

use tove_optim::settings::{Setting, Value, ValueKind};

/// Regularization strengths as a typed list. Earlier versions saved them as comma-separated text, which can still be
/// read.
///
/// ```
/// use tove_learn::linear::{Alphas, RidgeCv};
/// use tove_optim::settings::{Hyperparameters, Value};
/// let mut estimator = RidgeCv::default().alphas([0.5, 5.0].into());
/// assert_eq!(estimator.alphas[..], [0.5, 5.0]);
/// estimator.parse("alphas", "1,2")?;
/// assert_eq!(estimator.alphas, Alphas::from([1.0, 2.0]));
/// assert!(estimator.set("alphas", Value::List(vec![Value::Text("a".into())])).is_err());
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Alphas(pub Vec<f64>);

impl Deref for Alphas {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        &self.0
    }
}

impl<const N: usize> From<[f64; N]> for Alphas {
    fn from(values: [f64; N]) -> Alphas {
        Alphas(values.to_vec())
    }
}

impl From<Vec<f64>> for Alphas {
    fn from(values: Vec<f64>) -> Alphas {
        Alphas(values)
    }
}

impl From<&[f64]> for Alphas {
    fn from(values: &[f64]) -> Alphas {
        Alphas(values.to_vec())
    }
}

impl Setting for Alphas {
    fn kind() -> ValueKind {
        Vec::<f64>::kind()
    }

    fn value(&self) -> Value {
        self.0.value()
    }

    fn from_value(value: &Value) -> Option<Alphas> {
        match value {
            Value::Text(text) => Alphas::parse(text),
            other => Vec::from_value(other).map(Alphas),
        }
    }

    fn parse(text: &str) -> Option<Alphas> {
        <Vec<f64> as Setting>::parse(text).map(Alphas)
    }

    fn all_numbers(&self, test: &dyn Fn(f64) -> bool) -> bool {
        self.0.all_numbers(test)
    }
}
