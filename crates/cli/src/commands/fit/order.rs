//! What the command line orders: the plan, the encodings, the models, and whether the file is read in pieces.

use std::path::Path;
use std::time::Duration;

use tove::data::table::encode::{Choices, ManyCategories, TextFeatures};
use tove::data::table::{Encoding, Kind, Role, Schema, Table, Target, TaskKind};
use tove::learn::Task;
use tove::tabular::{
    Candidate, ClassWeights, Division, Plan, spelling_of, streaming_candidate as usual_streaming, usual_candidates,
};

use super::told;
use crate::arguments::Fit;
use crate::failure::Failure;
use crate::output::Output;
use crate::tables;

/// Numbers that a hashed column becomes.
const BUCKETS: usize = 256;
/// The smoothing of mean targets: the overall mean counts for so many rows.
const SMOOTHING: f64 = 10.0;
/// Memory that a table takes, at most, for each byte of its CSV file: values, encoded values, and copies for folds.
const GROWTH: u64 = 4;
/// The same for each byte of a Parquet file, which is packed.
const PACKED_GROWTH: u64 = 20;

pub fn plan(fit: &Fit) -> Result<Plan, Failure> {
    if !(fit.test_size > 0.0 && fit.test_size < 1.0) {
        return Err(Failure::usage(format!("--test-size {}: give a share between 0 and 1", fit.test_size)));
    }
    if !(fit.budget >= 0.0 && fit.budget <= 1e9) {
        return Err(Failure::usage(format!("--budget {}: give a number of seconds", fit.budget)));
    }
    if fit.cv == 1 {
        return Err(Failure::usage("--cv 1: at least 2 folds are needed, one to learn and one to judge; 0 for none"));
    }
    let mut plan = Plan::new(fit.target.as_str())
        .division(division(fit))
        .test_size(fit.test_size)
        .folds(fit.cv)
        .seed(fit.seed)
        .budget(Duration::from_secs_f64(fit.budget));
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
    let usual = Plan::usual_encoding();
    Ok(match fit.text.as_deref() {
        None | Some("hash") => usual,
        Some("tfidf") => Encoding { text: TFIDF, ..usual },
        Some("drop") => Encoding { text: TextFeatures::Drop, ..usual },
        Some(other) => return Err(Failure::usage(format!("--text {other}: there are hash, tfidf and drop"))),
    })
}

fn encodings(fit: &Fit) -> Result<Choices, Failure> {
    let mut choices = Choices::from(usual(fit)?);
    for (column, how) in &fit.encode {
        let chosen = encoding(fit, how).ok_or_else(|| {
            Failure::usage(format!("--encode {column}={how}: there are onehot, target, ordinal, hash and tfidf"))
        })?;
        choices = choices.with(column.as_str(), chosen);
    }
    Ok(choices)
}

/// That every column with an encoding of its own is of a kind that it is for.
pub fn check_encodings(fit: &Fit, schema: &Schema) -> Result<(), Failure> {
    for (column, how) in &fit.encode {
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

/// What the target asks for, and the number of rows that have one.
fn task(fit: &Fit, data: &Table) -> Result<(Task, usize), Failure> {
    let kind = fit.task.as_deref().map(str::parse::<TaskKind>).transpose().map_err(Failure::usage)?;
    let (kept, _) = data.drop_missing(&[&fit.target])?;
    let place = |error| Failure::work(format!("{}, column {}: {error}", fit.file.display(), fit.target));
    let column = kept.column(&fit.target)?;
    // Names for classes that are numbers in another spelling would make a hopeless classification of a regression.
    if let Some((spelling, example)) = spelling_of(column).filter(|_| kind != Some(TaskKind::Classification)) {
        return Err(Failure::work(format!(
            "{}, column {}: the target is taken for strings, but looks like {spelling}, such as {example}; {}, or say \
             --task classification",
            fit.file.display(),
            fit.target,
            told::respelt(spelling)
        )));
    }
    let target = Target::encode(column, kind).map_err(place)?;
    let task = match target.task().kind() {
        TaskKind::Regression => Task::Regression,
        TaskKind::Classification => Task::Classification,
    };
    if let Some(weights) = class_weights(fit)? {
        weights.per_class(target.classes(), &vec![1; target.classes().len()]).map_err(Failure::usage)?;
    }
    Ok((task, kept.n_rows()))
}

fn class_weights(fit: &Fit) -> Result<Option<ClassWeights>, Failure> {
    let parsed = fit.class_weight.as_deref().map(str::parse::<ClassWeights>).transpose();
    parsed.map_err(|error| Failure::usage(format!("--class-weight: {error}")))
}

/// The models to fit, with the settings of the command line.
pub fn candidates(fit: &Fit, data: &Table) -> Result<Vec<Candidate>, Failure> {
    let (task, rows) = task(fit, data)?;
    let mut candidates = if is_auto(fit) {
        if let Some((name, _)) = fit.settings.first() {
            return Err(Failure::usage(format!("--set {name}: name the model it belongs to with --model")));
        }
        usual_candidates(task, rows)
    } else {
        vec![Candidate::named(&fit.model).map_err(Failure::usage)?]
    };
    candidates.iter_mut().try_for_each(|candidate| prepare(fit, task, candidate))?;
    Ok(candidates)
}

/// Gives a candidate the seed and the settings of the command line.
fn prepare(fit: &Fit, task: Task, candidate: &mut Candidate) -> Result<(), Failure> {
    if candidate.estimator.task() != task {
        let kind = if task == Task::Regression { "a regression" } else { "a classification" };
        let other = if task == Task::Regression { "classification" } else { "regression" };
        return Err(Failure::usage(format!(
            "{} does not do {kind}, which {} asks for; choose another model (`tove models`), or --task {other}",
            candidate.name, fit.target
        )));
    }
    let names: Vec<String> = candidate.estimator.describe_any().into_iter().map(|(name, _)| name).collect();
    for seed in ["seed", "random_state"].iter().filter(|seed| names.iter().any(|name| name == *seed)) {
        candidate.estimator.set_any(seed, &fit.seed.to_string())?;
    }
    for (name, value) in &fit.settings {
        candidate.estimator.set_any(name, value).map_err(Failure::usage)?;
    }
    if fit.class_weight.is_some() && !candidate.estimator.abilities().weights && !is_auto(fit) {
        return Err(Failure::usage(format!(
            "--class-weight: {} takes no weights; choose another model",
            candidate.name
        )));
    }
    candidate.estimator.validate_any().map_err(Failure::usage)
}

/// The model for a file that is read in pieces, by its first rows.
pub fn streaming_candidate(fit: &Fit, head: &Table) -> Result<(Candidate, TaskKind), Failure> {
    let (task, _) = task(fit, head)?;
    let kind = if task == Task::Regression { TaskKind::Regression } else { TaskKind::Classification };
    let mut candidate =
        if is_auto(fit) { usual_streaming(task)? } else { Candidate::named(&fit.model).map_err(Failure::usage)? };
    prepare(fit, task, &mut candidate)?;
    if candidate.estimator.pieces_any(&[0, 1]).is_none() {
        let usual = usual_streaming(task)?.name;
        return Err(Failure::usage(format!(
            "{} needs all rows in memory; for a file in pieces choose another, such as {usual} (`tove models` says which), \
             or leave out --stream",
            candidate.name
        )));
    }
    Ok((candidate, kind))
}

/// Whether the file is read in pieces: when asked to, or when it would not fit in memory and the model can.
pub fn streams(fit: &Fit, output: &Output) -> Result<bool, Failure> {
    let once = fit.file == Path::new("-");
    if fit.stream {
        if once {
            return Err(Failure::usage("--stream: the standard input can be read only once; give a file"));
        }
        return Ok(true);
    }
    let free = fit.memory.map(|megabytes| megabytes.saturating_mul(1 << 20)).or_else(available_memory);
    let (Ok(about), Some(free)) = (std::fs::metadata(&fit.file), free) else { return Ok(false) };
    let growth = if once || !tables::is_parquet(&fit.file) { GROWTH } else { PACKED_GROWTH };
    // Pieces are divided by a hash of the rows' numbers.
    let divided = division(fit) != Division::Random;
    if divided || once || about.len().saturating_mul(growth) < free {
        return Ok(false);
    }
    let able = is_auto(fit)
        || Candidate::named(&fit.model).is_ok_and(|candidate| candidate.estimator.pieces_any(&[0, 1]).is_some());
    let (size, free) = (about.len() >> 20, free >> 20);
    output.remark(if able {
        format!("{} has {size} MB and {free} MB of memory are free: it is read in pieces", fit.file.display())
    } else {
        format!(
            "{} has {size} MB and {free} MB of memory are free, which may not do; models that learn in pieces need less \
             (`tove models`)",
            fit.file.display()
        )
    });
    Ok(able)
}

/// Bytes of memory that are free, where the system tells.
fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}
