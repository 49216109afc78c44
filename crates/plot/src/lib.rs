//! Pictures of models and data: SVG for reports, web page and book, plain text for the terminal, and reports as one
//! HTML file.
//!
//! Every picture is a struct with builder methods and the trait [`Picture`]: [`Picture::to_svg`] gives one document
//! with its style inside, [`Picture::save`] writes it whole or not at all.
//!
//! | picture | shows |
//! |---|---|
//! | [`LineChart`] | losses, learning curves, bands, logarithmic axes |
//! | [`ScatterChart`], [`ResidualChart`] | points in groups; residuals with the zero line |
//! | [`ConfusionChart`] | counts and row percentages |
//! | [`RocChart`], [`PrecisionRecallChart`] | curves of rankings with the chance line |
//! | [`ReliabilityChart`] | calibration with counts and ECE |
//! | [`BarChart`] | coefficients and importances with whiskers |
//! | [`Histogram`] | distributions |
//! | [`DecisionMap`] | regions of two features, points, weight vectors, boundaries |
//! | [`ContourMap`] | a function of two variables, paths and arrows |
//! | [`ImageGrid`] | images with predictions, right and wrong |
//! | [`HeatMap`] | matrices, correlations, attention |
//! | [`TemperatureChart`] | softmax at several temperatures |
//! | [`ScoreChart`] | cross-validation scores as boxes and points |
//! | [`DependenceChart`] | partial dependence with single samples |
//! | [`terminal`] | lines and bars as plain text |
//! | [`Report`] | one self-contained HTML file |
//!
//! **Why SVG is written here by hand.** `plotters` writes colors as plain attributes on every element, so a picture
//! cannot follow the reader's choice of light or dark, and it has no tooltips, markers with dashes in the legend, or roles
//! for readers who do not see. A small layer (areas, axes, legend, text with estimated widths) costs less than working
//! around that, and gives bytes that depend on nothing but the data.
//!
//! **What all pictures promise.** The same data give the same bytes. Text is escaped; long names are cut and kept whole
//! as tooltips. Values that are not finite (or not positive on a logarithmic axis, or beyond 1e250) are left out and
//! counted in a note below the picture; if none is left, that is an error. Series differ by dash and marker as well as
//! by a palette for all kinds of color vision. Light and dark follow `prefers-color-scheme`, or `data-theme`
//! on the page.
//!
//! ```
//! use tove_plot::{LineChart, Picture, Report};
//! let curve = LineChart::losses(&[1.0, 0.6, 0.5], Some(&[1.1, 0.8, 0.7])).title("Loss");
//! let html = Report::new("Run 7").card("accuracy", "0.93").section("Training").picture(&curve)?.to_html();
//! assert!(html.contains("<svg") && !html.contains("http://cdn"));
//! # Ok::<(), tove_plot::PlotError>(())
//! ```

pub mod chart;
mod draw;
mod error;
mod picture;
mod quantile;
pub mod report;
pub mod terminal;

pub use chart::bars::BarChart;
pub use chart::contour::ContourMap;
pub use chart::curves::{PrecisionRecallChart, RocChart};
pub use chart::decision::{DecisionMap, PlaneSegment};
pub use chart::dependence::DependenceChart;
pub use chart::heat::{ConfusionChart, HeatMap};
pub use chart::histogram::Histogram;
pub use chart::images::ImageGrid;
pub use chart::line::LineChart;
pub use chart::reliability::{ReliabilityBin, ReliabilityChart};
pub use chart::scatter::{ResidualChart, ScatterChart};
pub use chart::scores::ScoreChart;
pub use chart::temperature::TemperatureChart;
pub use draw::number::short_number;
pub use draw::scene::Scene;
pub use draw::text::{escape, text_width};
pub use draw::theme::Theme;
pub use error::{PlotError, Result};
pub use picture::Picture;
pub use report::{Report, ReportTable};
pub use tove_tensor::io::WriteOptions;

/// The style sheet of all pictures, for pages that hold many of them without their own (see [`Scene::svg`]).
///
/// ```
/// assert!(tove_plot::style_sheet(tove_plot::Theme::Auto).contains("prefers-color-scheme"));
/// ```
pub fn style_sheet(theme: Theme) -> String {
    draw::theme::style_sheet(theme)
}
