//! `tove demo`: ideas at work, in numbers and pictures.

mod attention;
mod chance;
mod descent;
mod paths;
mod polynomials;
mod regions;
mod softmax;

use serde_json::{Value, json};
use tove::data::sets;
use tove::metrics::hoeffding;
use tove::nn::{Classification, Layer, Mlp, Pass, Progress, Rng, Trainer};
use tove::optim::{Adam, Batches};
use tove::plot::terminal::LineText;
use tove::plot::{LineChart, Picture, Report};
use tove::tensor::io::WriteOptions;
use tove::tensor::no_grad;

use crate::arguments::Demo;
use crate::failure::Failure;
use crate::files;
use crate::output::{Output, WIDEST, number, table, width, wrapped};

/// What a demonstration shows: a text, numbers for machines, and perhaps a picture.
struct Shown {
    text: String,
    document: Value,
    picture: Option<Box<dyn Picture>>,
}

/// A demonstration: its name, what it shows, and how.
type Entry = (&'static str, &'static str, fn(&Demo) -> Result<Shown, Failure>);

const ALL: [Entry; 12] = [
    ("batches", "how samples are shuffled and cut into batches, epoch by epoch", batches),
    ("softmax", "what a temperature does to the softmax", softmax::show),
    ("descent", "the path of gradient descent down a valley", descent::show),
    ("hoeffding", "the distance of a test error from the true error, by the number of samples", samples),
    ("xor", "what one hidden layer adds to a linear classifier", xor),
    ("rules", "gradient descent, momentum and Adam on Rosenbrock's function", paths::rules),
    ("overfitting", "polynomials of growing degree on noisy points", polynomials::overfitting),
    ("bias-variance", "the bias and the variance of polynomials of growing degree", polynomials::bias_and_variance),
    ("coverage", "how often Hoeffding's interval fails in practice", chance::coverage),
    ("ridge", "what a growing penalty does to coefficients", chance::penalty),
    ("circles", "a linear classifier and a kernel on two circles", regions::circles),
    ("attention", "the attention weights of a sentence", attention::weights),
];

pub fn run(demo: &Demo, output: &Output) -> Result<(), Failure> {
    let Some(topic) = &demo.topic else { return list(output) };
    let chosen = match topic.parse::<usize>() {
        Ok(number) => number.checked_sub(1).and_then(|place| ALL.get(place)),
        Err(_) => ALL.iter().find(|(name, ..)| name.eq_ignore_ascii_case(topic)),
    };
    let names: Vec<&str> = ALL.iter().map(|(name, ..)| *name).collect();
    let (name, about, show) = chosen.ok_or_else(|| {
        Failure::usage(format!(
            "there is no demonstration {topic}; there are {} (1 to {})",
            names.join(", "),
            ALL.len()
        ))
    })?;
    for path in [&demo.svg, &demo.html].into_iter().flatten() {
        files::may_write(path, demo.overwrite, &[])?;
    }
    let shown = show(demo)?;
    let options = WriteOptions { overwrite: demo.overwrite, ..WriteOptions::default() };
    match (&demo.svg, &shown.picture) {
        (Some(path), Some(picture)) => {
            let svg = picture.to_svg()?;
            tove::tensor::io::atomic::write_file(path, options, |out| std::io::Write::write_all(out, svg.as_bytes()))?;
        }
        (Some(_), None) => return Err(Failure::usage(format!("--svg: {name} has no picture"))),
        (None, _) => {}
    }
    if let Some(path) = &demo.html {
        let mut report = Report::new(format!("tove demo {name}")).subtitle(*about);
        if let Some(picture) = &shown.picture {
            report = report.picture(&**picture)?;
        }
        report.preformatted(wrapped(&shown.text, WIDEST)).save(path, options)?;
    }
    output.result(|| wrapped(&shown.text, width()), || shown.document)
}

fn list(output: &Output) -> Result<(), Failure> {
    let rows = ALL
        .iter()
        .enumerate()
        .map(|(place, (name, about, _))| vec![(place + 1).to_string(), (*name).to_owned(), (*about).to_owned()]);
    let mut cells = vec![["", "name", "what it shows"].map(str::to_owned).to_vec()];
    cells.extend(rows);
    let document = || ALL.iter().map(|(name, about, _)| json!({"name": name, "about": about})).collect();
    output.result(|| table(&cells), document)
}

/// The batches of some epochs, one line each.
fn batches(demo: &Demo) -> Result<Shown, Failure> {
    let most = 100_000;
    if demo.samples.saturating_mul(demo.epochs) > most {
        return Err(Failure::usage(format!("--samples × --epochs: at most {most} can be shown")));
    }
    let batches = Batches::new(demo.samples, demo.batch, demo.seed).map_err(Failure::usage)?.drop_last(demo.drop_last);
    let steps = batches.steps_per_epoch();
    let text = format!(
        "{} samples in batches of {}: {steps} steps per epoch. Every epoch has an order of its own.\n\n{}",
        demo.samples,
        demo.batch,
        batches.describe(demo.epochs)
    );
    let epochs: Vec<Vec<Vec<i64>>> = (0..demo.epochs)
        .map(|epoch| batches.epoch(epoch).iter().map(|batch| batch.to_vec::<i64>()).collect())
        .collect();
    Ok(Shown { text, document: json!({"steps_per_epoch": steps, "epochs": epochs}), picture: None })
}

/// Hoeffding's ε = √(ln(2/δ)/(2N)) against N.
fn samples(_: &Demo) -> Result<Shown, Failure> {
    let counts: Vec<f64> = (4..=24).map(|k| 10f64.powf(f64::from(k) / 4.0).round()).collect();
    let of = |delta: f64| -> Vec<f64> { counts.iter().map(|&n| hoeffding(n, 1.0, delta)).collect() };
    let (usual, strict) = (of(0.05), of(0.001));
    let mut rows = vec![["N", "ε, δ = 0.05", "ε, δ = 0.001"].map(str::to_owned).to_vec()];
    for i in (0..counts.len()).step_by(4) {
        rows.push(vec![format!("{}", counts[i]), format!("{:.6}", usual[i]), format!("{:.6}", strict[i])]);
    }
    let lines = LineText::new().x(&counts).log_x().log();
    let picture = lines.series("δ = 0.05", &usual).series("δ = 0.001", &strict).render(72, 12)?;
    let text = format!(
        "The share of errors on N test samples is within ε = √(ln(2/δ)/(2N)) of the true one, with probability 1 − δ, \
         whatever the distribution and the model. A tenth of ε takes a hundred times the samples.\n\n{}\n\
         ε by N, both axes logarithmic:\n{picture}",
        table(&rows)
    );
    let chart = LineChart::new()
        .series("δ = 0.05", &counts, &usual)
        .series("δ = 0.001", &counts, &strict)
        .log_x()
        .log_y()
        .x_label("N")
        .y_label("ε")
        .title("Hoeffding's interval");
    let document = json!({"n": counts, "epsilon_0.05": usual, "epsilon_0.001": strict});
    Ok(Shown { text, document, picture: Some(Box::new(chart)) })
}

/// Exclusive or with a linear classifier and with one hidden layer.
fn xor(demo: &Demo) -> Result<Shown, Failure> {
    let set = sets::xor()?;
    let mut rows = vec![["net", "loss", "right of 4", "P(1) at 00, 01, 10, 11"].map(str::to_owned).to_vec()];
    let (mut curves, mut facts) = (Vec::new(), Vec::new());
    for (name, sizes) in [("linear", vec![2, 2]), ("one hidden layer of 8", vec![2, 8, 2])] {
        let mut net = Mlp::new(&sizes, &mut Rng::new(demo.seed.wrapping_add(1)));
        let mut trainer = Trainer::new(Adam::new(0.05)).epochs(300).batch_size(4).progress(Progress::Silent);
        let report = trainer.fit(&mut net, &Classification::new(), &set, Some(&set))?;
        let logits = no_grad(|| net.forward(set.x(), &Pass::eval()))?;
        let p: Vec<f64> = logits.softmax(-1).to_f64_vec().chunks(2).map(|pair| pair[1]).collect();
        let right = (report.score("accuracy").unwrap_or(0.0) * 4.0).round();
        let loss = report.score("loss").unwrap_or(f64::NAN);
        let shown: Vec<String> = p.iter().map(|p| format!("{p:.2}")).collect();
        rows.push(vec![name.to_owned(), number(loss), right.to_string(), shown.join(" ")]);
        facts.push(json!({"net": name, "loss": loss, "right": right, "probabilities": p}));
        curves.push((name, report.losses));
    }
    let mut text = LineText::new();
    let mut chart = LineChart::new().x_label("step").y_label("loss").title("Exclusive or");
    for (name, losses) in &curves {
        let steps: Vec<f64> = (1..=losses.len()).map(|step| step as f64).collect();
        text = text.series(*name, losses);
        chart = chart.series(*name, &steps, losses);
    }
    let text = format!(
        "No line separates 01 and 10 from 00 and 11, so a linear classifier stays at the loss ln 2 = 0.693 of a guess. \
         One hidden layer is enough.\n\n{}\nLoss by step:\n{}",
        table(&rows),
        text.render(72, 12)?
    );
    Ok(Shown { text, document: Value::Array(facts), picture: Some(Box::new(chart)) })
}
