//! Reports: one HTML file with cards, text, tables and pictures, and nothing to fetch from elsewhere.
//!
//! The page follows the reader's choice of light or dark, prints without its details folded, names its parts for
//! readers who do not see it, and forbids by its own policy to load anything.

mod page;
mod table;

use std::fmt::Write as _;
use std::path::Path;

use crate::draw::scene::Scene;
use crate::draw::text::escape;
use crate::draw::theme::Theme;
use crate::error::Result;
use crate::picture::{Picture, write_text};
use tove_tensor::io::WriteOptions;

pub use table::ReportTable;

/// What stands in a report or a folded part of it: text, tables, pictures.
#[derive(Clone, Debug, Default)]
pub struct Body {
    html: String,
}

impl Body {
    /// Adds text; empty lines part paragraphs.
    #[must_use]
    pub fn text(mut self, text: impl AsRef<str>) -> Self {
        let text = text.as_ref().replace("\r\n", "\n");
        for paragraph in text.split("\n\n").filter(|p| !p.trim().is_empty()) {
            let _ = writeln!(self.html, "<p>{}</p>", escape(paragraph.trim()));
        }
        self
    }

    /// Adds text in fixed width, as it is: a log, a configuration.
    #[must_use]
    pub fn preformatted(mut self, text: impl AsRef<str>) -> Self {
        let lines: Vec<String> = text.as_ref().lines().map(escape).collect();
        let _ = writeln!(self.html, "<pre tabindex=\"0\">{}</pre>", lines.join("\n"));
        self
    }

    /// Adds a table.
    #[must_use]
    pub fn table(mut self, table: &ReportTable) -> Self {
        self.html.push_str(&table.to_html());
        self
    }

    /// Adds a picture.
    ///
    /// # Errors
    /// If the picture cannot be drawn.
    pub fn picture(self, picture: &dyn Picture) -> Result<Self> {
        Ok(self.drawn(&picture.scene()?))
    }

    /// Adds a picture, or a sentence with the reason if it cannot be drawn.
    #[must_use]
    pub fn picture_or_reason(self, picture: &dyn Picture) -> Self {
        match picture.scene() {
            Ok(scene) => self.drawn(&scene),
            Err(error) => self.text(format!("A chart is left out: {error}.")),
        }
    }

    /// Adds a drawn picture; pictures that follow each other stand side by side where there is room.
    fn drawn(mut self, scene: &Scene) -> Self {
        const END: &str = "</div>\n";
        if self.html.ends_with("</figure>\n</div>\n") {
            self.html.truncate(self.html.len() - END.len());
        } else {
            self.html.push_str("<div class=\"figures\">\n");
        }
        // pictures with colors of their own carry their style, which would otherwise leak to the others
        if scene.theme == Theme::Auto {
            let _ = writeln!(self.html, "<figure>{}</figure>", scene.svg(false).trim_end());
        } else {
            let data = crate::draw::png::base64(scene.svg(true).as_bytes());
            let name = escape(&scene.name);
            let _ =
                writeln!(self.html, "<figure><img alt=\"{name}\" src=\"data:image/svg+xml;base64,{data}\"></figure>");
        }
        self.html.push_str(END);
        self
    }

    /// Adds a part that is folded until the reader opens it.
    ///
    /// # Errors
    /// If a picture inside cannot be drawn.
    pub fn details(mut self, summary: impl AsRef<str>, inside: impl FnOnce(Body) -> Result<Body>) -> Result<Self> {
        let inside = inside(Body::default())?;
        let summary = escape(summary.as_ref());
        let _ = writeln!(self.html, "<details><summary>{summary}</summary>\n{}</details>", inside.html);
        Ok(self)
    }
}

/// A report under construction.
///
/// ```
/// use tove_plot::{BarChart, Report, ReportTable};
/// let importances = BarChart::new().bar("age", 0.6).bar("income", 0.4).title("Importances");
/// let html = Report::new("Credit model")
///     .subtitle("logistic regression, 1000 samples")
///     .card("accuracy", "0.87")
///     .section("What matters")
///     .text("Age matters most.")
///     .picture(&importances)?
///     .section("Scores")
///     .table(&ReportTable::new(&["part", "accuracy"]).row(&["train", "0.89"]).row(&["test", "0.87"]))
///     .details("Settings", |body| Ok(body.preformatted("penalty = 1.0")))?
///     .data("scores", "{\"test\": 0.87}")
///     .to_html();
/// assert!(html.starts_with("<!doctype html>"));
/// # Ok::<(), tove_plot::PlotError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Report {
    title: String,
    subtitle: String,
    cards: Vec<(String, String, String)>,
    /// The part before the first section has no heading.
    sections: Vec<(String, Body)>,
    data: Vec<(String, String)>,
}

impl Report {
    /// An empty report.
    pub fn new(title: impl Into<String>) -> Self {
        Report {
            title: title.into(),
            subtitle: String::new(),
            cards: Vec::new(),
            sections: vec![(String::new(), Body::default())],
            data: Vec::new(),
        }
    }

    /// A line under the title.
    #[must_use]
    pub fn subtitle(mut self, subtitle: impl Into<String>) -> Self {
        self.subtitle = subtitle.into();
        self
    }

    /// A card at the top: a name and its value.
    #[must_use]
    pub fn card(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.card_with_note(name, value, "")
    }

    /// A card with a small line below the value, for example an interval.
    #[must_use]
    pub fn card_with_note(
        mut self,
        name: impl Into<String>,
        value: impl Into<String>,
        note: impl Into<String>,
    ) -> Self {
        self.cards.push((name.into(), value.into(), note.into()));
        self
    }

    /// Begins a section; what is added next belongs to it.
    #[must_use]
    pub fn section(mut self, title: impl Into<String>) -> Self {
        self.sections.push((title.into(), Body::default()));
        self
    }

    fn body(&mut self) -> Body {
        self.sections.last_mut().map(|s| std::mem::take(&mut s.1)).unwrap_or_default()
    }

    fn put(mut self, body: Body) -> Self {
        if let Some(section) = self.sections.last_mut() {
            section.1 = body;
        }
        self
    }

    /// Adds text to the section; empty lines part paragraphs.
    #[must_use]
    pub fn text(mut self, text: impl AsRef<str>) -> Self {
        let body = self.body().text(text);
        self.put(body)
    }

    /// Adds text in fixed width, as it is.
    #[must_use]
    pub fn preformatted(mut self, text: impl AsRef<str>) -> Self {
        let body = self.body().preformatted(text);
        self.put(body)
    }

    /// Adds a table to the section.
    #[must_use]
    pub fn table(mut self, table: &ReportTable) -> Self {
        let body = self.body().table(table);
        self.put(body)
    }

    /// Adds a picture to the section.
    ///
    /// # Errors
    /// If the picture cannot be drawn.
    pub fn picture(mut self, picture: &dyn Picture) -> Result<Self> {
        let body = self.body().picture(picture)?;
        Ok(self.put(body))
    }

    /// Adds a picture, or a sentence with the reason if it cannot be drawn: for reports that are worth having without it.
    #[must_use]
    pub fn picture_or_reason(mut self, picture: &dyn Picture) -> Self {
        let body = self.body().picture_or_reason(picture);
        self.put(body)
    }

    /// Adds a part that is folded until the reader opens it.
    ///
    /// # Errors
    /// If a picture inside cannot be drawn.
    pub fn details(mut self, summary: impl AsRef<str>, inside: impl FnOnce(Body) -> Result<Body>) -> Result<Self> {
        let body = self.body().details(summary, inside)?;
        Ok(self.put(body))
    }

    /// Adds data for programs: JSON text, found in the page as `<script type="application/json" id="NAME">`.
    #[must_use]
    pub fn data(mut self, name: impl Into<String>, json: impl Into<String>) -> Self {
        self.data.push((name.into(), json.into()));
        self
    }

    /// The whole page.
    pub fn to_html(&self) -> String {
        page::page(self)
    }

    /// Writes the page, whole or not at all; an existing file only with [`WriteOptions::overwriting`].
    ///
    /// # Errors
    /// If the file exists or cannot be written.
    pub fn save(&self, path: impl AsRef<Path>, options: WriteOptions) -> Result<()> {
        write_text(path.as_ref(), options, &self.to_html())
    }
}
