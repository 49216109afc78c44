//! Images in a grid, with their predictions.
//!
//! Pixels are embedded as PNG. A correct prediction has a tick, a wrong one a cross, another color and a heavier frame.

use crate::draw::frame::{Entry, Frame, Sign, frame_methods, left_out};
use crate::draw::png::{base64, png};
use crate::draw::scene::{Anchor, Area, Scene, TICK};
use crate::error::{PlotError, Result};
use crate::picture::Picture;

const WHAT: &str = "image grid";

#[derive(Clone, Debug)]
enum Words {
    Plain(String),
    Answer { predicted: String, truth: String },
}

/// A grid of small images with captions or predictions.
///
/// ```
/// use tove_plot::{ImageGrid, Picture};
/// let grid = ImageGrid::grey(2, 2)
///     .prediction(&[0.0, 0.5, 0.5, 1.0], "7", "7")
///     .prediction(&[1.0, 0.5, 0.5, 0.0], "4", "9")
///     .columns(2);
/// assert!(grid.to_svg()?.contains("✗ 4, true 9"));
/// # Ok::<(), tove_plot::PlotError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ImageGrid {
    frame: Frame,
    width: usize,
    height: usize,
    channels: usize,
    images: Vec<(Vec<f64>, Words)>,
    columns: usize,
    cell: f64,
}

impl ImageGrid {
    fn new(width: usize, height: usize, channels: usize) -> Self {
        ImageGrid { frame: Frame::default(), width, height, channels, images: Vec::new(), columns: 8, cell: 72.0 }
    }

    /// Grey images: `width * height` brightnesses between 0 (black) and 1 (white), row by row.
    pub fn grey(width: usize, height: usize) -> Self {
        Self::new(width, height, 1)
    }

    /// Color images: red, green and blue of each pixel together, row by row, between 0 and 1.
    pub fn rgb(width: usize, height: usize) -> Self {
        Self::new(width, height, 3)
    }

    /// Adds an image with a caption.
    #[must_use]
    pub fn image(mut self, pixels: &[f64], caption: impl Into<String>) -> Self {
        self.images.push((pixels.to_vec(), Words::Plain(caption.into())));
        self
    }

    /// Adds an image with the model's answer and the truth.
    #[must_use]
    pub fn prediction(mut self, pixels: &[f64], predicted: impl Into<String>, truth: impl Into<String>) -> Self {
        self.images.push((pixels.to_vec(), Words::Answer { predicted: predicted.into(), truth: truth.into() }));
        self
    }

    /// Images per row (8 unless told otherwise).
    #[must_use]
    pub fn columns(mut self, columns: usize) -> Self {
        self.columns = columns;
        self
    }

    /// The width of an image in the picture, in pixels (72 unless told otherwise).
    #[must_use]
    pub fn cell(mut self, pixels: f64) -> Self {
        self.cell = pixels;
        self
    }

    frame_methods!();

    fn check(&self) -> Result<()> {
        if self.images.is_empty() || self.width == 0 || self.height == 0 {
            return Err(PlotError::Empty { what: WHAT, missing: "image with a pixel" });
        }
        if self.columns == 0 || !(16.0..=1000.0).contains(&self.cell) || self.width.max(self.height) > 4096 {
            let problem = "columns from 1, cells from 16 to 1000 pixels and images up to 4096 × 4096 are possible";
            return Err(PlotError::parameter(WHAT, problem));
        }
        let expected = self.width * self.height * self.channels;
        match self.images.iter().position(|i| i.0.len() != expected) {
            None => Ok(()),
            Some(i) => {
                let found = self.images[i].0.len();
                let problem = format!("image {i} has {found} values; {expected} are needed");
                Err(PlotError::Lengths { what: WHAT, problem })
            }
        }
    }

    fn draw_image(&self, scene: &mut Scene, place: Area, pixels: &[f64], words: &Words) {
        let bytes: Vec<u8> = pixels.iter().map(|p| (p.clamp(0.0, 1.0) * 255.0).round() as u8).collect();
        let data = base64(&png(self.width, self.height, self.channels, &bytes));
        let (line, class, text) = match words {
            Words::Plain(text) => ("axis", "", text.clone()),
            Words::Answer { predicted, truth } if predicted == truth => ("goodline", "good", format!("✓ {predicted}")),
            Words::Answer { predicted, truth } => ("badline", "bad", format!("✗ {predicted}, true {truth}")),
        };
        let image = scene.tag("image").number("x", place.x).number("y", place.y);
        let image = image.number("width", place.width).number("height", place.height).text("class", "mark");
        image.text("preserveAspectRatio", "none").text("href", &format!("data:image/png;base64,{data}")).tip(&text);
        let width = if class == "bad" { "3" } else { "1.2" };
        scene.rect(place, line).text("stroke-width", width).end();
        let at = (place.x + place.width / 2.0, place.bottom() + 14.0);
        scene.fitted(at, Anchor::Middle, TICK, class, &text, place.width + 8.0);
    }
}

impl Picture for ImageGrid {
    fn scene(&self) -> Result<Scene> {
        self.check()?;
        let unknown = self.images.iter().flat_map(|i| &i.0).filter(|p| p.is_nan()).count();
        let mut notes: Vec<_> = left_out(unknown, "pixel", "not a number, shown black").into_iter().collect();
        let answers = self.images.iter().filter_map(|i| match &i.1 {
            Words::Answer { predicted, truth } => Some(predicted == truth),
            Words::Plain(_) => None,
        });
        let answers: Vec<bool> = answers.collect();
        let right = answers.iter().filter(|a| **a).count();
        let mut legend = Vec::new();
        if !answers.is_empty() {
            notes.insert(0, format!("{right} of {} correct.", answers.len()));
            legend = vec![Entry::new(Sign::Patch("good"), "✓ correct"), Entry::new(Sign::Patch("bad"), "✗ wrong")];
        }
        let columns = self.columns.min(self.images.len());
        let rows = self.images.len().div_ceil(columns) as f64;
        let (cell, image) = (self.cell, self.cell * self.height as f64 / self.width as f64);
        let (step, line) = (cell + 12.0, image + 24.0);
        let size = ((columns as f64 * step + 28.0).max(260.0), 100.0);
        let kind = format!("grid of {} images, {right} of {} predictions correct", self.images.len(), answers.len());
        let frame = Frame { size: Some(size), ..self.frame.clone() };
        let (mut scene, area) = frame.canvas(WHAT, &kind, size, rows * line + 6.0, &legend, &notes)?;
        for (i, (pixels, words)) in self.images.iter().enumerate() {
            let (row, column) = ((i / columns) as f64, (i % columns) as f64);
            let place =
                Area { x: area.x + 4.0 + column * step, y: area.y + 4.0 + row * line, width: cell, height: image };
            self.draw_image(&mut scene, place, pixels, words);
        }
        Ok(scene)
    }
}
