//! A fitted factorization with the names of its users and items.

use std::collections::HashMap;
use std::path::Path;

use serde_json::Value;
use tove_data::Problem;
use tove_learn::factorization::recommend;
use tove_learn::{Csr, Model, Record, restore};
use tove_tensor::Tensor;
use tove_tensor::io::WriteOptions;

use super::{Result, TabularError};
use crate::estimators;

/// Recommends items to users, from ratings or from what users have chosen before.
pub struct Recommender {
    pub(super) columns: RatingColumns,
    pub(super) users: Vec<String>,
    pub(super) items: Vec<String>,
    /// Ratings or counts (users, items).
    pub(super) known: Csr,
    pub(super) model: Box<dyn Model>,
    pub(super) facts: Value,
}

/// The columns that ratings are read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RatingColumns {
    /// Users.
    pub user: String,
    /// Items.
    pub item: String,
    /// Ratings; none for implicit feedback, where a row says that the user chose the item.
    pub rating: Option<String>,
}

/// An item for a user.
#[derive(Clone, Debug, PartialEq)]
pub struct RecommendedItem {
    /// The item.
    pub item: String,
    /// The predicted rating; for implicit feedback the predicted preference, mostly between 0 and 1.
    pub score: f64,
}

impl Recommender {
    /// The kind of its files.
    pub const KIND: &'static str = "Recommender";

    /// The columns it was fitted on.
    pub fn columns(&self) -> &RatingColumns {
        &self.columns
    }

    /// The users, in the order in which the table has them.
    pub fn users(&self) -> &[String] {
        &self.users
    }

    /// The items, in the order in which the table has them.
    pub fn items(&self) -> &[String] {
        &self.items
    }

    /// The fitted factorization.
    pub fn model(&self) -> &dyn Model {
        &*self.model
    }

    /// What was written down at fitting: seed, ratings, scores.
    pub fn facts(&self) -> &Value {
        &self.facts
    }

    /// The `k` best items that a user has no rating for, the best first; fewer if there are not so many.
    ///
    /// # Errors
    /// If the user is not known.
    pub fn top(&self, user: &str, k: usize) -> Result<Vec<RecommendedItem>> {
        let row = self.users.iter().position(|known| known == user).ok_or_else(|| self.unknown(user))?;
        let lists = recommend(&*self.model, self.known.take(&[row])?, k, true)?;
        let named = |one: tove_learn::factorization::Recommended| RecommendedItem {
            item: self.items[one.item].clone(),
            score: one.score,
        };
        Ok(lists.into_iter().flatten().map(named).collect())
    }

    #[cold]
    fn unknown(&self, user: &str) -> TabularError {
        let some: Vec<&str> = self.users.iter().take(3).map(String::as_str).collect();
        let problem = format!(
            "the model knows no user {user:?}; it was fitted on {} users, such as {}",
            self.users.len(),
            some.join(", ")
        );
        TabularError::plan(Problem::new(problem).advice("give one of them, or fit a model to a table with this user"))
    }

    /// The model as a record.
    pub fn record(&self) -> Record {
        let mut record = Record::new(Self::KIND, 1);
        record.put("tove", env!("CARGO_PKG_VERSION"));
        record.put("user", self.columns.user.as_str());
        record.put("item", self.columns.item.as_str());
        record.put("rating", self.columns.rating.clone());
        record.put("users", self.users.clone());
        record.put("items", self.items.clone());
        record.put("facts", self.facts.clone());
        let starts: Vec<i64> = self.known.indptr().iter().map(|&start| start as i64).collect();
        let places: Vec<i64> = self.known.indices().iter().map(|&item| i64::from(item)).collect();
        record.put_tensor("starts", &Tensor::from_slice(&starts));
        record.put_tensor("places", &Tensor::from_slice(&places));
        record.put_tensor("values", self.known.values());
        record.put_part("model", self.model.record());
        record
    }

    /// Reads what [`Recommender::record`] wrote.
    ///
    /// # Errors
    /// If the record is of another kind, or damaged.
    pub fn restore(record: &Record) -> Result<Recommender> {
        estimators::register();
        record.expect(Self::KIND, 1)?;
        let damaged = |what: &str| record.wrong(what, "what it should be");
        let names = |what: &str| -> Result<Vec<String>> {
            let names: Vec<String> = serde_json::from_value(record.get(what)?.clone()).map_err(|_| damaged(what))?;
            let different: HashMap<&String, ()> = names.iter().map(|name| (name, ())).collect();
            if different.len() == names.len() { Ok(names) } else { Err(damaged(what).into()) }
        };
        let (users, items) = (names("users")?, names("items")?);
        let starts: Option<Vec<usize>> = record.integers("starts")?.into_iter().map(|x| x.try_into().ok()).collect();
        let places: Option<Vec<u32>> = record.integers("places")?.into_iter().map(|x| x.try_into().ok()).collect();
        let (Some(starts), Some(places)) = (starts, places) else { return Err(damaged("starts").into()) };
        let known = Csr::new(starts, places, record.tensor("values")?.clone(), items.len())?;
        let model = restore(&record.part("model")?)?;
        if model.width() != items.len() || known.rows() != users.len() || !model.capabilities().inverse_transform {
            return Err(damaged("model").into());
        }
        let columns = RatingColumns {
            user: record.text("user")?.to_owned(),
            item: record.text("item")?.to_owned(),
            rating: record.get("rating")?.as_str().map(str::to_owned),
        };
        Ok(Recommender { columns, users, items, known, model, facts: record.get("facts")?.clone() })
    }

    /// Writes the model file; complete or not at all, and never over an existing one unless asked.
    pub fn save(&self, path: impl AsRef<Path>, options: WriteOptions) -> Result<()> {
        Ok(self.record().save(path, options)?)
    }

    /// Reads a model file.
    pub fn load(path: impl AsRef<Path>) -> Result<Recommender> {
        Recommender::restore(&Record::load(path)?)
    }
}
