//! Writes a picture of every kind into a folder, and a report with all of them.
//!
//! `cargo run --release -p tove-plot --example gallery -- FOLDER`

mod pictures;

use std::path::PathBuf;
use tove_plot::terminal::{LineText, bars, spark};
use tove_plot::{PlotError, Report, ReportTable, WriteOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| "gallery".to_owned()));
    std::fs::create_dir_all(&folder)?;
    let mut report = Report::new("Gallery").subtitle("Every picture of tove-plot, on made-up data");
    let mut sizes = ReportTable::new(&["picture", "bytes"]).caption("Size of the files");
    let pictures = pictures::pictures();
    report = report.card("pictures", pictures.len().to_string());
    report = report.card_with_note("accuracy", "0.937", "95%: 0.931 to 0.943").section("Pictures");
    for (name, picture) in &pictures {
        let svg = picture.to_svg()?;
        std::fs::write(folder.join(format!("{name}.svg")), &svg)?;
        sizes = sizes.row(&[*name, &svg.len().to_string()]);
        report = report.picture(&**picture)?;
    }
    let text = texts()?;
    println!("{text}");
    report = report.section("Sizes").table(&sizes);
    report = report.section("In the terminal").preformatted(&text);
    report = report.details("Settings of the run", |body| {
        Ok(body.text("Folded until it is opened.").preformatted("rate = 0.1\nepochs = 30"))
    })?;
    report = report.data("run", "{\"accuracy\": 0.937}");
    report.save(folder.join("index.html"), WriteOptions::overwriting())?;
    println!("{} pictures and index.html in {}", pictures.len(), folder.display());
    Ok(())
}

fn texts() -> Result<String, PlotError> {
    let train: Vec<f64> = (1..=60).map(|e| 2.0 * (-0.1 * f64::from(e)).exp() + 0.05).collect();
    let valid: Vec<f64> = (1..=60).map(|e| 2.1 * (-0.09 * f64::from(e)).exp() + 0.15).collect();
    let mut out = LineText::new().series("training loss", &train).log().render(70, 10)?;
    out.push('\n');
    out.push_str(&LineText::new().series("train", &train).series("validation", &valid).render(70, 10)?);
    out.push('\n');
    out.push_str(&bars(&[("age", 0.42), ("income", -0.31), ("number of open loans", 0.27), ("weekday", 0.003)], 60)?);
    out.push('\n');
    out.push_str(&spark(&train, 40));
    out.push('\n');
    Ok(out)
}
