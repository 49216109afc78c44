//! Scorers by name. Greater is better, so errors are negated as in scikit-learn.
//!
//! ```
//! use tove_learn::selection::Scorer;
//! assert_eq!(Scorer::named("neg_log_loss")?, Scorer::NegLogLoss);
//! assert_eq!(Scorer::named("mse")?, Scorer::NegMeanSquaredError);
//! assert_eq!((Scorer::NegLogLoss.label(), Scorer::NegLogLoss.greater_is_better()), ("log loss", false));
//! assert!(Scorer::named("acuracy").unwrap_err().to_string().contains("did you mean accuracy?"));
//! # Ok::<(), tove_learn::LearnError>(())
//! ```
//!
//! Some scores have a parameter, which is written in parentheses after the name:
//!
//! ```
//! use tove_learn::selection::Scorer;
//! let f2 = Scorer::named("fbeta(beta=2)")?;
//! assert_eq!((f2, f2.to_string()), (Scorer::FBeta.with(2.0)?, "fbeta(beta=2)".to_owned()));
//! assert_eq!(Scorer::named("fbeta(0.5)")?.to_string(), "fbeta(beta=0.5)");
//! let error = Scorer::named("top_k_accuracy(k=0)").unwrap_err().to_string();
//! assert!(error.contains("give an integer of at least 1"), "{error}");
//! # Ok::<(), tove_learn::LearnError>(())
//! ```
//!
//! A score is one entry: its name, its label in reports, its value, and the formula of its standard error if there is
//! one. To add a score, add an entry to [`classes`] or [`numbers`]; [`Scorer::ALL`] lists all.

use std::fmt;

use tove_metrics::Score;
use tove_optim::settings::{Setting, Value, ValueKind};

use super::evaluation::Evaluation;
use crate::diagnostics::influence;
use crate::{Capabilities, LearnError, Model, Predictions, Result, Samples};

/// The parameter of a score.
struct Parameter {
    name: &'static str,
    default: f64,
    fits: fn(f64) -> bool,
    /// Description of the valid range.
    range: &'static str,
}

/// The model outputs that a score needs, besides the targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inputs {
    /// `predict`.
    Predictions,
    /// `predict_proba`.
    Probabilities,
    /// `decision_function`, or `predict_proba` if there is none.
    Decision,
}

/// An entry of the list of scores.
struct Entry {
    /// scikit-learn's name of the scorer.
    id: &'static str,
    /// Aliases.
    aliases: &'static [&'static str],
    /// Name in reports.
    label: &'static str,
    /// Whether greater is better; otherwise the scorer is the negated value, and its name starts with `neg_`.
    greater_is_better: bool,
    /// The kind of predictions that it evaluates.
    judges: Predictions,
    /// The model outputs that it needs.
    inputs: Inputs,
    /// Whether it is defined for two classes only.
    binary: bool,
    /// The parameter, if it has one.
    parameter: Option<Parameter>,
    /// Computes the value that the label describes; the second argument is the parameter.
    value: fn(&Evaluation<'_>, f64) -> Result<Score>,
    /// The influence of each sample on the value, for its standard error.
    influence: Option<influence::Formula>,
}

/// A score for comparing models; greater is better.
#[derive(Clone, Copy)]
pub struct Scorer {
    entry: &'static Entry,
    /// 0 for scores without a parameter.
    parameter: f64,
}

/// Defines entries as constants of [`Scorer`], and their list.
macro_rules! scorers {
    ($($(#[$doc:meta])* $name:ident = $entry:expr;)*) => {
        #[allow(non_upper_case_globals)] // they read like the variants of an enum
        impl Scorer {
            $($(#[$doc])* pub const $name: Scorer = Scorer::of_entry(&$entry);)*
        }

        pub(super) const LIST: &[Scorer] = &[$(Scorer::$name),*];
    };
}

mod classes;
mod numbers;

const CLASSES: Entry = Entry {
    id: "",
    aliases: &[],
    label: "",
    greater_is_better: true,
    judges: Predictions::Classes,
    inputs: Inputs::Predictions,
    binary: false,
    parameter: None,
    value: |_, _| Ok(Score::plain(f64::NAN, 0)),
    influence: None,
};
const NUMBERS: Entry = Entry { judges: Predictions::Numbers, ..CLASSES };

fn plain(e: &Evaluation<'_>, value: f64) -> Result<Score> {
    Ok(Score::plain(value, e.len()))
}

const COUNT: usize = classes::LIST.len() + numbers::LIST.len();

/// Concatenates both lists.
const fn all() -> [Scorer; COUNT] {
    let mut all = [classes::LIST[0]; COUNT];
    let mut index = 0;
    while index < COUNT {
        let first = classes::LIST.len();
        all[index] = if index < first { classes::LIST[index] } else { numbers::LIST[index - first] };
        index += 1;
    }
    all
}

impl Scorer {
    /// All scores, with default parameters.
    pub const ALL: &'static [Scorer] = &all();

    const fn of_entry(entry: &'static Entry) -> Scorer {
        let parameter = match &entry.parameter {
            Some(parameter) => parameter.default,
            None => 0.0,
        };
        Scorer { entry, parameter }
    }

    /// scikit-learn's name, without the parameter: `accuracy`, `neg_log_loss`.
    pub fn name(self) -> &'static str {
        self.entry.id
    }

    /// Name in reports: `accuracy`, `log loss`.
    pub fn label(self) -> &'static str {
        self.entry.label
    }

    /// Whether greater is better for the value that the label describes; other scorers are negated.
    pub fn greater_is_better(self) -> bool {
        self.entry.greater_is_better
    }

    /// Whether it evaluates the predictions of such a model.
    pub fn judges(self, capabilities: Capabilities) -> bool {
        self.entry.judges == capabilities.predictions
    }

    /// The model outputs that it needs, besides the targets.
    pub fn inputs(self) -> Inputs {
        self.entry.inputs
    }

    /// Whether it is defined for two classes only.
    pub fn is_binary(self) -> bool {
        self.entry.binary
    }

    /// Whether a model with these capabilities and this many classes (0 for numbers) can be scored: it predicts what
    /// the score evaluates, has the outputs that the score needs, and not more classes than the score supports.
    ///
    /// ```
    /// use tove_learn::selection::Scorer;
    /// use tove_learn::{Estimator, LinearSvc, LogisticRegression};
    /// let (logistic, svc) = (LogisticRegression::default().capabilities(), LinearSvc::default().capabilities());
    /// assert!(Scorer::RocAuc.applies(svc, 2) && !Scorer::RocAuc.applies(svc, 3));
    /// assert!(Scorer::NegLogLoss.applies(logistic, 3) && !Scorer::NegLogLoss.applies(svc, 3));
    /// assert!(!Scorer::R2.applies(logistic, 3));
    /// ```
    pub fn applies(self, capabilities: Capabilities, n_classes: usize) -> bool {
        self.judges(capabilities) && self.lacks(capabilities).is_none() && (n_classes <= 2 || !self.entry.binary)
    }

    /// The scores that apply to a model with these capabilities and this many classes.
    pub fn applying(capabilities: Capabilities, n_classes: usize) -> impl Iterator<Item = Scorer> {
        Scorer::ALL.iter().copied().filter(move |scorer| scorer.applies(capabilities, n_classes))
    }

    /// The required model output that such a model does not have.
    fn lacks(self, capabilities: Capabilities) -> Option<&'static str> {
        let has = capabilities.probabilities;
        match self.entry.inputs {
            Inputs::Probabilities if !has => Some("probabilities"),
            Inputs::Decision if !has && !capabilities.decision_function => Some("probabilities or decision function"),
            _ => None,
        }
    }

    /// The scores that evaluate the predictions of such a model.
    pub fn judging(capabilities: Capabilities) -> impl Iterator<Item = Scorer> {
        Scorer::ALL.iter().copied().filter(move |scorer| scorer.judges(capabilities))
    }

    /// Sets the parameter: `Scorer::FBeta.with(0.5)`.
    pub fn with(self, parameter: f64) -> Result<Scorer> {
        match &self.entry.parameter {
            Some(known) if (known.fits)(parameter) => Ok(Scorer { parameter, ..self }),
            Some(known) => {
                let problem = format!("{} of {} is {parameter}; give {}", known.name, self.entry.id, known.range);
                Err(LearnError::parameter("Scorer", problem))
            }
            None => {
                let problem = format!("{} has no parameter; remove the parentheses", self.entry.id);
                Err(LearnError::parameter("Scorer", problem))
            }
        }
    }

    /// Finds a scorer by name; `mse`, `rmse`, `mae`, `log_loss`, `auc` and `brier` are accepted too. A parameter is
    /// given in parentheses: `fbeta(beta=2)` or `fbeta(2)`.
    pub fn named(name: &str) -> Result<Scorer> {
        let wanted = name.trim().to_ascii_lowercase();
        let (id, argument) = match wanted.split_once('(') {
            Some((id, rest)) => (id.trim_end(), Some(rest)),
            None => (wanted.as_str(), None),
        };
        let id = &*id.replace('-', "_");
        let is = |scorer: &&Scorer| scorer.entry.id == id || scorer.entry.aliases.contains(&id);
        let scorer = Scorer::ALL.iter().find(is).copied().ok_or_else(|| {
            let names = || Scorer::ALL.iter().map(|scorer| scorer.entry.id);
            let nearest = names().map(|known| (strsim::levenshtein(known, id), known)).min();
            let fix = match nearest {
                Some((distance, known)) if distance <= 3 => format!("did you mean {known}?"),
                _ => format!("there are {}", names().collect::<Vec<_>>().join(", ")),
            };
            LearnError::parameter("Scorer", format!("there is no score `{name}`; {fix}"))
        })?;
        match argument {
            None => Ok(scorer),
            Some(argument) => scorer.with_argument(name, argument),
        }
    }

    /// Parses the text after the opening parenthesis.
    fn with_argument(self, name: &str, argument: &str) -> Result<Scorer> {
        let Some(known) = &self.entry.parameter else { return self.with(0.0) };
        let number = argument.strip_suffix(')').and_then(|inside| {
            let number = match inside.split_once('=') {
                Some((own, number)) if own.trim() == known.name => number,
                Some(_) => return None,
                None => inside,
            };
            number.trim().parse().ok()
        });
        let number = number.ok_or_else(|| {
            let (id, parameter, default) = (self.entry.id, known.name, known.default);
            let problem = format!("`{name}` cannot be read; write {id}({parameter}={default}), with a number");
            LearnError::parameter("Scorer", problem)
        })?;
        self.with(number)
    }

    /// The default score of a task: accuracy, or R².
    pub fn usual(capabilities: Capabilities) -> Result<Scorer> {
        let usual = [Scorer::Accuracy, Scorer::R2].into_iter().find(|scorer| scorer.judges(capabilities));
        usual.ok_or_else(|| {
            LearnError::parameter("Scorer", "there is no default score for a model without targets; give a score")
        })
    }

    /// Checks that it evaluates the predictions of a model of this name and kind, and that the model has the required
    /// outputs; otherwise the error lists suitable scores.
    pub fn check(self, name: &str, capabilities: Capabilities) -> Result<()> {
        let lacking = self.lacks(capabilities);
        if self.judges(capabilities) && lacking.is_none() {
            return Ok(());
        }
        let others: Vec<&str> = Scorer::applying(capabilities, 0).map(Scorer::name).collect();
        let others = if others.is_empty() { "a score of your own".to_owned() } else { others.join(", ") };
        if let (true, Some(lacking)) = (self.judges(capabilities), lacking) {
            let problem = format!("{self} needs {lacking}, but {name} has no {lacking}; choose {others}");
            return Err(LearnError::parameter("Scorer", problem));
        }
        let problem = format!("{self} is not defined for a {} ({name}); choose {others}", capabilities.kind());
        Err(LearnError::parameter("Scorer", problem))
    }

    /// Scores a model on samples; sample weights are used.
    pub fn score(self, model: &dyn Model, samples: &Samples) -> Result<Score> {
        self.of(&Evaluation::new(model, samples)?)
    }

    /// The score of an evaluation; greater is better.
    pub fn of(self, evaluation: &Evaluation<'_>) -> Result<Score> {
        let value = self.value(evaluation)?;
        Ok(if self.entry.greater_is_better { value } else { value.negated() })
    }

    /// The value that the label describes: errors and their intervals are not negated.
    pub fn value(self, evaluation: &Evaluation<'_>) -> Result<Score> {
        self.check(evaluation.name(), evaluation.capabilities())?;
        (self.entry.value)(evaluation, self.parameter)
    }

    /// The standard error of the value on held-out samples; `None` if there is no formula.
    pub fn standard_error(self, evaluation: &Evaluation<'_>) -> Option<f64> {
        influence::standard_error(evaluation, self.entry.influence?, self.parameter)
    }
}

impl PartialEq for Scorer {
    fn eq(&self, other: &Scorer) -> bool {
        self.entry.id == other.entry.id && self.parameter == other.parameter
    }
}

impl Eq for Scorer {}

impl fmt::Debug for Scorer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scorer({self})")
    }
}

/// Formats the name that [`Scorer::named`] parses.
impl fmt::Display for Scorer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry.id)?;
        match &self.entry.parameter {
            Some(known) => write!(f, "({}={})", known.name, self.parameter),
            None => Ok(()),
        }
    }
}

/// As a hyperparameter: its name, with the parameter in brackets.
impl Setting for Scorer {
    fn kind() -> ValueKind {
        ValueKind::Text
    }

    fn value(&self) -> Value {
        Value::Text(self.to_string())
    }

    fn from_value(value: &Value) -> Option<Scorer> {
        if let Value::Text(name) = value { Scorer::named(name).ok() } else { None }
    }

    fn expected() -> Option<&'static str> {
        Some("the name of a score, such as accuracy or neg_mean_squared_error")
    }

    fn explain(value: &Value) -> Option<String> {
        if let Value::Text(name) = value { Scorer::named(name).err().map(|error| error.to_string()) } else { None }
    }
}
