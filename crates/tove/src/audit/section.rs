//! What an audit says: a verdict and a sentence first, then figures, charts and the assumptions behind them.

use serde_json::{Value, json};
use tove_plot::{Picture, Report, ReportTable};

/// How a section ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditVerdict {
    /// Nothing speaks against the model.
    Passed,
    /// There is something to know before the model is used.
    Warning,
    /// The model should not be used like this.
    Failed,
    /// The check could not be made; the statement says why.
    NotChecked,
}

impl AuditVerdict {
    /// One word for it.
    pub fn name(self) -> &'static str {
        match self {
            AuditVerdict::Passed => "ok",
            AuditVerdict::Warning => "warning",
            AuditVerdict::Failed => "problem",
            AuditVerdict::NotChecked => "not checked",
        }
    }
}

/// A table of figures with a title; the first row is the header.
#[derive(Clone, Debug)]
pub struct AuditTable {
    /// What the figures are.
    pub title: String,
    /// Header and rows.
    pub rows: Vec<Vec<String>>,
}

/// One part of an audit.
pub struct AuditSection {
    /// Its name, such as `calibration`; also its key in the JSON document.
    pub name: &'static str,
    /// How it ended.
    pub verdict: AuditVerdict,
    /// The verdict in plain language.
    pub statement: String,
    /// What to do about it, if something is to be done.
    pub advice: Option<String>,
    /// What the statement assumes.
    pub assumptions: Vec<String>,
    /// The figures.
    pub tables: Vec<AuditTable>,
    /// The charts.
    pub charts: Vec<Box<dyn Picture>>,
    /// The figures for programs.
    pub figures: Value,
}

impl AuditSection {
    /// A section with a verdict and a statement.
    pub fn new(name: &'static str, verdict: AuditVerdict, statement: impl Into<String>) -> AuditSection {
        AuditSection {
            name,
            verdict,
            statement: statement.into(),
            advice: None,
            assumptions: Vec::new(),
            tables: Vec::new(),
            charts: Vec::new(),
            figures: Value::Null,
        }
    }

    /// A check that could not be made.
    pub fn not_checked(name: &'static str, reason: impl Into<String>) -> AuditSection {
        AuditSection::new(name, AuditVerdict::NotChecked, reason)
    }

    /// With what to do.
    #[must_use]
    pub fn advice(mut self, advice: impl Into<String>) -> AuditSection {
        self.advice = Some(advice.into());
        self
    }

    /// With one more assumption.
    #[must_use]
    pub fn assuming(mut self, assumption: impl Into<String>) -> AuditSection {
        self.assumptions.push(assumption.into());
        self
    }

    /// With one more table, the header first.
    #[must_use]
    pub fn table(mut self, title: impl Into<String>, rows: Vec<Vec<String>>) -> AuditSection {
        self.tables.push(AuditTable { title: title.into(), rows });
        self
    }

    /// With one more chart.
    #[must_use]
    pub fn chart(mut self, chart: impl Picture + 'static) -> AuditSection {
        self.charts.push(Box::new(chart));
        self
    }

    /// With the figures for programs.
    #[must_use]
    pub fn figures(mut self, figures: Value) -> AuditSection {
        self.figures = figures;
        self
    }

    /// As JSON.
    pub fn document(&self) -> Value {
        json!({
            "verdict": self.verdict.name(), "statement": self.statement, "advice": self.advice,
            "assumptions": self.assumptions, "figures": self.figures,
        })
    }

    /// Adds what the section says to a page.
    pub(super) fn on_page(&self, page: Report) -> Report {
        let mut page = page.text(&self.statement);
        if let Some(advice) = &self.advice {
            page = page.text(advice);
        }
        for chart in &self.charts {
            page = page.picture_or_reason(&**chart);
        }
        for table in &self.tables {
            let head = table.rows.first().cloned().unwrap_or_default();
            let rows = table.rows.iter().skip(1).fold(ReportTable::new(&head), |table, row| table.row(row));
            page = page.text(&table.title).table(&rows);
        }
        if self.assumptions.is_empty() { page } else { page.text(self.assumption()) }
    }

    /// The assumptions as a paragraph; empty if there are none.
    pub fn assumption(&self) -> String {
        if self.assumptions.is_empty() { String::new() } else { format!("Assumptions: {}", self.assumptions.join(" ")) }
    }
}
