//! How much the classes count.

use std::str::FromStr;

use tove_learn::balanced;

use super::{Result, TabularError};

/// How much the rows of a class count at fitting. Scores are not weighted by it.
#[derive(Clone, Debug, PartialEq)]
pub enum ClassWeights {
    /// All classes alike: a row of class c counts n / (m n_c), with m classes, n training rows and n_c of them of class c.
    Balanced,
    /// A row of each class named counts so much, one of any other class 1.
    Given(Vec<(String, f64)>),
}

impl ClassWeights {
    /// The weight of a row of each class, by the classes' numbers of training rows.
    ///
    /// # Errors
    /// If a class is named that does not exist, or a weight is not a number from 0 on.
    pub fn per_class(&self, classes: &[String], counts: &[usize]) -> Result<Vec<f64>> {
        let given = match self {
            ClassWeights::Balanced => {
                return Ok(balanced(&counts.iter().map(|&count| count as f64).collect::<Vec<_>>()));
            }
            ClassWeights::Given(given) => given,
        };
        let mut weights = vec![1.0; classes.len()];
        for (name, weight) in given {
            let place = classes.iter().position(|class| class == name).ok_or_else(|| {
                let known = classes.iter().take(12).cloned().collect::<Vec<_>>().join(", ");
                TabularError::plan(format!("there is no class {name} to weigh; there are {known}"))
            })?;
            weights[place] = *weight;
        }
        Ok(weights)
    }
}

impl FromStr for ClassWeights {
    type Err = String;

    /// `balanced`, or `yes=5,no=1`.
    ///
    /// ```
    /// use tove::tabular::ClassWeights;
    /// assert_eq!("balanced".parse(), Ok(ClassWeights::Balanced));
    /// assert_eq!("bad=5".parse(), Ok(ClassWeights::Given(vec![("bad".into(), 5.0)])));
    /// assert!("bad=-1".parse::<ClassWeights>().is_err());
    /// ```
    fn from_str(text: &str) -> Result<ClassWeights, String> {
        if text.eq_ignore_ascii_case("balanced") {
            return Ok(ClassWeights::Balanced);
        }
        let entry = |part: &str| {
            let (name, weight) = part.rsplit_once('=').ok_or("write balanced, or CLASS=WEIGHT,CLASS=WEIGHT")?;
            let number = weight.trim().parse::<f64>().ok().filter(|weight| weight.is_finite() && *weight >= 0.0);
            let number =
                number.ok_or_else(|| format!("{} is not a weight; give a number of at least 0", weight.trim()))?;
            Ok((name.trim().to_owned(), number))
        };
        text.split(',').map(entry).collect::<Result<Vec<_>, String>>().map(ClassWeights::Given)
    }
}
