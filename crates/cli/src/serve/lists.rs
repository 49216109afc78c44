//! Recommenders and word vectors behind HTTP: a question in JSON becomes a list.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tove::learn::LearnError;
use tove::tabular::Recommender;
use tove::words::WordModel;

use super::predictor::Answer;
use super::refusal::Refusal;
use super::served::Workers;
use crate::commands::words::neighbors;

/// Entries of a list if the question does not say how many.
pub const USUAL: usize = 10;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// `{"user": TEXT, "k": N}`
    Recommend,
    /// `{"word": TEXT, "k": N}`
    Nearest,
    /// `{"a": TEXT, "b": TEXT, "c": TEXT, "k": N}`
    Analogy,
}

/// A model that answers with lists.
pub enum Lists {
    Items(Box<Recommender>),
    Words(Box<WordModel>),
}

/// The model and how long its lists may be.
pub struct ListServer {
    pub model: Lists,
    pub workers: Workers,
    pub most: usize,
}

/// A user is a text; tables name users by numbers too.
#[derive(Deserialize)]
#[serde(untagged)]
enum User {
    Text(String),
    Whole(i64),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Recommend {
    user: User,
    k: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nearest {
    word: String,
    k: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Analogy {
    a: String,
    b: String,
    c: String,
    k: Option<usize>,
}

impl Question {
    /// What an address asks.
    pub fn of(path: &str) -> Question {
        match path {
            "/recommend" => Question::Recommend,
            "/nearest" => Question::Nearest,
            _ => Question::Analogy,
        }
    }

    /// What a question looks like.
    fn form(self) -> &'static str {
        match self {
            Question::Recommend => r#"{"user": ID, "k": 10}"#,
            Question::Nearest => r#"{"word": WORD, "k": 10}"#,
            Question::Analogy => r#"{"a": WORD, "b": WORD, "c": WORD, "k": 10}"#,
        }
    }

    fn read<T: DeserializeOwned>(self, body: &[u8]) -> Result<T, Refusal> {
        let form = self.form();
        let wrong = |why: String| Refusal::bad(format!("not a valid request: {why}; send {form}"));
        let question: Value = serde_json::from_slice(body).map_err(|error| wrong(error.to_string()))?;
        let Value::Object(members) = &question else { return Err(wrong("expected a JSON object".to_owned())) };
        for (name, value) in members {
            let expected = match (name.as_str(), value) {
                ("k", value) if !value.is_u64() => "a whole number that is not negative",
                ("user", value) if !value.is_string() && !value.is_i64() => "a text or a whole number",
                ("word" | "a" | "b" | "c", value) if !value.is_string() => "a text",
                _ => continue,
            };
            return Err(wrong(format!("\"{name}\" must be {expected}")));
        }
        // From the text again: doubled names are refused.
        serde_json::from_slice(body).map_err(|error| wrong(error.to_string()))
    }
}

/// The question is at fault if its words are.
fn refused(error: LearnError) -> Refusal {
    match error {
        LearnError::Data { .. } | LearnError::Parameter { .. } => Refusal::bad(error.to_string()),
        other => Refusal::fault(other.to_string()),
    }
}

impl ListServer {
    pub fn new(model: Lists, most: usize) -> ListServer {
        ListServer { model, workers: Workers::new(), most }
    }

    /// The addresses that it answers.
    pub fn paths(&self) -> &'static [&'static str] {
        match self.model {
            Lists::Items(_) => &["/recommend"],
            Lists::Words(_) => &["/nearest", "/analogy"],
        }
    }

    /// Name, target and task.
    pub fn about(&self) -> (&str, &str, &'static str) {
        match &self.model {
            Lists::Items(model) => (model.model().name(), &model.columns().item, "recommendation"),
            Lists::Words(model) => (model.method(), "word", "word vectors"),
        }
    }

    /// What the model takes.
    pub fn schema(&self) -> Value {
        match &self.model {
            Lists::Items(model) => {
                let columns = model.columns();
                json!({
                    "user": columns.user, "item": columns.item, "rating": columns.rating, "users": model.users().len(),
                    "items": model.items().len(), "max_k": self.most, "facts": model.facts(),
                })
            }
            Lists::Words(model) => json!({
                "vocabulary": model.vectors().words().len(), "dimension": model.vectors().dimension(),
                "unseen_words": model.has_subwords(), "max_k": self.most, "facts": model.facts(),
            }),
        }
    }

    /// The length of a list.
    fn length(&self, k: Option<usize>) -> Result<usize, Refusal> {
        match k.unwrap_or(USUAL.min(self.most)) {
            0 => Err(Refusal::bad("k is 0; ask for at least 1")),
            k if k > self.most => {
                Err(Refusal::new(413, format!("k {k}: at most {}; ask for fewer, or raise --max-rows", self.most)))
            }
            k => Ok(k),
        }
    }

    pub fn answer(&self, question: Question, body: &[u8]) -> Result<Answer, Refusal> {
        let document = match (&self.model, question) {
            (Lists::Items(model), Question::Recommend) => {
                let Recommend { user, k } = question.read(body)?;
                let user = match user {
                    User::Text(text) => text,
                    User::Whole(number) => number.to_string(),
                };
                let list = model.top(&user, self.length(k)?)?;
                let items: Vec<Value> = list.iter().map(|one| json!({"item": one.item, "score": one.score})).collect();
                json!({"user": user, "items": items})
            }
            (Lists::Words(model), Question::Nearest) => {
                let Nearest { word, k } = question.read(body)?;
                let list = model.nearest(&word, self.length(k)?).map_err(refused)?;
                json!({"word": word, "nearest": neighbors(&list)})
            }
            (Lists::Words(model), Question::Analogy) => {
                let Analogy { a, b, c, k } = question.read(body)?;
                let list = model.analogy(&a, &b, &c, self.length(k)?).map_err(refused)?;
                json!({"a": a, "b": b, "c": c, "answers": neighbors(&list)})
            }
            _ => return Err(Refusal::fault("the question was taken for another")),
        };
        Ok(Answer { rows: 1, document: document.to_string() })
    }
}
