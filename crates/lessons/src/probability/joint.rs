//! Tables of discrete joint probabilities.
//!
//! p(x, y) = p(x) p(y | x), and for more variables the chain rule holds in any order: p(a, b, c) = p(c) p(a | c) p(b |
//! a, c) = …. A table stores p over named variables, conditional on others or none.
//!
//! ```
//! use tove_lessons::probability::JointTable;
//! use tove_tensor::Tensor;
//! let p = JointTable::new(&["rain", "wet"], Tensor::from([[0.6, 0.1], [0.03, 0.27]]))?;
//! let given = p.conditional(&["wet"], &["rain"])?; // p(wet | rain)
//! assert!((given.at(&[("rain", 1), ("wet", 1)])? - 0.9).abs() < 1e-15);
//! let back = p.marginal(&["rain"])?.times(&given)?;
//! assert!(back.distance(&p)? < 1e-15);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_tensor::{DType, Tensor, TryOps, TryUnary};

use tove_learn::{LearnError, Result};

/// Probabilities of discrete variables, conditional on others. One named axis per variable.
#[derive(Clone, Debug)]
pub struct JointTable {
    names: Vec<String>,
    given: Vec<String>,
    values: Tensor, // f64, one axis per name
}

/// Tolerance of sums to 1.
const TOLERANCE: f64 = 1e-9;

impl JointTable {
    /// Creates a joint distribution: non-negative, summing to 1, one axis per name.
    pub fn new(names: &[&str], values: Tensor) -> Result<JointTable> {
        let table = JointTable {
            names: names.iter().map(|&name| name.to_owned()).collect(),
            given: Vec::new(),
            values: values.to_dtype(DType::F64).try_contiguous()?,
        };
        let wrong = |problem: String| Err(LearnError::parameter("JointTable", problem));
        if table.values.rank() != names.len() {
            return wrong(format!("{} names for shape {}; name every axis", names.len(), table.values.shape()));
        }
        if let Some(double) = names.iter().enumerate().find(|(i, name)| names[..*i].contains(name)) {
            return wrong(format!("two axes are called {}", double.1));
        }
        let entries = table.values.to_f64_vec();
        let total: f64 = entries.iter().sum();
        if entries.iter().any(|p| p.is_nan() || *p < 0.0) || (total - 1.0).abs() > TOLERANCE {
            return wrong(format!("probabilities must be non-negative and sum to 1; these sum to {total}"));
        }
        Ok(table)
    }

    /// The variables, in the order of the axes.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The conditioning variables.
    pub fn given(&self) -> &[String] {
        &self.given
    }

    /// The probabilities, one axis per variable.
    pub fn values(&self) -> &Tensor {
        &self.values
    }

    fn axis(&self, name: &str) -> Result<usize> {
        let found = self.names.iter().position(|known| known == name);
        found.ok_or_else(|| {
            let known = self.names.join(", ");
            LearnError::parameter("JointTable", format!("there is no variable {name}; there are {known}"))
        })
    }

    /// The marginal over these variables; the others are summed out. Conditioning variables are kept.
    pub fn marginal(&self, keep: &[&str]) -> Result<JointTable> {
        keep.iter().try_for_each(|name| self.axis(name).map(drop))?;
        let kept = |name: &String| keep.contains(&name.as_str()) || self.given.contains(name);
        let summed: Vec<isize> =
            (0..self.names.len()).filter(|&axis| !kept(&self.names[axis])).map(|axis| axis as isize).collect();
        let values = if summed.is_empty() { self.values.clone() } else { self.values.try_sum_axes(&summed, false)? };
        let names = self.names.iter().filter(|name| kept(name)).cloned().collect();
        Ok(JointTable { names, given: self.given.clone(), values })
    }

    /// p(of | given) of a joint distribution. Entries are NaN if the condition has probability 0.
    pub fn conditional(&self, of: &[&str], given: &[&str]) -> Result<JointTable> {
        if let Some(both) = of.iter().find(|name| given.contains(name)) {
            return Err(LearnError::parameter(
                "JointTable",
                format!("{both} cannot be on both sides of the condition"),
            ));
        }
        let both: Vec<&str> = of.iter().chain(given).copied().collect();
        let joint = self.marginal(&both)?;
        let summed: Vec<isize> = of.iter().map(|name| Ok(joint.axis(name)? as isize)).collect::<Result<_>>()?;
        let condition = joint.values.try_sum_axes(&summed, true)?;
        let mut all = self.given.clone();
        all.extend(given.iter().map(|&name| name.to_owned()));
        Ok(JointTable { values: joint.values.try_div(&condition)?, given: all, names: joint.names })
    }

    /// The product of two tables over all their variables. A variable that is conditioned on in one table and not in
    /// the other is not conditioned on in the product.
    pub fn times(&self, other: &JointTable) -> Result<JointTable> {
        let mut names = self.names.clone();
        names.extend(other.names.iter().filter(|name| !self.names.contains(name)).cloned());
        let values = self.spread(&names)?.try_mul(&other.spread(&names)?)?;
        let open = |table: &JointTable, name: &String| table.names.contains(name) && !table.given.contains(name);
        let given = names.iter().filter(|name| !open(self, name) && !open(other, name)).cloned().collect();
        Ok(JointTable { names, given, values })
    }

    /// The entries with one axis per name, of length 1 if the table lacks it.
    fn spread(&self, names: &[String]) -> Result<Tensor> {
        let present: Vec<usize> = names.iter().filter_map(|name| self.axis(name).ok()).collect();
        let ordered = self.values.try_permute(&present)?;
        let mut sizes = ordered.dims().iter();
        let own = |name: &String| self.names.contains(name);
        let shape: Vec<usize> =
            names.iter().map(|name| if own(name) { sizes.next().copied().unwrap_or(1) } else { 1 }).collect();
        Ok(ordered.try_reshape(shape)?)
    }

    /// The largest difference to another table over the same variables, in any axis order.
    pub fn distance(&self, other: &JointTable) -> Result<f64> {
        other.names.iter().try_for_each(|name| self.axis(name).map(drop))?;
        let difference = self.values.try_sub(&other.spread(&self.names)?)?;
        Ok(difference.try_abs()?.try_max()?.try_item::<f64>()?)
    }

    /// The entry at these values of all variables.
    pub fn at(&self, position: &[(&str, usize)]) -> Result<f64> {
        let index: Vec<usize> = self
            .names
            .iter()
            .map(|name| {
                let found = position.iter().find(|(known, _)| known == name);
                found.map(|&(_, value)| value).ok_or_else(|| {
                    LearnError::parameter("JointTable", format!("no value for {name}; give one for every variable"))
                })
            })
            .collect::<Result<_>>()?;
        Ok(self.values.try_at::<f64>(&index)?)
    }
}
