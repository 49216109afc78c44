//! The HTML report of word vectors.

use tove::plot::{LineChart, Report, ScatterChart};
use tove::words::WordPlane;

use super::fit::{Fitted, names, verdict};
use super::score_rows;
use crate::failure::Failure;
use crate::report::table;

/// Words in the picture, at most.
const DRAWN: usize = 150;

/// The report: the loss, frequent words in a plane, neighbors, analogies.
pub fn of(fitted: &Fitted<'_>) -> Result<Report, Failure> {
    let (model, outcome) = (&fitted.outcome.model, fitted.outcome);
    let vectors = model.vectors();
    let mut page = Report::new(format!("Word vectors of {}", names(fitted.fit)))
        .subtitle(format!("{}, tove {}", model.method(), env!("CARGO_PKG_VERSION")))
        .card("Vocabulary", vectors.words().len().to_string())
        .card("Dimension", vectors.dimension().to_string())
        .card("Words", outcome.words.to_string())
        .card("Texts", outcome.texts.to_string())
        .text(verdict(fitted));
    if let Some(plane) = model.plane(DRAWN)? {
        let count = plane.words.len();
        page = page.section("The most frequent words").picture_or_reason(&picture(&plane)).text(format!(
            "The {count} most frequent words in the plane of the first two principal components of their vectors. The plane shows a \
             part of the distances only; neighbors are found with all {} numbers.",
            vectors.dimension()
        ));
    }
    let mut rows = vec![["word", "nearest"].map(str::to_owned).to_vec()];
    rows.extend(fitted.examples.iter().map(|(word, list)| vec![word.clone(), list.clone()]));
    if rows.len() > 1 {
        page = page.section("Nearest words").table(&table(&rows));
    }
    if let Some(scores) = &fitted.scores {
        page = page.section("Analogies").table(&table(&score_rows(scores)));
    }
    let curve = &vectors.summary().curve;
    if curve.len() > 1 {
        let epochs: Vec<f64> = (1..=curve.len()).map(|epoch| epoch as f64).collect();
        let chart = LineChart::new().series("loss", &epochs, curve).x_label("epoch").y_label("loss").title("Loss");
        page = page.section("Training").picture_or_reason(&chart);
    }
    page = page.section("Details").text(format!("Seed {}. {:.1} seconds.", fitted.fit.seed, outcome.seconds));
    for warning in &vectors.summary().warnings {
        page = page.text(format!("Warning: {warning}"));
    }
    if !outcome.phrases.is_empty() {
        let list = outcome.phrases.join(", ");
        page = page.details("Phrases", |body| Ok(body.text(&list)))?;
    }
    let settings = format!("{:#}", vectors.settings()["settings"]);
    Ok(page.details("Hyperparameters", |body| Ok(body.preformatted(&settings)))?)
}

fn picture(plane: &WordPlane) -> ScatterChart {
    let axis =
        |place: usize| format!("component {} ({:.1} % of the variance)", place + 1, 100.0 * plane.explained[place]);
    ScatterChart::new().wide().labeled(&plane.words, &plane.x, &plane.y).x_label(axis(0)).y_label(axis(1))
}
