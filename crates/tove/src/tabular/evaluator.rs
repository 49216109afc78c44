//! Evaluating a model on a table of any length, in batches.

use tove_data::table::Table;
use tove_learn::Predict;
use tove_learn::selection::{Answers, Evaluation, Scorer};
use tove_metrics::ConfusionMatrix;
use tove_tensor::{DType, Tensor};

use super::fingerprint::{feature_sum, fingerprint};
use super::prepared::row_weights;
use super::scores::scores_of_evaluation;
use super::{NamedScore, Result, TabularError, TabularModel};

/// A model that is being evaluated. Of each row the truth and the model's answers are kept, a few numbers whatever the table's width, so that
/// the scores are those of the whole table, areas under curves among them.
///
/// ```
/// # use tove::tabular::{Candidate, Plan};
/// # let csv = "a,kind\n1,x\n2,x\n3,y\n4,y\n1.5,x\n3.5,y\n2.5,x\n4.5,y\n1,x\n4,y\n";
/// # let (table, _) = tove::data::table::CsvOptions::new().read_bytes(csv.as_bytes())?;
/// # let candidate = Candidate::named("LogisticRegression")?;
/// # let model = Plan::new("kind").test_size(0.2).folds(0).fit(&table, &[candidate], &mut |_| {})?.model;
/// let mut evaluator = model.evaluator();
/// for start in (0..table.n_rows()).step_by(4) {
///     evaluator.see(&table.slice(start..table.n_rows().min(start + 4)))?;
/// }
/// let evaluation = evaluator.finish()?;
/// assert_eq!((evaluation.rows, evaluation.scores[0].name), (10, "accuracy"));
/// assert!(evaluation.fitted_on);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Evaluator<'m> {
    model: &'m TabularModel,
    truth: Vec<f64>,
    /// Sample weights, if the model was fitted with a column of them and the table has it.
    weights: Vec<f64>,
    predicted: Given,
    probabilities: Option<Given>,
    decision: Option<Given>,
    dropped: usize,
    scorer: Option<Scorer>,
    /// Adds up to the fingerprint of the table.
    sum: u64,
}

/// What a model is worth on a table.
#[derive(Debug)]
pub struct EvaluationReport {
    /// The scores on all rows together.
    pub scores: Vec<NamedScore>,
    /// The targets of the rows: class codes, or numbers.
    pub truth: Tensor,
    /// What the model answered.
    pub answers: Answers,
    /// How often which class was taken for which; `None` for a regression.
    pub confusion: Option<ConfusionMatrix>,
    /// Number of evaluated rows.
    pub rows: usize,
    /// Rows that were left out because they have no target.
    pub dropped: usize,
    /// Whether this is the table that the model was fitted on, in any order of rows; scores on it are too good. `false` also for
    /// models fitted in pieces, which do not keep a fingerprint.
    pub fitted_on: bool,
}

/// Answers of one kind, row after row.
struct Given {
    values: Vec<f64>,
    dtype: DType,
    /// Numbers per row, if they are a row of a matrix.
    width: Option<usize>,
}

impl Given {
    fn new() -> Given {
        Given { values: Vec::new(), dtype: DType::F64, width: None }
    }

    fn add(&mut self, answers: &Tensor) {
        self.values.extend(answers.to_f64_vec());
        (self.dtype, self.width) = (answers.dtype(), answers.dims().get(1).copied());
    }

    fn tensor(self) -> Result<Tensor> {
        let rows = self.values.len() / self.width.unwrap_or(1).max(1);
        let all = match self.width {
            Some(width) => Tensor::try_from_vec(self.values, [rows, width])?,
            None => Tensor::try_from_vec(self.values, [rows])?,
        };
        Ok(if self.dtype == DType::F64 { all } else { all.to_dtype(self.dtype) })
    }
}

/// Adds an answer that a model may not give.
fn note(given: &mut Option<Given>, answer: Option<Tensor>) {
    match answer {
        Some(answer) => given.iter_mut().for_each(|given| given.add(&answer)),
        None => *given = None,
    }
}

impl TabularModel {
    /// Starts an evaluation on rows that have the target.
    pub fn evaluator(&self) -> Evaluator<'_> {
        Evaluator {
            model: self,
            truth: Vec::new(),
            weights: Vec::new(),
            predicted: Given::new(),
            probabilities: Some(Given::new()),
            decision: Some(Given::new()),
            dropped: 0,
            scorer: None,
            sum: 0,
        }
    }
}

impl Evaluator<'_> {
    /// Puts the score of this metric first.
    #[must_use]
    pub fn scorer(self, scorer: Scorer) -> Self {
        Evaluator { scorer: Some(scorer), ..self }
    }

    /// Answers the next rows; those without a target are left out and counted.
    ///
    /// # Errors
    /// If a column lacks or does not fit, or a target was never seen.
    pub fn see(&mut self, table: &Table) -> Result<()> {
        let target = self.model.target();
        let (kept, dropped) = table.drop_missing(&[target])?;
        self.dropped += dropped;
        if kept.n_rows() == 0 {
            return Ok(());
        }
        let y = self.model.labels().encode(kept.column(target)?)?;
        let (kept, _) = self.model.schema().conform(&kept)?;
        self.sum = self.sum.wrapping_add(feature_sum(&kept, self.model.schema()));
        let (rows, context) = self.model.rows(&kept)?;
        let model = self.model.model();
        let weights = row_weights(&kept, self.model.schema())?;
        self.weights.extend(weights.map_or_else(|| vec![1.0; kept.n_rows()], |weights| weights.to_f64_vec()));
        self.truth.extend(y.to_f64_vec());
        let answers = self.model.ask(&rows)?;
        self.predicted.add(&self.model.safeguards().decide(&answers, &context)?);
        if !model.classes().is_empty() {
            note(&mut self.probabilities, answers.probabilities);
            note(&mut self.decision, model.decision_function(&rows).ok());
        }
        Ok(())
    }

    /// Number of evaluated rows.
    pub fn rows(&self) -> usize {
        self.truth.len()
    }

    /// Rows that were left out because they have no target.
    pub fn dropped(&self) -> usize {
        self.dropped
    }

    /// The scores on all rows together, and what else there is to say of them.
    ///
    /// # Errors
    /// If there was no row, or the model has no score of the metric that was asked for.
    pub fn finish(self) -> Result<EvaluationReport> {
        let (model, rows) = (self.model.model(), self.truth.len());
        if rows == 0 {
            return Err(TabularError::plan(format!("no row has a value of {}", self.model.target())));
        }
        let classifies = !model.classes().is_empty();
        let truth = Tensor::try_from_vec(self.truth, [rows])?;
        let truth = if classifies { truth.to_dtype(DType::I64) } else { truth };
        let tensor =
            |given: Option<Given>| given.filter(|given| !given.values.is_empty()).map(Given::tensor).transpose();
        let predictions = self.predicted.tensor()?;
        let confusion = if classifies { ConfusionMatrix::new(&truth, &predictions, None).ok() } else { None };
        let (probabilities, decision) = (tensor(self.probabilities)?, tensor(self.decision)?);
        let answers = Answers { predictions, probabilities, decision };
        let weights = self.weights.iter().any(|weight| *weight != 1.0);
        if weights && self.weights.iter().all(|weight| *weight == 0.0) {
            let problem = format!("the sample weights of all {rows} rows are 0; give some rows a weight above 0");
            return Err(TabularError::plan(problem));
        }
        let weights = weights.then(|| Tensor::try_from_vec(self.weights, [rows])).transpose()?;
        let evaluation = Evaluation::of_answers(model, &truth, weights.as_ref(), answers.clone())?;
        if let Some(scorer) = self.scorer {
            scorer.value(&evaluation)?;
        }
        let scores = scores_of_evaluation(&evaluation, self.scorer);
        drop(evaluation);
        Ok(EvaluationReport {
            scores,
            truth,
            answers,
            confusion,
            rows,
            dropped: self.dropped,
            fitted_on: self.model.facts()["fingerprint"] == fingerprint(self.sum).as_str(),
        })
    }
}
