//! Class weights.
//!
//! Class weights multiply the sample weights. `balanced` gives each sample the weight n / (m · count of its class), so
//! that all m classes have the same total weight. A list such as `0:1,1:5` sets the weights of the listed classes;
//! other classes have weight 1. One-vs-rest methods apply the weight of a class only to its own samples, like
//! scikit-learn.
//!
//! ```
//! use tove_learn::{ClassWeight, LogisticRegression};
//! use tove_optim::settings::Hyperparameters;
//! let mut estimator = LogisticRegression::default();
//! estimator.parse("class_weight", "0:1, 1:5")?;
//! assert_eq!(estimator.class_weight, ClassWeight::Given(vec![(0, 1.0), (1, 5.0)]));
//! assert!(estimator.parse("class_weight", "balancd").is_err());
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Setting, Value, ValueKind};

use crate::{LearnError, Result};

/// Class weights.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ClassWeight {
    /// All classes have weight 1.
    #[default]
    None,
    /// Samples are weighted by n / (m · count of their class).
    Balanced,
    /// Weights by class; unlisted classes have weight 1.
    Given(Vec<(i64, f64)>),
}

impl Setting for ClassWeight {
    fn kind() -> ValueKind {
        ValueKind::Optional(Box::new(ValueKind::Map(Box::new(ValueKind::Real))))
    }

    fn value(&self) -> Value {
        match self {
            ClassWeight::None => Value::None,
            ClassWeight::Balanced => Value::Text("balanced".to_owned()),
            ClassWeight::Given(pairs) => {
                Value::Map(pairs.iter().map(|(class, weight)| (class.to_string(), Value::Real(*weight))).collect())
            }
        }
    }

    fn expected() -> Option<&'static str> {
        Some("none, balanced, or class weights such as 0:1,1:5")
    }

    fn from_value(value: &Value) -> Option<ClassWeight> {
        match value {
            Value::None => Some(ClassWeight::None),
            Value::Text(text) if text.eq_ignore_ascii_case("none") => Some(ClassWeight::None),
            Value::Text(text) if text.eq_ignore_ascii_case("balanced") => Some(ClassWeight::Balanced),
            other => {
                let pair = |(class, weight): (String, Value)| Some((class.parse().ok()?, f64::from_value(&weight)?));
                given(other.as_map()?.into_iter().map(pair).collect::<Option<_>>()?)
            }
        }
    }

    /// As on a command line, and in model files of earlier versions.
    fn parse(text: &str) -> Option<ClassWeight> {
        let text = text.trim().trim_start_matches('{').trim_end_matches('}');
        match text.to_ascii_lowercase().as_str() {
            "none" | "null" | "" => return Some(ClassWeight::None),
            "balanced" => return Some(ClassWeight::Balanced),
            _ => {}
        }
        let pair = |part: &str| {
            let (class, weight) = part.split_once([':', '='])?;
            Some((class.trim().parse().ok()?, weight.trim().parse().ok()?))
        };
        given(text.split(',').map(pair).collect::<Option<_>>()?)
    }
}

/// Weights of classes, each named once, none of them negative.
fn given(pairs: Vec<(i64, f64)>) -> Option<ClassWeight> {
    let mut classes: Vec<i64> = pairs.iter().map(|pair| pair.0).collect();
    classes.sort_unstable();
    let twice = classes.windows(2).any(|two| two[0] == two[1]);
    let usable = pairs.iter().all(|(_, weight)| *weight >= 0.0 && weight.is_finite());
    (!twice && usable && !pairs.is_empty()).then_some(ClassWeight::Given(pairs))
}

impl ClassWeight {
    /// Returns the weight of each class, or `None` if all are 1. `codes` are indices into `classes`, `given` are sample
    /// weights.
    pub(crate) fn factors(
        &self,
        who: &'static str,
        classes: &[i64],
        codes: &[usize],
        given: Option<&[f64]>,
    ) -> Result<Option<Vec<f64>>> {
        match self {
            ClassWeight::None => Ok(None),
            ClassWeight::Given(pairs) => Ok(Some(named(who, classes, pairs)?)),
            ClassWeight::Balanced => {
                let mut sums = vec![0.0; classes.len()];
                let weight = |row: usize| given.map_or(1.0, |weights| weights[row]);
                codes.iter().enumerate().for_each(|(row, &code)| sums[code] += weight(row));
                if let Some(empty) = sums.iter().position(|&sum| sum == 0.0) {
                    let class = classes[empty];
                    let problem = format!("all samples of class {class} have weight 0, so it cannot be balanced");
                    return Err(LearnError::data(
                        who,
                        problem,
                        "give one of them a positive weight, or remove the class",
                    ));
                }
                Ok(Some(balanced(&sums)))
            }
        }
    }

    /// Returns sample weights multiplied by class weights, or `None` if all are 1.
    pub(crate) fn apply(
        &self,
        who: &'static str,
        classes: &[i64],
        codes: &[usize],
        given: Option<Vec<f64>>,
    ) -> Result<Option<Vec<f64>>> {
        let Some(factors) = self.factors(who, classes, codes, given.as_deref())? else { return Ok(given) };
        let mut weights = given.unwrap_or_else(|| vec![1.0; codes.len()]);
        weights.iter_mut().zip(codes).for_each(|(weight, &code)| *weight *= factors[code]);
        Ok(Some(weights))
    }
}

/// The weights n / (m · count) that give all m classes the same influence; 0 for a class that has no samples.
///
/// ```
/// assert_eq!(tove_learn::balanced(&[3.0, 1.0]), [2.0 / 3.0, 2.0]);
/// ```
pub fn balanced(counts: &[f64]) -> Vec<f64> {
    let even = counts.iter().sum::<f64>() / counts.len() as f64;
    counts.iter().map(|&count| if count == 0.0 { 0.0 } else { even / count }).collect()
}

/// Sample weights of a one-vs-rest problem. With more than two classes only the samples of that class get its weight
/// and the others have weight 1, as in LIBLINEAR and scikit-learn; with two classes each sample gets the weight of its
/// class.
pub(crate) fn against_rest(factors: &[f64], codes: &[usize], class: usize, given: Option<&[f64]>) -> Vec<f64> {
    let factor = |code: usize| if factors.len() == 2 || code == class { factors[code] } else { 1.0 };
    let weight = |row: usize| given.map_or(1.0, |weights| weights[row]);
    codes.iter().enumerate().map(|(row, &code)| weight(row) * factor(code)).collect()
}

/// Returns the weight of each class. An unknown class in the list is an error if some class has no weight, as in
/// scikit-learn: one of the two is probably a typo.
fn named(who: &'static str, classes: &[i64], pairs: &[(i64, f64)]) -> Result<Vec<f64>> {
    let weight = |class: &i64| pairs.iter().find(|pair| pair.0 == *class).map(|pair| pair.1);
    let found: Vec<Option<f64>> = classes.iter().map(weight).collect();
    let unknown = pairs.iter().find(|pair| !classes.contains(&pair.0));
    if let (Some((unknown, _)), true) = (unknown, found.contains(&None)) {
        let problem = format!("class_weight names class {unknown}, which is not among the classes {classes:?}");
        return Err(LearnError::data(who, problem, "use the class labels of the targets"));
    }
    Ok(found.into_iter().map(|weight| weight.unwrap_or(1.0)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_back() {
        for text in ["none", "balanced", "0:1,1:5", "-3:0.25"] {
            let read = ClassWeight::parse(text).expect(text);
            let value = read.value();
            assert_eq!(ClassWeight::from_value(&value), Some(read.clone()), "{text}");
            assert_eq!(
                Value::from_json(&value.to_json()).and_then(|value| ClassWeight::from_value(&value)),
                Some(read)
            );
        }
        assert_eq!(ClassWeight::from_value(&"0:1,1:5".into()), None, "text is for command lines");
        assert_eq!(ClassWeight::parse("{0: 1, 1: 5}"), ClassWeight::parse("0=1,1=5"));
        for text in ["balance", "0:-1", "0:nan", "0", "0:1,0:2", "a:1"] {
            assert_eq!(ClassWeight::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_class_that_is_not_there_is_refused_where_another_has_no_weight() {
        let given = ClassWeight::Given(vec![(0, 2.0), (7, 3.0)]);
        assert!(given.apply("x", &[0, 1], &[0, 1], None).is_err());
        assert_eq!(given.apply("x", &[0], &[0, 0], None).ok().flatten(), Some(vec![2.0, 2.0]));
        assert_eq!(given.apply("x", &[0, 7, 7], &[0, 1], Some(vec![1.0, 2.0])).ok().flatten(), Some(vec![2.0, 6.0]));
    }
}
