//! The report of a net for images.

use tove::data::Dataset;
use tove::nn::Report as Training;
use tove::plot::{ConfusionChart, ImageGrid, LineChart, Report};
use tove::tensor::{DType, Tensor};

use super::fit::{Judged, with_interval};
use super::net::Net;
use crate::commands::training::{curve, ending};
use crate::failure::Failure;
use crate::report::table;

/// Mistakes and right answers in the grids.
const SHOWN: usize = 24;
/// Mistakes in the table.
const LISTED: usize = 10;
/// Images with their attention.
const ATTENDED: usize = 8;

/// The report: scores, losses, what is taken for what, the worst mistakes, and what a transformer looks at.
pub fn of(judged: &Judged<'_>) -> Result<Report, Failure> {
    let Judged { model, test, test_score: score, .. } = judged;
    let (low, high) = score.interval().unwrap_or((score.low, score.high));
    let watched = if judged.watched > 0 { format!(", {} watched", judged.watched) } else { String::new() };
    let fitted = format!("{} fitted{watched}", judged.train_images);
    let mut page = Report::new(&judged.title)
        .subtitle(format!("{} by tove {}", model.plan.name(), env!("CARGO_PKG_VERSION")))
        .card_with_note("Accuracy", format!("{:.4}", score.value), format!("{low:.3} to {high:.3}, probability 95 %"))
        .card_with_note("Test images", test.len().to_string(), fitted)
        .card("Parameters", model.plan.parameters().unwrap_or(0).to_string())
        .section("Scores");
    let mut rows = vec![["", "training images", "test images"].map(str::to_owned).to_vec()];
    for (name, train, score) in &judged.rows {
        let train = train.as_ref().map_or_else(String::new, |score| format!("{:.4}", score.value));
        rows.push(vec![(*name).to_owned(), train, with_interval(score)]);
    }
    page = page.table(&table(&rows)).text(
        "Test images were set aside before training. Intervals hold with probability 95 % whatever the distribution \
         (Hoeffding's inequality).",
    );
    page = judged.notes.sentences().into_iter().fold(page, |page, sentence| page.text(sentence));
    if judged.notes.broken.len() > 3 {
        let all = judged.notes.broken.join("\n");
        page = page.details("All pictures that could not be read", |body| Ok(body.preformatted(&all)))?;
    }
    if let Some(report) = judged.report {
        page = training(page.section("Training"), report, judged.watched)?;
    }
    page = page.section("Errors on the test images").picture_or_reason(&confusion(judged));
    page = answers(page, judged)?;
    if let Net::Vit(_) = &model.net {
        page = attention(page, judged)?;
    }
    let settings = format!("{:#}", model.facts);
    page = page.section("How it was made").text(format!("Seed {}. {:.1} seconds.", judged.seed, judged.seconds));
    Ok(page.details("Settings", |body| Ok(body.preformatted(&settings)))?)
}

/// The curves, and which weights were taken.
fn training(mut page: Report, report: &Training, watched: usize) -> Result<Report, Failure> {
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
    if watched > 0 {
        page = page.text(format!(
            "Validation is a part of the training images, {watched} of them, on which the net did not learn. The weights \
             with the lowest loss on them were taken; the test images had no say."
        ));
        if let Some((loss, step)) = report.best {
            page = page.text(format!("They are those of step {step} of {}, with a loss of {loss:.4}.", report.steps));
        }
    }
    Ok(match ending(report) {
        Some(note) => page.text(note),
        None => page,
    })
}

fn confusion(judged: &Judged<'_>) -> ConfusionChart {
    let counts: Vec<u64> = judged.confusion.counts().iter().map(|&count| count.round() as u64).collect();
    let met: Vec<&str> = judged.confusion.labels().iter().map(|&label| name(judged, label)).collect();
    ConfusionChart::new(&met, &counts).title("Confusion matrix")
}

fn name<'a>(judged: &'a Judged<'_>, class: i64) -> &'a str {
    judged.model.classes.get(class as usize).map_or("", String::as_str)
}

/// Test images with the net's answers: mistakes, the worst first, which give the truth the least probability; then right
/// answers, the least certain first.
fn answers(mut page: Report, judged: &Judged<'_>) -> Result<Report, Failure> {
    let truth = judged.test.y().to_vec::<i64>();
    let predicted = judged.probabilities.argmax(-1).to_vec::<i64>();
    let all = judged.probabilities.to_f64_vec();
    let classes = judged.model.classes.len();
    let given = |i: usize, class: i64| all[i * classes + class as usize];
    let mut order: Vec<usize> = (0..truth.len()).collect();
    order.sort_by(|&a, &b| given(a, truth[a]).total_cmp(&given(b, truth[b])));
    let (wrong, right): (Vec<usize>, Vec<usize>) = order.into_iter().partition(|&i| truth[i] != predicted[i]);
    let draw = |rows: &[usize]| {
        let add = |grid: ImageGrid, &i: &usize| {
            grid.prediction(&pixels(judged, i), name(judged, predicted[i]), name(judged, truth[i]))
        };
        rows.iter().take(SHOWN).fold(empty(judged), add)
    };
    page = page.section("Test images with the net's answers");
    if wrong.is_empty() {
        page = page.text("No test image was taken for another.");
    } else {
        page = page
            .picture_or_reason(&draw(&wrong).title(format!("The worst of {} mistakes, the worst first", wrong.len())));
        let head = ["test image", "answer", "its probability", "truth", "its probability"];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        for &i in wrong.iter().take(LISTED) {
            let sure = |class: i64| format!("{:.4}", given(i, class));
            let (answer, is) = (name(judged, predicted[i]).to_owned(), name(judged, truth[i]).to_owned());
            rows.push(vec![(i + 1).to_string(), answer, sure(predicted[i]), is, sure(truth[i])]);
        }
        page = page.table(&table(&rows));
    }
    if !right.is_empty() {
        page =
            page.picture_or_reason(&draw(&right).title(format!("Of {} right answers the least certain", right.len())));
    }
    Ok(page)
}

fn empty(judged: &Judged<'_>) -> ImageGrid {
    match *judged.test.x().dims() {
        [_, 3, height, width] => ImageGrid::rgb(width, height),
        [_, _, height, width] => ImageGrid::grey(width, height),
        _ => ImageGrid::grey(1, 1),
    }
}

/// A test image for the grid.
fn pixels(judged: &Judged<'_>, i: usize) -> Vec<f64> {
    let image = judged.test.x().narrow(0, i, 1);
    let &[_, channels, height, width] = image.dims() else { return Vec::new() };
    // Colours of a pixel stand together.
    let image = image.reshape([channels, height * width]).permute(&[1, 0]);
    image.to_dtype(DType::F64).to_f64_vec().into_iter().map(|value| value.clamp(0.0, 1.0)).collect()
}

/// Where a transformer looks: the attention of the special token, from which the classes are read, to each patch in the
/// last block, mean of the heads.
fn attention(page: Report, judged: &Judged<'_>) -> Result<Report, Failure> {
    let Net::Vit(net) = &judged.model.net else { return Ok(page) };
    let count = ATTENDED.min(judged.test.len());
    let images = judged.test.x().narrow(0, 0, count).contiguous();
    let &[_, _, height, width] = images.dims() else { return Ok(page) };
    let Some(last) = net.attention_maps(&images)?.pop() else { return Ok(page) };
    let map = last.mean_axes(&[1], false).narrow(1, 0, 1); // (images, 1, tokens)
    let tokens = map.dims()[2];
    let to_patches = map.narrow(2, 1, tokens - 1).to_f64_vec();
    let patch = net.config().patch;
    let truth = judged.test.y().to_vec::<i64>();
    let mut pictures = ImageGrid::grey(width, height).columns(count);
    for (i, &class) in truth.iter().enumerate().take(count) {
        pictures = pictures.image(&grey(&images.narrow(0, i, 1)), name(judged, class));
    }
    for of_image in to_patches.chunks(tokens - 1) {
        let most = of_image.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let at = |row: usize, column: usize| of_image[row / patch * (width / patch) + column / patch] / most;
        let drawn: Vec<f64> = (0..height * width).map(|place| at(place / width, place % width)).collect();
        let total: f64 = of_image.iter().sum();
        pictures = pictures.image(&drawn, format!("{:.0} %", 100.0 * total));
    }
    let text = "The second row shows, for the image above it, how much the special token attends to each patch in the last \
                block: the mean of the heads, the brightest patch white, with the share that all patches get. The rest it gives \
                to itself.";
    Ok(page.section("Attention").picture_or_reason(&pictures.title("Images and attention")).text(text))
}

/// Brightness of an image, the mean of its channels.
fn grey(image: &Tensor) -> Vec<f64> {
    let values = image.to_dtype(DType::F64).mean_axes(&[1], false).to_f64_vec();
    values.into_iter().map(|value| value.clamp(0.0, 1.0)).collect()
}
