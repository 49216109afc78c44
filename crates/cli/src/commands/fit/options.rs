//! From the options of the command line to the plan, the encodings, the models, and whether the file is read in chunks.

use std::time::Duration;

use tove::data::available_memory;
use tove::data::table::encode::{Choices, Impute, ManyCategories, TextFeatures};
use tove::data::table::{Encoding, Format, Kind, Role, Schema, Table, TableFile, Target, TaskKind};
use tove::learn::selection::Scorer;
use tove::learn::{Capabilities, Predictions, registry};
use tove::optim::settings::Value;
use tove::tabular::{
    Candidate, ClassWeights, Division, Plan, spelling_of, streaming_candidate as usual_streaming, usual_candidates,
};

use super::{search, warnings};
use crate::arguments::Fit;
use crate::failure::Failure;
use crate::metrics;
use crate::model_text;
use crate::output::Output;

/// Numbers that a hashed column becomes.
const BUCKETS: usize = 256;
/// Letters of a model as it was written that tables have room for.
const LONGEST_NAME: usize = 60;
/// The smoothing of mean targets: the overall mean counts for so many rows.
const SMOOTHING: f64 = 10.0;
/// Memory that a table takes, at most, for each byte of its CSV file: values, encoded values, and copies for folds.
const GROWTH: u64 = 4;
/// The same for each byte of a Parquet file, which is packed.
const PACKED_GROWTH: u64 = 20;

pub fn plan(fit: &Fit) -> Result<Plan, Failure> {
    if !(fit.test_size > 0.0 && fit.test_size < 1.0) {
        return Err(Failure::usage(format!("--test-size {}: give a fraction between 0 and 1", fit.test_size)));
    }
    if let Some(budget) = fit.budget.filter(|budget| !(0.0..=1e9).contains(budget)) {
        return Err(Failure::usage(format!("--budget {budget}: give a number of seconds")));
    }
    if fit.cv == 1 {
        return Err(Failure::usage("--cv 1: give at least 2 folds, or 0 for no cross-validation"));
    }
    let mut plan =
        Plan::new(fit.target.as_str()).division(division(fit)).test_size(fit.test_size).folds(fit.cv).seed(fit.seed);
    if let Some(seconds) = budget(fit) {
        plan = plan.budget(Duration::from_secs_f64(seconds));
    }
    if let Some(kind) = &fit.task {
        plan = plan.task(kind.parse::<TaskKind>().map_err(|error| Failure::usage(format!("--task: {error}")))?);
    }
    let roles = [(&fit.drop, Role::Dropped), (&fit.id, Role::Id)];
    for (columns, role) in roles {
        plan = columns.iter().fold(plan, |plan, column| plan.role(column.as_str(), role));
    }
    if let Some(column) = &fit.weights {
        plan = plan.role(column.as_str(), Role::Weight);
    }
    if let Some(weights) = class_weights(fit)? {
        plan = plan.class_weights(weights);
    }
    Ok(plan.encoding(encodings(fit)?))
}

/// Seconds for comparing and fitting: as asked for; otherwise a choice is not to take for ever, and a model that was named takes
/// as long as it needs.
pub fn budget(fit: &Fit) -> Option<f64> {
    fit.budget.or(is_auto(fit).then_some(60.0))
}

/// How rows are divided.
pub fn division(fit: &Fit) -> Division {
    match &fit.group {
        Some(column) => Division::Groups(column.clone()),
        None if fit.in_order => Division::InOrder,
        None => Division::Random,
    }
}

/// How one column becomes numbers.
fn encoding(fit: &Fit, how: &str) -> Option<Encoding> {
    let usual = usual(fit).ok()?;
    let many = |many: ManyCategories| Encoding { max_one_hot: 0, many, ..usual };
    Some(match how {
        "onehot" => Encoding { max_one_hot: usize::MAX, ..usual },
        "target" => many(ManyCategories::Target { smoothing: SMOOTHING, folds: 5, seed: fit.seed }),
        "ordinal" => many(ManyCategories::Ordinal),
        "hash" => Encoding {
            text: TextFeatures::Hash { buckets: BUCKETS },
            ..many(ManyCategories::Hash { buckets: BUCKETS })
        },
        "tfidf" => Encoding { text: TFIDF, ..usual },
        _ => return None,
    })
}

/// The words that tf-idf looks at.
const TFIDF: TextFeatures = TextFeatures::TfIdf { max_words: 10_000, min_rows: 2 };

fn usual(fit: &Fit) -> Result<Encoding, Failure> {
    let mut usual = Plan::usual_encoding();
    for how in fit.impute.iter().filter(|how| !how.contains('=')) {
        usual.impute = impute(how)?;
    }
    Ok(match fit.text.as_deref() {
        None | Some("hash") => usual,
        Some("tfidf") => Encoding { text: TFIDF, ..usual },
        Some("drop") => Encoding { text: TextFeatures::Drop, ..usual },
        Some(other) => return Err(Failure::usage(format!("--text {other}: choose hash, tfidf or drop"))),
    })
}

fn encodings(fit: &Fit) -> Result<Choices, Failure> {
    let mut choices = Choices::from(usual(fit)?);
    for (column, how) in fit.encode.iter().flatten() {
        let chosen = encoding(fit, how).ok_or_else(|| {
            Failure::usage(format!("--encode {column}={how}: choose onehot, target, ordinal, hash or tfidf"))
        })?;
        choices = choices.with(column.as_str(), chosen);
    }
    for (column, how) in fit.impute.iter().filter_map(|entry| entry.rsplit_once('=')) {
        let chosen = Encoding { impute: impute(how)?, ..*choices.of(column) };
        choices = choices.with(column, chosen);
    }
    Ok(choices)
}

/// What stands in for a missing number.
fn impute(how: &str) -> Result<Impute, Failure> {
    match how {
        "mean" => Ok(Impute::Mean),
        "median" => Ok(Impute::Median),
        other => match other.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(Impute::Constant(value)),
            _ => Err(Failure::usage(format!("--impute {other}: choose mean, median or a finite number"))),
        },
    }
}

/// That every column with an encoding of its own is of a kind that it is for.
pub fn check_encodings(fit: &Fit, schema: &Schema) -> Result<(), Failure> {
    for (column, how) in fit.impute.iter().filter_map(|entry| entry.rsplit_once('=')) {
        let kind = schema.field(column).map_err(Failure::usage)?.kind;
        if !kind.is_numeric() {
            return Err(Failure::usage(format!(
                "--impute {column}={how}: {column} is {kind}; only numbers are imputed"
            )));
        }
    }
    for (column, how) in fit.encode.iter().flatten() {
        let kind = schema.field(column).map_err(Failure::usage)?.kind;
        let (fits, wanted) = match how.as_str() {
            "tfidf" => (kind == Kind::Text, "text"),
            "hash" => (matches!(kind, Kind::Categorical | Kind::Text), "categorical"),
            _ => (kind == Kind::Categorical, "categorical"),
        };
        if !fits {
            return Err(Failure::usage(format!(
                "--encode {column}={how}: {column} is {kind}; read it as {wanted} with --type {column}={wanted}"
            )));
        }
    }
    Ok(())
}

fn is_auto(fit: &Fit) -> bool {
    fit.model.eq_ignore_ascii_case("auto")
}

/// The model of the command line, under the name of its estimator or as it was written.
fn named(fit: &Fit) -> Result<Candidate, Failure> {
    let estimator = model_text::estimator("--model", &fit.model)?;
    let written = fit.model.contains('(') && fit.model.chars().count() <= LONGEST_NAME;
    let name = if written { fit.model.trim().to_owned() } else { estimator.name().to_owned() };
    Ok(Candidate { name, estimator })
}

/// Checks the name and the hyperparameters of the model, and that it predicts a target, before any file is read.
pub fn check_model(fit: &Fit) -> Result<(), Failure> {
    if is_auto(fit) {
        return search::refuse_auto(fit);
    }
    let mut candidate = named(fit)?;
    for (name, value) in &fit.settings {
        model_text::set(&mut *candidate.estimator, name, value)?;
    }
    search::candidates(fit, &candidate)?;
    let capabilities = candidate.estimator.capabilities();
    if capabilities.classifies() || capabilities.regresses() {
        return Ok(());
    }
    let names = |wanted: fn(&Capabilities) -> bool| {
        let all = registry::all();
        let fits = all.iter().filter(|entry| !entry.composite && wanted(&entry.capabilities));
        fits.map(|entry| entry.name).collect::<Vec<_>>().join(", ")
    };
    Err(Failure::usage(format!(
        "--model {}: it does not predict a target; choose a classifier ({}) or a regressor ({})",
        candidate.name,
        names(Capabilities::classifies),
        names(Capabilities::regresses)
    )))
}

/// What the target asks for.
struct Wanted {
    task: TaskKind,
    predictions: Predictions,
    /// Rows that have a target.
    rows: usize,
    /// Number of classes; 0 for a regression.
    classes: usize,
}

fn wanted(fit: &Fit, data: &Table) -> Result<Wanted, Failure> {
    let kind = fit.task.as_deref().map(str::parse::<TaskKind>).transpose().map_err(Failure::usage)?;
    let (kept, _) = data.drop_missing(&[&fit.target])?;
    let place = |error| {
        let (file, column, error) = (fit.file.display(), &fit.target, Failure::from(error));
        Failure::work(format!("{file}, column {column}: {error}"))
    };
    let column = kept.column(&fit.target)?;
    // Names for classes that are numbers in another spelling would make a hopeless classification of a regression.
    if let Some((spelling, example)) = spelling_of(column).filter(|_| !kind.is_some_and(TaskKind::is_classification)) {
        return Err(Failure::work(format!(
            "{}, column {}: the target was read as text but looks like {spelling}, for example {example}; {}, or use \
             --task classification",
            fit.file.display(),
            fit.target,
            warnings::other_format(spelling)
        )));
    }
    let target = Target::encode(column, kind).map_err(place)?;
    let task = target.task().kind();
    check_memory(fit, target.classes().len(), kept.n_rows())?;
    if let Some(weights) = class_weights(fit)? {
        weights.per_class(target.classes(), &vec![1; target.classes().len()]).map_err(Failure::usage)?;
    }
    let predictions = if task.is_classification() { Predictions::Classes } else { Predictions::Numbers };
    Ok(Wanted { task, predictions, rows: kept.n_rows(), classes: target.classes().len() })
}

/// Arrays of a number for each row and class that models and scores make at a time.
const CLASS_ARRAYS: u64 = 4;

/// That a number for each row and class fits in memory.
fn check_memory(fit: &Fit, classes: usize, rows: usize) -> Result<(), Failure> {
    let free = fit.memory.map(|megabytes| megabytes.saturating_mul(1 << 20)).or_else(available_memory);
    let needed = (classes as u64).saturating_mul(rows as u64).saturating_mul(8 * CLASS_ARRAYS);
    // A few megabytes are always there.
    if needed < 1 << 28 || free.is_none_or(|free| needed < free) {
        return Ok(());
    }
    Err(Failure::work(format!(
        "{}, column {}: {classes} classes in {rows} rows need about {} MB of memory, and {} MB are free; if the target is a number, \
         use --task regression; otherwise use a target with fewer classes, or fewer rows",
        fit.file.display(),
        fit.target,
        needed >> 20,
        free.unwrap_or(0) >> 20
    )))
}

fn class_weights(fit: &Fit) -> Result<Option<ClassWeights>, Failure> {
    let parsed = fit.class_weight.as_deref().map(str::parse::<ClassWeights>).transpose();
    parsed.map_err(|error| Failure::usage(format!("--class-weight: {error}")))
}

/// The metric of the command line, for models of this kind.
fn metric(fit: &Fit, candidate: &Candidate, classes: usize) -> Result<Option<Scorer>, Failure> {
    let capabilities = candidate.estimator.capabilities();
    fit.metric.as_deref().map(|name| metrics::chosen(name, capabilities, classes)).transpose()
}

/// The models to fit, with the hyperparameters of the command line, and the metric that decides between them.
pub fn candidates(fit: &Fit, data: &Table) -> Result<(Vec<Candidate>, Option<Scorer>), Failure> {
    let Wanted { task, predictions, rows, classes } = wanted(fit, data)?;
    let mut candidates = if is_auto(fit) {
        if let Some((name, _)) = fit.settings.first() {
            return Err(Failure::usage(format!("--set {name}: choose the model with --model first")));
        }
        usual_candidates(predictions, rows)
    } else {
        vec![named(fit)?]
    };
    candidates.iter_mut().try_for_each(|candidate| prepare(fit, (task, predictions), candidate))?;
    if let ([only], false) = (&candidates[..], fit.search.is_empty()) {
        candidates = search::candidates(fit, only)?;
    }
    let metric = candidates.first().map(|candidate| metric(fit, candidate, classes)).transpose()?;
    Ok((candidates, metric.flatten()))
}

/// Gives a candidate the seed and the settings of the command line.
fn prepare(fit: &Fit, (task, predictions): (TaskKind, Predictions), candidate: &mut Candidate) -> Result<(), Failure> {
    let names: Vec<String> = candidate.estimator.describe_all().into_iter().map(|(name, _)| name).collect();
    let is_seed = |name: &&String| matches!(name.rsplit('.').next(), Some("seed" | "random_state"));
    for name in names.iter().filter(is_seed) {
        // A seed that was given with the model stays.
        if candidate.estimator.value(name) == Some(Value::Whole(0)) {
            candidate.estimator.set(name, fit.seed.into()).map_err(Failure::usage)?;
        }
    }
    for (name, value) in &fit.settings {
        model_text::set(&mut *candidate.estimator, name, value)?;
    }
    if !candidate.predicts(predictions) {
        let (kind, other) = (task.name(), task.other().name());
        return Err(Failure::usage(format!(
            "{} does not support {kind}, and {} is a target for {kind}; choose another model (`tove models`), or use --task {other}",
            candidate.name, fit.target
        )));
    }
    if fit.class_weight.is_some() && !candidate.estimator.capabilities().weights && !is_auto(fit) {
        return Err(Failure::usage(format!(
            "--class-weight: {} does not support sample weights; choose another model",
            candidate.name
        )));
    }
    candidate.estimator.validate().map_err(Failure::usage)
}

/// The model for a file that is read in chunks, by its first rows, what it predicts, and the metric for it.
pub fn streaming_candidate(fit: &Fit, head: &Table) -> Result<(Candidate, TaskKind, Option<Scorer>), Failure> {
    let Wanted { task, predictions, classes, .. } = wanted(fit, head)?;
    let mut candidate = if is_auto(fit) { usual_streaming(predictions)? } else { named(fit)? };
    prepare(fit, (task, predictions), &mut candidate)?;
    if !candidate.estimator.capabilities().partial_fit {
        let usual = usual_streaming(predictions)?.name;
        return Err(Failure::usage(format!(
            "{} needs all rows in memory; for --stream choose a model with partial fit, such as {usual} (`tove models` lists \
             them)",
            candidate.name
        )));
    }
    let metric = metric(fit, &candidate, classes)?;
    Ok((candidate, task, metric))
}

/// Whether the file is read in chunks: when asked to, or when it would not fit in memory and the model has a partial fit.
pub fn streams(fit: &Fit, file: &TableFile, output: &Output) -> Result<bool, Failure> {
    let once = file.reads_once() || file.format() == Format::Json;
    if fit.stream {
        if once {
            let what =
                if file.reads_once() { "can be read only once" } else { "is JSON, which cannot be read in chunks" };
            return Err(Failure::usage(format!("--stream: {} {what}; give a CSV or Parquet file", file.name())));
        }
        return Ok(true);
    }
    let free = fit.memory.map(|megabytes| megabytes.saturating_mul(1 << 20)).or_else(available_memory);
    let (Some(bytes), Some(free)) = (file.size(), free) else { return Ok(false) };
    let growth = if file.format() == Format::Parquet || file.is_packed() { PACKED_GROWTH } else { GROWTH };
    // Rows of chunks are divided by a hash of their numbers.
    let divided = division(fit) != Division::Random;
    if divided || once || bytes.saturating_mul(growth) < free {
        return Ok(false);
    }
    let able = is_auto(fit) || named(fit)?.estimator.capabilities().partial_fit;
    let (size, free) = (bytes >> 20, free >> 20);
    output.remark(if able {
        format!("{} has {size} MB and {free} MB of memory are free: reading in chunks", fit.file.display())
    } else {
        format!(
            "{} has {size} MB and {free} MB of memory are free, which may not be enough; models with partial fit can read \
             it in chunks (`tove models`)",
            fit.file.display()
        )
    });
    Ok(able)
}
