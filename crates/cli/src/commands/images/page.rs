//! The report of a net for images.

use tove::data::Dataset;
use tove::nn::TrainingReport as Training;
use tove::plot::{ConfusionChart, ImageGrid, LineChart, Report};
use tove::tensor::{DType, Tensor};
use tove::vision::{ImageOutcome, Net};

use super::fit::{Evaluated, verdict, with_interval};
use crate::commands::training::{curve, ending};
use crate::failure::Failure;
use crate::report::table;

/// Images in each grid.
const SHOWN: usize = 24;
/// Misclassified images in the table.
const LISTED: usize = 10;
/// Images with their attention.
const ATTENDED: usize = 8;

/// The report: verdict, scores, losses, confusion matrix, misclassified images, and the attention of a transformer.
pub fn of(evaluated: &Evaluated<'_>) -> Result<Report, Failure> {
    let ImageOutcome { model, test, test_score: score, train_images, validation_images, .. } = evaluated.outcome;
    let (low, high) = score.interval().unwrap_or((score.low, score.high));
    let fitted = format!("{train_images} train, {validation_images} validation");
    let mut page = Report::new(&evaluated.title)
        .subtitle(format!("{} by tove {}", model.config().name(), env!("CARGO_PKG_VERSION")))
        .card_with_note("Accuracy", format!("{:.4}", score.value), format!("{low:.3} to {high:.3}, probability 95 %"))
        .card_with_note("Test images", test.len().to_string(), fitted)
        .card("Parameters", model.config().parameters().unwrap_or(0).to_string())
        .text(verdict(evaluated))
        .section("Scores");
    let mut rows = vec![["", "train", "test (95 % interval)"].map(str::to_owned).to_vec()];
    for (name, train, score) in &evaluated.rows {
        let train = train.as_ref().map_or_else(String::new, |score| format!("{:.4}", score.value));
        rows.push(vec![(*name).to_owned(), train, with_interval(score)]);
    }
    page = page.table(&table(&rows)).text(
        "The test images were held out before training. Intervals hold with probability 95 % for any distribution \
         (Hoeffding's inequality).",
    );
    page = evaluated.notes.sentences().into_iter().fold(page, |page, sentence| page.text(sentence));
    if evaluated.notes.broken.len() > 3 {
        let all = evaluated.notes.broken.join("\n");
        page = page.details("All images that could not be read", |body| Ok(body.preformatted(&all)))?;
    }
    if let Some(report) = &evaluated.outcome.report {
        page = training(page.section("Training"), report, *validation_images)?;
    }
    page = page.section("Errors on test images").picture_or_reason(&confusion(evaluated));
    page = answers(page, evaluated)?;
    if let Net::Vit(_) = model.net() {
        page = attention(page, evaluated)?;
    }
    let settings = format!("{:#}", model.facts());
    page = page.section("Details").text(format!("Seed {}. {:.1} seconds.", evaluated.seed, evaluated.seconds));
    Ok(page.details("Settings", |body| Ok(body.preformatted(&settings)))?)
}

/// The loss curves, and which weights were kept.
fn training(mut page: Report, report: &Training, validation: usize) -> Result<Report, Failure> {
    if let Some(chart) = curve(report) {
        page = page.picture_or_reason(&chart);
    }
    let accuracy = |scores: &[(String, f64)]| scores.iter().find(|(name, _)| name == "accuracy").map(|score| score.1);
    let points: Vec<(f64, f64)> = report
        .history
        .iter()
        .filter_map(|evaluation| accuracy(&evaluation.validation).map(|value| (evaluation.epoch as f64, value)))
        .collect();
    if points.len() > 1 {
        let (epochs, values): (Vec<f64>, Vec<f64>) = points.into_iter().unzip();
        let chart = LineChart::new().series("validation", &epochs, &values).x_label("epoch").y_label("accuracy");
        page = page.picture_or_reason(&chart.title("Accuracy"));
    }
    if validation > 0 {
        page = page.text(format!("The weights with the lowest loss on the {validation} validation images were kept."));
        if let Some((loss, step)) = report.best {
            page = page.text(format!("The lowest validation loss was {loss:.4}, at step {step} of {}.", report.steps));
        }
    }
    Ok(match ending(report) {
        Some(note) => page.text(note),
        None => page,
    })
}

fn confusion(evaluated: &Evaluated<'_>) -> ConfusionChart {
    let counts: Vec<u64> = evaluated.outcome.confusion.counts().iter().map(|&count| count.round() as u64).collect();
    let met: Vec<&str> = evaluated.outcome.confusion.labels().iter().map(|&label| name(evaluated, label)).collect();
    ConfusionChart::new(&met, &counts).title("Confusion matrix")
}

fn name<'a>(evaluated: &'a Evaluated<'_>, class: i64) -> &'a str {
    evaluated.outcome.model.classes().get(class as usize).map_or("", String::as_str)
}

/// Test images with their predictions: misclassified ones, the lowest probability of the true class first; then correct ones, the
/// least certain first.
fn answers(mut page: Report, evaluated: &Evaluated<'_>) -> Result<Report, Failure> {
    let truth = evaluated.outcome.test.y().to_vec::<i64>();
    let predicted = evaluated.outcome.probabilities.argmax(-1).to_vec::<i64>();
    let all = evaluated.outcome.probabilities.to_f64_vec();
    let classes = evaluated.outcome.model.classes().len();
    let given = |i: usize, class: i64| all[i * classes + class as usize];
    let mut order: Vec<usize> = (0..truth.len()).collect();
    order.sort_by(|&a, &b| given(a, truth[a]).total_cmp(&given(b, truth[b])));
    let (wrong, right): (Vec<usize>, Vec<usize>) = order.into_iter().partition(|&i| truth[i] != predicted[i]);
    let draw = |rows: &[usize]| {
        let add = |grid: ImageGrid, &i: &usize| {
            grid.prediction(&pixels(evaluated, i), name(evaluated, predicted[i]), name(evaluated, truth[i]))
        };
        rows.iter().take(SHOWN).fold(empty(evaluated), add)
    };
    page = page.section("Predictions on test images");
    if wrong.is_empty() {
        page = page.text("No test image was misclassified.");
    } else {
        page = page.picture_or_reason(
            &draw(&wrong).title(format!("Misclassified images, the worst of {} first", wrong.len())),
        );
        let head = ["test image", "predicted", "its probability", "true class", "its probability"];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        for &i in wrong.iter().take(LISTED) {
            let sure = |class: i64| format!("{:.4}", given(i, class));
            let (answer, is) = (name(evaluated, predicted[i]).to_owned(), name(evaluated, truth[i]).to_owned());
            rows.push(vec![(i + 1).to_string(), answer, sure(predicted[i]), is, sure(truth[i])]);
        }
        page = page.table(&table(&rows));
    }
    if !right.is_empty() {
        page = page.picture_or_reason(
            &draw(&right).title(format!("Correct predictions, the least certain of {} first", right.len())),
        );
    }
    Ok(page)
}

fn empty(evaluated: &Evaluated<'_>) -> ImageGrid {
    match *evaluated.outcome.test.x().dims() {
        [_, 3, height, width] => ImageGrid::rgb(width, height),
        [_, _, height, width] => ImageGrid::grey(width, height),
        _ => ImageGrid::grey(1, 1),
    }
}

/// A test image for the grid.
fn pixels(evaluated: &Evaluated<'_>, i: usize) -> Vec<f64> {
    let image = evaluated.outcome.test.x().narrow(0, i, 1);
    let &[_, channels, height, width] = image.dims() else { return Vec::new() };
    // The channels of a pixel are adjacent.
    let image = image.reshape([channels, height * width]).permute(&[1, 0]);
    image.to_dtype(DType::F64).to_f64_vec().into_iter().map(|value| value.clamp(0.0, 1.0)).collect()
}

/// The attention map of a transformer: from the class token, from which the classes are read, to each patch in the
/// last block, mean of the heads.
fn attention(page: Report, evaluated: &Evaluated<'_>) -> Result<Report, Failure> {
    let Net::Vit(net) = evaluated.outcome.model.net() else { return Ok(page) };
    let count = ATTENDED.min(evaluated.outcome.test.len());
    let images = evaluated.outcome.test.x().narrow(0, 0, count).contiguous();
    let &[_, _, height, width] = images.dims() else { return Ok(page) };
    let Some(last) = net.attention_maps(&images)?.pop() else { return Ok(page) };
    let map = last.mean_axes(&[1], false).narrow(1, 0, 1); // (images, 1, tokens)
    let tokens = map.dims()[2];
    let to_patches = map.narrow(2, 1, tokens - 1).to_f64_vec();
    let patch = net.config().patch;
    let truth = evaluated.outcome.test.y().to_vec::<i64>();
    let mut pictures = ImageGrid::grey(width, height).columns(count);
    for (i, &class) in truth.iter().enumerate().take(count) {
        pictures = pictures.image(&grey(&images.narrow(0, i, 1)), name(evaluated, class));
    }
    for of_image in to_patches.chunks(tokens - 1) {
        let most = of_image.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let at = |row: usize, column: usize| of_image[row / patch * (width / patch) + column / patch] / most;
        let drawn: Vec<f64> = (0..height * width).map(|place| at(place / width, place % width)).collect();
        let total: f64 = of_image.iter().sum();
        pictures = pictures.image(&drawn, format!("{:.0} %", 100.0 * total));
    }
    let text = "The second row shows, for the image above it, how much the class token attends to each patch in the last \
                block: the mean of the heads, the brightest patch white, with the share that all patches get. The rest it gives \
                to itself.";
    Ok(page.section("Attention").picture_or_reason(&pictures.title("Images and attention")).text(text))
}

/// Brightness of an image, the mean of its channels.
fn grey(image: &Tensor) -> Vec<f64> {
    let values = image.to_dtype(DType::F64).mean_axes(&[1], false).to_f64_vec();
    values.into_iter().map(|value| value.clamp(0.0, 1.0)).collect()
}
