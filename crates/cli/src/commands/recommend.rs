//! `tove recommend`: items for users, from ratings or from what users have chosen.

use serde_json::{Value, json};
use tove::data::table::{Kind, Wanted};
use tove::nn::interrupt_flag;
use tove::tabular::{
    BesideBaseline, RatingColumns, RecommendOutcome, RecommendPlan, RecommendedItem, Recommender, TabularError,
    TriedSettings,
};
use tove::tensor::io::WriteOptions;

use crate::arguments::{Recommend, RecommendAction, RecommendFit, RecommendTop};
use crate::commands::fit::{Progress, heard};
use crate::failure::Failure;
use crate::files;
use crate::model_text;
use crate::models::AnyModel;
use crate::output::{Output, counted, paragraph, table};
use crate::tables;

pub fn run(recommend: &Recommend, output: &Output) -> Result<(), Failure> {
    match &recommend.action {
        RecommendAction::Fit(fit) => run_fit(fit, output),
        RecommendAction::Top(top) => run_top(top, output),
    }
}

/// The name of a metric.
pub fn metric_name(metric: &str) -> &'static str {
    match metric {
        "rmse" => "RMSE",
        "mae" => "MAE",
        "precision_at_10" => "precision@10",
        "recall_at_10" => "recall@10",
        "map_at_10" => "MAP@10",
        "ndcg_at_10" => "NDCG@10",
        _ => "score",
    }
}

fn run_fit(fit: &RecommendFit, output: &Output) -> Result<(), Failure> {
    files::model_name(&fit.output)?;
    files::may_write(&fit.output, fit.overwrite, &[&fit.file])?;
    let columns = RatingColumns { user: fit.user.clone(), item: fit.item.clone(), rating: fit.rating.clone() };
    let mut plan = RecommendPlan::new(columns)?.seed(fit.seed)?;
    for (name, value) in &fit.settings {
        model_text::set(&mut *plan.candidate().estimator, name, value)?;
    }
    if !fit.settings.is_empty() {
        plan.candidate().estimator.validate().map_err(Failure::usage)?;
    }
    let (data, read) = tables::read_opened(tables::open(&fit.file)?, &fit.reading, &Wanted::default())?;
    tables::remark(&fit.file, &read, output);
    for name in [Some(&fit.user), Some(&fit.item), fit.rating.as_ref()].into_iter().flatten() {
        let column = data.column(name).map_err(|error| tables::wrong_call(data.names(), error))?;
        if column.kind() == Kind::Float && Some(name) != fit.rating.as_ref() {
            output.remark(format!("warning: column {name} holds fractions, which are taken as names"));
        }
    }
    tove::optim::interrupt_on(interrupt_flag()?);
    let progress = Progress::new(output);
    // Of the fits that choose hyperparameters and judge them, the warnings of the last count.
    let (found, _) = heard(|| plan.fit(&data, &mut |event| progress.watch(event)));
    progress.end();
    let found = found.map_err(|error| match error {
        TabularError::Interrupted => Failure::interrupted(error),
        other => tables::failed(&fit.file, data.names(), other),
    })?;
    let options = WriteOptions { overwrite: fit.overwrite, ..WriteOptions::default() };
    found.model.save(&fit.output, options)?;
    for warning in &found.model.model().summary().warnings {
        output.remark(format!("warning: {warning}"));
    }
    if found.dropped > 0 {
        output.remark(format!("left out: {} with a missing value", counted(found.dropped, "row")));
    }
    if found.repeated > 0 {
        let what = if fit.rating.is_some() { "averaged" } else { "counted" };
        output.remark(format!("{what}: {} with a user and an item of an earlier row", counted(found.repeated, "row")));
    }
    if files::is_stdout(&fit.output) {
        // The words must not come between the bytes of the file.
        output.remark(text(fit, &found));
        return Ok(());
    }
    output.result(|| text(fit, &found), || document(fit, &found))
}

/// What was found, in a sentence or two.
fn verdict(found: &RecommendOutcome) -> String {
    let model = &found.model;
    let name = model.model().name();
    let (users, items, entries) = (model.users().len(), model.items().len(), found.entries);
    let rated = model.columns().rating.is_some();
    let what = if rated { "ratings" } else { "choices" };
    let head = format!("{name} of {entries} {what} of {items} items by {users} users.");
    // Of errors less is better.
    let Some(BesideBaseline { metric, model, baseline }) = found.scores.last() else {
        return format!("{head} There is too little to hold anything out, so it is not known how good it is.");
    };
    let (metric, of) = (metric_name(metric), if rated { "user and item means" } else { "the most popular items" });
    let better = if rated { model < baseline } else { model > baseline };
    let words = match better {
        true => format!("better than {of} ({baseline:.4})"),
        false => format!("no better than {of} ({baseline:.4}), so the lists are of little use"),
    };
    format!("{head} On held-out {what} its {metric} is {model:.4}, {words}.")
}

fn text(fit: &RecommendFit, found: &RecommendOutcome) -> String {
    let mut text = paragraph(&verdict(found));
    let rated = found.model.columns().rating.is_some();
    let baseline = if rated { "user and item means" } else { "most popular items" };
    let mut rows = vec![["metric", "held-out", baseline].map(str::to_owned).to_vec()];
    for score in &found.scores {
        let values = [score.model, score.baseline].map(|value| format!("{value:.4}"));
        rows.push([vec![metric_name(score.metric).to_owned()], values.to_vec()].concat());
    }
    if rows.len() > 1 {
        text.push_str(&format!("\n{}", table(&rows)));
    }
    if let Some(chosen) = found.tried.iter().find(|tried| tried.chosen) {
        let (count, settings) = (found.tried.len(), &chosen.settings);
        text.push_str(&format!(
            "\n{}",
            paragraph(&format!("Of {count} settings, {settings} was chosen, on a held-out part of the training rows."))
        ));
    }
    text.push_str(&format!("\nmodel: {}\n", fit.output.display()));
    text
}

fn document(fit: &RecommendFit, found: &RecommendOutcome) -> Value {
    let (model, columns) = (&found.model, found.model.columns());
    let part = |value: fn(&BesideBaseline) -> f64| -> Value {
        found
            .scores
            .iter()
            .map(|score| (score.metric.to_owned(), json!(value(score))))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    let entry = |one: &TriedSettings| json!({"settings": one.settings, "score": one.score, "chosen": one.chosen});
    let tried: Vec<Value> = found.tried.iter().map(entry).collect();
    json!({
        "file": fit.file.display().to_string(), "user": columns.user, "item": columns.item, "rating": columns.rating,
        "model": model.model().name(), "settings": model.model().settings(), "users": model.users().len(),
        "items": model.items().len(), "ratings": found.entries, "held_out": found.held_out, "dropped": found.dropped,
        "repeated": found.repeated, "test": part(|score| score.model), "baseline": part(|score| score.baseline),
        "tried": tried, "verdict": verdict(found), "warnings": model.model().summary().warnings, "seed": fit.seed,
        "seconds": found.seconds, "model_file": fit.output.display().to_string(),
    })
}

fn run_top(top: &RecommendTop, output: &Output) -> Result<(), Failure> {
    if top.k == 0 {
        return Err(Failure::usage("--k 0: give at least 1"));
    }
    let model = match AnyModel::load(&top.model)? {
        AnyModel::Items(model) => *model,
        other => {
            let (path, what) = (top.model.display(), other.what());
            let advice = "give a file that `tove recommend fit` wrote";
            return Err(Failure::usage(format!("{path} holds {what}, not a recommender; {advice}")));
        }
    };
    let list = model.top(&top.user, top.k).map_err(|error| Failure::usage(format!("--user: {error}")))?;
    output.result(
        || list_text(top, &model, &list),
        || {
            let items: Vec<Value> = list.iter().map(|one| json!({"item": one.item, "score": one.score})).collect();
            json!({"user": top.user, "items": items})
        },
    )
}

fn list_text(top: &RecommendTop, model: &Recommender, list: &[RecommendedItem]) -> String {
    let columns = model.columns();
    if list.is_empty() {
        return format!("{} {} has all {} items already.\n", columns.user, top.user, model.items().len());
    }
    let score = columns.rating.as_ref().map_or("score".to_owned(), |rating| format!("predicted {rating}"));
    let mut rows = vec![vec![score, columns.item.clone()]];
    rows.extend(list.iter().map(|one| vec![format!("{:.3}", one.score), one.item.clone()]));
    table(&rows)
}
