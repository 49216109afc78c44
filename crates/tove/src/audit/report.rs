//! The result of an audit, as JSON and as a page.

use serde_json::{Value, json};
use tove_plot::Report;

use super::{Audit, AuditSection, AuditSubject, AuditVerdict};
use crate::tabular::TabularModel;

/// What an audit found.
pub struct AuditReport {
    name: String,
    target: String,
    rows: usize,
    dropped: usize,
    seed: u64,
    alpha: f64,
    fitted_on: Option<bool>,
    sections: Vec<AuditSection>,
}

impl AuditReport {
    pub(super) fn new(audit: &Audit, subject: &AuditSubject, sections: Vec<AuditSection>) -> AuditReport {
        AuditReport {
            name: subject.name.clone(),
            target: subject.target.clone(),
            rows: subject.rows(),
            dropped: subject.dropped,
            seed: audit.seed,
            alpha: audit.alpha,
            fitted_on: subject.fitted_on,
            sections,
        }
    }

    /// The report of a comparison with training rows only.
    pub(super) fn of_drift(audit: &Audit, model: &TabularModel, rows: usize, section: AuditSection) -> AuditReport {
        AuditReport {
            name: model.model().name().to_owned(),
            target: model.target().to_owned(),
            rows,
            dropped: 0,
            seed: audit.seed,
            alpha: audit.alpha,
            fitted_on: Some(false),
            sections: vec![section],
        }
    }

    /// The sections in the order in which they were checked.
    pub fn sections(&self) -> &[AuditSection] {
        &self.sections
    }

    /// The worst verdict of all sections that were checked.
    pub fn verdict(&self) -> AuditVerdict {
        let has = |verdict| self.sections.iter().any(|section| section.verdict == verdict);
        let order = [AuditVerdict::Failed, AuditVerdict::Warning, AuditVerdict::Passed];
        order.into_iter().find(|verdict| has(*verdict)).unwrap_or(AuditVerdict::NotChecked)
    }

    /// What was audited, in a sentence.
    pub fn subject(&self) -> String {
        let mut text = format!("Audit of {} for {} on {}.", self.name, self.target, counted(self.rows));
        if self.dropped > 0 {
            let rows = if self.dropped == 1 { "row without a target was" } else { "rows without a target were" };
            text.push_str(&format!(" {} {rows} left out.", self.dropped));
        }
        text
    }

    /// Why the whole audit may be too optimistic.
    pub fn warning(&self) -> Option<&'static str> {
        match self.fitted_on {
            Some(false) => None,
            Some(true) => Some(
                "Warning: the model was fitted on rows of this table, so everything said here is too optimistic; audit it on rows that \
                 were not used for fitting.",
            ),
            None => Some(
                "Note: it is not known whether the model was fitted on this data. If it was, everything said here is too optimistic.",
            ),
        }
    }

    /// As JSON: verdict, statement, assumptions and figures of each section by its name.
    pub fn document(&self) -> Value {
        let sections = self.sections.iter().map(|section| (section.name.to_owned(), section.document())).collect();
        json!({
            "model": self.name, "target": self.target, "rows": self.rows, "dropped": self.dropped, "seed": self.seed,
            "alpha": self.alpha, "fitted_on": self.fitted_on, "verdict": self.verdict().name(),
            "sections": Value::Object(sections),
        })
    }

    /// As a page: the verdicts first, then a section with charts for each.
    pub fn page(&self) -> Report {
        let title = format!("Audit of {} for {}", self.name, self.target);
        let mut page = Report::new(title).subtitle(format!("{} rows, tove {}", self.rows, env!("CARGO_PKG_VERSION")));
        for section in &self.sections {
            page = page.card(capital(section.name), section.verdict.name());
        }
        if let Some(warning) = self.warning() {
            page = page.text(warning);
        }
        for section in &self.sections {
            page = page.text(format!("{}: {}", capital(section.name), section.statement));
        }
        for section in &self.sections {
            page = section.on_page(page.section(capital(section.name)));
        }
        page.data("audit", self.document().to_string())
    }
}

/// A number of rows.
fn counted(rows: usize) -> String {
    format!("{rows} {}", if rows == 1 { "row" } else { "rows" })
}

/// A name with a capital.
fn capital(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
