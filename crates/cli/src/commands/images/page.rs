//! The report of a net for images.

use tove::data::Dataset;
use tove::plot::{ConfusionChart, ImageGrid, Report};
use tove::tensor::{DType, Tensor};

use super::fit::{Judged, with_interval};
use crate::commands::training::{curve, ending};
use crate::failure::Failure;
use crate::report::table;

/// Images in the grid.
const SHOWN: usize = 40;

/// The report: scores, losses, what is taken for what, and some images.
pub fn of(judged: &Judged<'_>) -> Result<Report, Failure> {
    let Judged { fit, model, report, test, .. } = judged;
    let score = &judged.test_score;
    let (low, high) = score.interval().unwrap_or((score.low, score.high));
    let parameters = model.plan.parameters().unwrap_or(0);
    let mut page = Report::new(format!("Images of {}", fit.path.display()))
        .subtitle(format!("{} by tove {}", model.plan.name(), env!("CARGO_PKG_VERSION")))
        .card_with_note("Accuracy", format!("{:.4}", score.value), format!("{low:.3} to {high:.3}, probability 95 %"))
        .card("Images", format!("{} fitted, {} judged", judged.train_images, test.len()))
        .card("Parameters", parameters.to_string())
        .section("Scores");
    let rows = [
        ["score", "training images", "test images"].map(str::to_owned).to_vec(),
        vec!["accuracy".to_owned(), format!("{:.4}", judged.train_score.value), with_interval(score)],
    ];
    page = page.table(&table(&rows)).text(
        "Test images were set aside before training. The interval holds with probability 95 % whatever the distribution \
         (Hoeffding's inequality).",
    );
    page = page.section("Training");
    if let Some(chart) = curve(report) {
        page = page.picture(&chart)?;
    }
    page = page.text(
        "The curve called validation is the loss of the test images; it is drawn only, nothing was chosen by it.",
    );
    if let Some(note) = ending(report) {
        page = page.text(note);
    }
    page = page.section("Errors on the test images").picture(&confusion(judged))?;
    page =
        page.section("Test images with the net's answers").text("Wrong answers come first.").picture(&grid(judged))?;
    let settings = format!("{:#}", model.facts);
    page = page.section("How it was made").text(format!("Seed {}. {:.1} seconds.", fit.seed, judged.seconds));
    Ok(page.details("Settings", |body| Ok(body.preformatted(&settings)))?)
}

fn confusion(judged: &Judged<'_>) -> ConfusionChart {
    let counts: Vec<u64> = judged.confusion.counts().iter().map(|&count| count.round() as u64).collect();
    let name = |&label: &i64| judged.model.classes.get(label as usize).map_or("", String::as_str);
    let met: Vec<&str> = judged.confusion.labels().iter().map(name).collect();
    ConfusionChart::new(&met, &counts).title("Confusion matrix")
}

/// Wrong answers, then right ones, as many as fit.
fn grid(judged: &Judged<'_>) -> ImageGrid {
    let names = &judged.model.classes;
    let x = judged.test.x();
    let &[_, channels, height, width] = x.dims() else { return ImageGrid::grey(1, 1) };
    let truth = judged.test.y().to_vec::<i64>();
    let predicted = judged.probabilities.argmax(-1).to_vec::<i64>();
    let wrong = (0..truth.len()).filter(|&i| truth[i] != predicted[i]).take(SHOWN / 2);
    let mut shown: Vec<usize> = wrong.collect();
    let right = (0..truth.len()).filter(|&i| truth[i] == predicted[i]);
    shown.extend(right.take(SHOWN - shown.len()));
    let name = |class: i64| names.get(class as usize).map_or("", String::as_str);
    let empty = if channels == 3 { ImageGrid::rgb(width, height) } else { ImageGrid::grey(width, height) };
    shown.into_iter().fold(empty, |grid, i| {
        // Colours of a pixel stand together.
        let image = x.narrow(0, i, 1).reshape([channels, height * width]).permute(&[1, 0]);
        grid.prediction(&pixels(&image), name(predicted[i]), name(truth[i]))
    })
}

fn pixels(image: &Tensor) -> Vec<f64> {
    image.to_dtype(DType::F64).to_f64_vec().into_iter().map(|value| value.clamp(0.0, 1.0)).collect()
}
