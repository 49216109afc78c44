//! The progress of a fit.

use indicatif::{HumanCount, ProgressBar, ProgressStyle};
use tove::tabular::Event;

use crate::output::Output;

/// A line that says what is being done; nothing where nobody looks.
pub struct Progress<'a> {
    bar: ProgressBar,
    output: &'a Output,
}

impl<'a> Progress<'a> {
    pub fn new(output: &'a Output) -> Progress<'a> {
        let bar = if output.is_quiet() {
            ProgressBar::hidden()
        } else {
            let style = ProgressStyle::with_template("{spinner} {msg:40} {bar:30} {pos}/{len} {elapsed}");
            ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        };
        Progress { bar, output }
    }

    /// Says what is being done.
    pub fn say(&self, text: &str) {
        self.bar.set_message(text.to_owned());
        self.bar.tick();
    }

    pub fn watch(&self, event: &Event) {
        match event {
            Event::Fitting { candidate, rows, done, total } => {
                self.bar.set_length(*total as u64 + 1);
                self.bar.set_position(*done as u64);
                self.bar.set_message(format!("{candidate}, {} rows", HumanCount(*rows as u64)));
            }
            Event::Interrupted => self.bar.suspend(|| {
                self.output.remark(
                    "interrupted: the best model so far is evaluated and saved; press Ctrl-C again to exit immediately",
                );
            }),
            Event::Refitting { candidate, rows } => {
                self.bar.set_message(format!("last fit: {candidate}, {} rows", HumanCount(*rows as u64)));
            }
            Event::Pass { purpose, rows } => {
                self.bar.set_message(format!("{purpose}, {} rows", HumanCount(*rows as u64)));
                self.bar.tick();
            }
        }
    }

    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}
