//! `tove models`: the available models, from their declarations.

use serde_json::{Value, json};
use tove::learn::Capabilities;
use tove::learn::registry::{self, Entry};
use tove::optim::settings::HyperparameterSchema;
use tove::words::{WordFit, WordMethod};

use crate::arguments::Models;
use crate::failure::Failure;
use crate::output::{Output, lines, paragraph, table, width};

pub fn run(models: &Models, output: &Output) -> Result<(), Failure> {
    match &models.name {
        None => output.result(
            || list(output.is_verbose()),
            || {
                registry::all()
                    .iter()
                    .map(describe)
                    .chain(of_words().map(describe_words))
                    .collect::<Vec<Value>>()
                    .into()
            },
        ),
        Some(name) => {
            if let Some((schema, example)) = of_words().find(|(schema, _)| schema.name.eq_ignore_ascii_case(name)) {
                return output.result(|| words_details(schema, example), || describe_words((schema, example)));
            }
            let entry = registry::find(name).map_err(Failure::usage)?;
            output.result(|| details(&entry), || describe(&entry))
        }
    }
}

/// What learns word vectors, with a call; it is not in the registry, because texts are not rows of numbers.
fn of_words() -> impl Iterator<Item = (&'static HyperparameterSchema, &'static str)> {
    let example = |method: WordMethod| match method {
        WordMethod::GloVe => "tove words fit text.txt --method glove -o words.tove",
        WordMethod::FastText => "tove words fit text.txt --method fasttext -o words.tove",
        _ => "tove words fit text.txt -o words.tove",
    };
    let methods = [WordMethod::SkipGram, WordMethod::GloVe, WordMethod::FastText];
    methods.into_iter().map(move |method| (WordFit::new(method).settings().schema(), example(method)))
}

/// What kind of model it is; of one made of others, that depends on them.
fn family(entry: &Entry) -> &'static str {
    if entry.composite { "composite" } else { entry.capabilities.kind() }
}

/// What a model can take and give, as words and as the letters of the list.
fn capabilities(own: &Capabilities) -> Vec<(char, &'static str)> {
    let several = if own.classifies() { own.multiclass } else { own.multi_output };
    let all = [
        (own.probabilities, ('p', "probabilities")),
        (several, ('m', if own.classifies() { "more than two classes" } else { "several targets" })),
        (own.weights, ('w', "sample weights")),
        (own.sparse, ('s', "sparse rows")),
        (own.missing, ('n', "missing values")),
        (own.partial_fit, ('i', "partial fit (--stream)")),
        (own.inverse_transform, ('r', "inverse transform")),
    ];
    all.into_iter().filter(|(has, _)| *has).map(|(_, words)| words).collect()
}

/// The first sentence of a documentation, in so many characters.
fn sentence(doc: &str, width: usize) -> String {
    let first = doc.split(". ").next().unwrap_or_default().trim_end_matches('.');
    if first.chars().count() <= width {
        return first.to_owned();
    }
    let cut: String = first.chars().take(width.saturating_sub(1)).collect();
    format!("{}…", cut.rsplit_once(' ').map_or(cut.as_str(), |(head, _)| head))
}

/// The models by family, a line each; all of their documentation if `verbose`.
fn list(verbose: bool) -> String {
    let all = registry::all();
    let longest = all.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    let families = [
        ("classifier", "Classifiers"),
        ("regressor", "Regressors"),
        ("clusterer", "Clusterers"),
        ("transformer", "Transformers"),
        ("composite", "Meta-estimators"),
    ];
    for (kind, title) in families {
        let mut members = all.iter().filter(|entry| family(entry) == kind).peekable();
        if members.peek().is_none() {
            continue;
        }
        text.push_str(&format!("{title}\n"));
        for entry in members {
            let letters: String = capabilities(&entry.capabilities).into_iter().map(|(letter, _)| letter).collect();
            let room = width().saturating_sub(longest + 12).max(20);
            let doc = if verbose { lines(entry.doc, room) } else { vec![sentence(entry.doc, room)] };
            let indent = format!("\n{}", " ".repeat(longest + 12));
            text.push_str(&format!("  {:<longest$}  {letters:<6}  {}\n", entry.name, doc.join(&indent)));
        }
        text.push('\n');
    }
    text.push_str("Word vectors\n");
    for (schema, _) in of_words() {
        let room = width().saturating_sub(longest + 12).max(20);
        text.push_str(&format!("  {:<longest$}  {:6}  {}\n", schema.name, "", sentence(schema.doc, room)));
    }
    text.push('\n');
    text.push_str(&paragraph(
        "p probabilities, m more than two classes or several targets, w sample weights, s sparse rows, n missing values, \
         i partial fit (--stream), r inverse transform. `tove models NAME` lists the hyperparameters.",
    ));
    text
}

fn details(entry: &Entry) -> String {
    let schema = (entry.schema)();
    let mut text = format!("{} ({})\n\n{}", entry.name, family(entry), paragraph(schema.doc));
    let able: Vec<&str> = capabilities(&entry.capabilities).into_iter().map(|(_, words)| words).collect();
    if !able.is_empty() {
        text.push_str(&format!("\n{}", paragraph(&format!("Supports {}.", able.join(", ")))));
    }
    if let Some(example) = example(entry) {
        text.push_str(&format!("\nExample:\n  {example}\n"));
    }
    text.push_str(&hyperparameters(schema));
    text
}

fn words_details(schema: &HyperparameterSchema, example: &str) -> String {
    let doc = paragraph(schema.doc);
    format!("{} (word vectors)\n\n{doc}\nExample:\n  {example}\n{}", schema.name, hyperparameters(schema))
}

fn describe_words((schema, example): (&'static HyperparameterSchema, &'static str)) -> Value {
    let mut document = schema.to_json();
    document["kind"] = "word vectors".into();
    document["capabilities"] = json!([]);
    document["example"] = example.into();
    document
}

/// The hyperparameters with their defaults and ranges.
fn hyperparameters(schema: &HyperparameterSchema) -> String {
    if schema.hyperparameters.is_empty() {
        return String::new();
    }
    let mut rows = vec![["--set", "default", "range", "meaning"].map(str::to_owned).to_vec()];
    for entry in &schema.hyperparameters {
        let range = match entry.range {
            Some(range) => range.to_string(),
            None => entry.kind.to_string(),
        };
        rows.push(vec![entry.name.to_owned(), entry.default.to_string(), range, entry.doc.to_owned()]);
    }
    format!("\n{}", table(&rows))
}

/// A call that fits a model with this estimator; none if nothing can be predicted by it.
fn example(entry: &Entry) -> Option<String> {
    let own = &entry.capabilities;
    if !entry.composite && !own.transform && !own.classifies() && !own.regresses() {
        return None;
    }
    let model = match entry.name {
        "Pipeline" => "Pipeline(StandardScaler, Ridge(alpha=0.5))".to_owned(),
        "ColumnTransformer" => {
            "Pipeline(ColumnTransformer(StandardScaler, columns=[[0]], remainder=passthrough), Ridge)".to_owned()
        }
        "FeatureUnion" => "Pipeline(FeatureUnion(StandardScaler, PCA), Ridge)".to_owned(),
        "OneVsRest" => "OneVsRest(LogisticRegression(c=0.1))".to_owned(),
        "GridSearch" => "GridSearch(Ridge, grid={alpha: [0.1, 1, 10]})".to_owned(),
        "RandomSearch" => "RandomSearch(Ridge, space={alpha: [log_uniform, 0.001, 1000]}, iterations=20)".to_owned(),
        "CalibratedModel" => "CalibratedModel(LogisticRegression, method=beta)".to_owned(),
        "CalibratedClassifierCV" => "CalibratedClassifierCV(LinearSVC, method=isotonic)".to_owned(),
        "SelfTrainingClassifier" => "SelfTrainingClassifier(GaussianNB, threshold=0.9)".to_owned(),
        "SelectKBest" => "Pipeline(SelectKBest(k=2), LogisticRegression)".to_owned(),
        "OneHotEncoder" => "Pipeline(OneHotEncoder(handle_unknown=ignore), Ridge)".to_owned(),
        "OrdinalEncoder" => {
            "Pipeline(OrdinalEncoder(handle_unknown=use_encoded_value, unknown_value=-1), Ridge)".to_owned()
        }
        name if name.starts_with("Bagging") => format!("{name}({}, n_estimators=20)", member(name)),
        name if entry.composite => format!("{name}({}, {})", member(name), second_member(name)),
        name if own.nonnegative && own.classifies() => format!("Pipeline(MinMaxScaler, {name})"),
        name if own.nonnegative => format!("Pipeline(MinMaxScaler, {name}, Ridge)"),
        name if own.transform && !own.classifies() && !own.regresses() => format!("Pipeline({name}, Ridge)"),
        name => name.to_owned(),
    };
    let quote = if model.contains('(') { "'" } else { "" };
    Some(format!("tove fit table.csv --target y --model {quote}{model}{quote}"))
}

fn member(name: &str) -> &'static str {
    if name.ends_with("Classifier") { "LogisticRegression" } else { "Ridge(alpha=0.5)" }
}

fn second_member(name: &str) -> &'static str {
    if name.ends_with("Classifier") { "GaussianNB" } else { "LinearRegression" }
}

fn describe(entry: &Entry) -> Value {
    let mut document = (entry.schema)().to_json();
    document["kind"] = family(entry).into();
    let words: Vec<&str> = capabilities(&entry.capabilities).into_iter().map(|(_, words)| words).collect();
    document["capabilities"] = json!(words);
    document["example"] = example(entry).into();
    document
}
