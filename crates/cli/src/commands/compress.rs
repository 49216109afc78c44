//! `tove reduce` on images: compressed to a few principal components each.

use std::path::Path;

use serde_json::{Value, json};
use tove::learn::Model;
use tove::nn::interrupt_flag;
use tove::plot::terminal::LineText;
use tove::plot::{ImageGrid, LineChart, Report};
use tove::tensor::io::WriteOptions;
use tove::tensor::{DType, Tensor};
use tove::vision::{CompressedImages, ImageOptions, Images};

use crate::arguments::{Reduce, ReduceMethod};
use crate::failure::Failure;
use crate::files;
use crate::output::{Output, paragraph, table};
use crate::report;

/// Images beside their reconstructions, and components, in the report.
const SHOWN: usize = 16;

/// Components, unless a number is given.
const DEFAULT: usize = 50;

/// Whether a file is a set of images: a folder, an IDX file, or the built-in digits.
pub fn is_images(path: &Path) -> bool {
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    path.is_dir() || name.contains("idx3-ubyte") || name.ends_with(".idx") || (name == "digits" && !path.exists())
}

pub fn run(reduce: &Reduce, output: &Output) -> Result<(), Failure> {
    let components = check(reduce)?;
    if let Some(path) = &reduce.output {
        let other = path.extension().filter(|ending| *ending != "tove");
        if let (Some(other), false) = (other, files::is_stdout(path)) {
            return Err(Failure::usage(format!(
                "{}: compressed images are not a .{} file; name a file that ends in .tove",
                path.display(),
                other.display()
            )));
        }
    }
    files::differ(&[reduce.output.as_ref(), reduce.columns.report.as_ref()])?;
    for path in [&reduce.output, &reduce.columns.report].into_iter().flatten() {
        files::may_write(path, reduce.columns.overwrite, &[&reduce.file])?;
    }
    let (images, notes) = Images::pictures(&reduce.file, &ImageOptions::default())?;
    notes.sentences().into_iter().for_each(|sentence| output.remark(sentence));
    tove::optim::interrupt_on(interrupt_flag()?);
    let can_be = images.dims()[0].min(images.dims()[1..].iter().product());
    let components = components.unwrap_or(DEFAULT.min(can_be));
    let found = CompressedImages::fit(&images, components, reduce.columns.seed)?;
    if tove::optim::interrupted() {
        return Err(Failure::interrupted("interrupted; nothing was written"));
    }
    let options = WriteOptions { overwrite: reduce.columns.overwrite, ..WriteOptions::default() };
    let page = reduce
        .columns
        .report
        .as_ref()
        .map(|path| Ok::<_, Failure>((path, page(reduce, &found, &images)?)))
        .transpose()?;
    if let Some(path) = &reduce.output {
        found.save(path, options)?;
    }
    if let Some((path, page)) = page {
        page.save(path, options)?;
    }
    let written = [&reduce.output, &reduce.columns.report].into_iter().flatten();
    if written.into_iter().any(|path| files::is_stdout(path)) {
        // The words must not come between the bytes of the file.
        output.remark(text(reduce, &found)?);
        return Ok(());
    }
    let text = text(reduce, &found)?;
    output.result(|| text, || document(reduce, &found))
}

/// The number of components, if the other options suit images.
fn check(reduce: &Reduce) -> Result<Option<usize>, Failure> {
    if reduce.method != ReduceMethod::Pca || !reduce.columns.settings.is_empty() {
        return Err(Failure::usage("images are compressed by pca; leave --method and --set out"));
    }
    if !reduce.columns.drop.is_empty() || !reduce.columns.id.is_empty() || reduce.no_scale {
        return Err(Failure::usage("--drop, --id and --no-scale are for tables; pixels have one scale"));
    }
    let Some(components) = &reduce.components else { return Ok(None) };
    match components.parse() {
        Ok(count) if count > 0 => Ok(Some(count)),
        _ => Err(Failure::usage(format!("--components {components}: give a whole number from 1 for images"))),
    }
}

/// What was found, in two sentences.
fn verdict(found: &CompressedImages) -> String {
    let ([channels, height, width], count, k) = (found.shape(), found.len(), found.components());
    let of = if channels == 3 { "color images" } else { "gray images" };
    let numbers = if k == 1 { "1 number".to_owned() } else { format!("{k} numbers") };
    let explained = 100.0 * found.explained().iter().sum::<f64>();
    let ratio = found.ratio();
    let smaller = if ratio < 1.05 { "no smaller".to_owned() } else { format!("{ratio:.1} times smaller") };
    format!(
        "{} turns {count} {of} of {height} × {width} pixels into {numbers} each: {} bytes instead of {}, {smaller}. They \
         keep {explained:.1} % of the variance; the root mean squared error of a rebuilt pixel is {:.4}, from 0 for black to 1 for white.",
        found.method(),
        found.bytes(),
        found.pixel_bytes(),
        found.rmse()
    )
}

/// Numbers of components that are listed: 0, 1, 2, 5, 10, 20, 50, … and the last.
fn listed(most: usize) -> Vec<usize> {
    let steps = [1, 2, 5].into_iter().cycle().scan((0u32, 1usize), |(place, power), digit| {
        let step = digit * *power;
        *place += 1;
        if *place % 3 == 0 {
            *power = power.saturating_mul(10);
        }
        Some(step)
    });
    let mut all: Vec<usize> = std::iter::once(0).chain(steps.take_while(|step| *step < most)).collect();
    all.push(most);
    all
}

/// The error over the number of components.
fn error_rows(found: &CompressedImages) -> Vec<Vec<String>> {
    let (errors, explained) = (found.errors(), found.explained());
    let mut rows = vec![["components", "error", "variance"].map(str::to_owned).to_vec()];
    for k in listed(found.components()) {
        let share = explained.iter().take(k).fold(0.0, |sum, share| sum + share);
        rows.push(vec![k.to_string(), format!("{:.4}", errors[k]), format!("{:.1} %", 100.0 * share)]);
    }
    rows
}

fn text(reduce: &Reduce, found: &CompressedImages) -> Result<String, Failure> {
    let mut text = paragraph(&verdict(found));
    text.push_str(&format!("\n{}", table(&error_rows(found))));
    if found.components() > 2 {
        let places: Vec<f64> = (0..found.errors().len()).map(|k| k as f64).collect();
        let chart = LineText::new().series("error over components", found.errors()).x(&places).render(60, 8);
        text.push_str(&format!("\n{}", chart?));
    }
    match &reduce.output {
        Some(path) => text.push_str(&format!("\ncompressed: {}; tove rebuild gives the images back\n", path.display())),
        None => text.push_str("\nThe compressed images: write them to a file with -o.\n"),
    }
    if let Some(path) = &reduce.columns.report {
        text.push_str(&format!("report:     {}\n", path.display()));
    }
    Ok(text)
}

fn document(reduce: &Reduce, found: &CompressedImages) -> Value {
    let shown = |path: &Option<std::path::PathBuf>| path.as_ref().map(|path| path.display().to_string());
    let curve: Vec<Value> =
        found.errors().iter().enumerate().map(|(k, error)| json!({"components": k, "error": error})).collect();
    json!({
        "file": reduce.file.display().to_string(), "model": found.method(), "images": found.len(), "shape": found.shape(),
        "components": found.components(), "errors": curve, "error": found.rmse(),
        "explained_variance_ratio": found.explained(), "bytes": found.bytes(), "pixel_bytes": found.pixel_bytes(),
        "compression_ratio": found.ratio(), "verdict": verdict(found), "warnings": found.model().summary().warnings,
        "output": shown(&reduce.output), "report": shown(&reduce.columns.report),
    })
}

/// The report: the error over the components, images beside what they are rebuilt as, the first components.
fn page(reduce: &Reduce, found: &CompressedImages, images: &Tensor) -> Result<Report, Failure> {
    let mut page = Report::new(format!("Compression of {}", report::file_name(&reduce.file)))
        .subtitle(format!("{}, tove {}", found.method(), env!("CARGO_PKG_VERSION")))
        .card("Images", found.len().to_string())
        .card("Components", found.components().to_string())
        .card("Compression", format!("{:.1}×", found.ratio()))
        .card("Error", format!("{:.4}", found.rmse()))
        .text(verdict(found));
    let places: Vec<f64> = (0..found.errors().len()).map(|k| k as f64).collect();
    let chart = LineChart::new().wide().series("error", &places, found.errors());
    let chart = chart.x_label("components").y_label("root mean squared error of a pixel");
    page = page.section("Error over the number of components").table(&report::table(&error_rows(found)));
    page = page.picture_or_reason(&chart);
    // Images spread over the set; each with its reconstruction to the right of it.
    let count = found.len().min(SHOWN);
    let mut pairs = grid(found).columns(8);
    for place in 0..count {
        let row = place * found.len() / count;
        pairs = pairs.image(&pixels(&images.narrow(0, row, 1)), format!("image {}", row + 1));
        pairs = pairs.image(&pixels(&found.rebuild_range(row, 1)?), "rebuilt");
    }
    page = page.section("Images, each beside what it is rebuilt as").picture_or_reason(&pairs);
    let mut first = grid(found).columns(8);
    let (mean, [channels, height, width]) = (found.model().mean(), found.shape());
    first = first.image(&pixels(&mean.reshape([1, channels, height, width])), "mean");
    let components = found.model().components();
    for k in 0..found.components().min(SHOWN - 1) {
        let one = components.narrow(0, k, 1).reshape([1, channels, height, width]);
        // Zero is gray, the largest weight black or white.
        let most = one.to_f64_vec().into_iter().fold(f64::MIN_POSITIVE, |most, x| most.max(x.abs()));
        first = first.image(&pixels(&(one.to_dtype(DType::F64) * (0.5 / most) + 0.5)), format!("component {}", k + 1));
    }
    Ok(page.section("The mean and the first components").picture_or_reason(&first))
}

fn grid(found: &CompressedImages) -> ImageGrid {
    match found.shape() {
        [3, height, width] => ImageGrid::rgb(width, height),
        [_, height, width] => ImageGrid::grey(width, height),
    }
}

/// An image (1, channels, height, width) for the grid: the channels of a pixel are adjacent.
fn pixels(image: &Tensor) -> Vec<f64> {
    let &[_, channels, height, width] = image.dims() else { return Vec::new() };
    let image = image.reshape([channels, height * width]).permute(&[1, 0]);
    image.to_dtype(DType::F64).to_f64_vec().into_iter().map(|value| value.clamp(0.0, 1.0)).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn listed_numbers_of_components() {
        assert_eq!(super::listed(1), [0, 1]);
        assert_eq!(super::listed(20), [0, 1, 2, 5, 10, 20]);
        assert_eq!(super::listed(64), [0, 1, 2, 5, 10, 20, 50, 64]);
    }
}
