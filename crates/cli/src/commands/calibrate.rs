//! `tove calibrate`: probabilities that match frequencies.

use serde_json::json;
use tove::audit::usual_calibration;
use tove::learn::calibration::{CalibrationMethod, CalibrationVerdict};
use tove::optim::settings::Choice;

use crate::arguments::Calibrate;
use crate::commands::conformal::{held_out, options, warn_if_fitted_on};
use crate::failure::Failure;
use crate::files;
use crate::output::{Output, paragraph};
use crate::tables;

pub fn run(calibrate: &Calibrate, output: &Output) -> Result<(), Failure> {
    files::read_once(&[&calibrate.model, &calibrate.file])?;
    files::model_name(&calibrate.output)?;
    files::may_write(&calibrate.output, calibrate.overwrite, &[&calibrate.model, &calibrate.file])?;
    let named = method(&calibrate.method)?;
    let model = tables::with_target(&calibrate.model, tables::model(&calibrate.model)?)?;
    let data = held_out(&model, &calibrate.file, &calibrate.reading, output)?;
    warn_if_fitted_on(&model, &data, &calibrate.file, output)?;
    if !model.safeguards().is_empty() {
        output.remark("warning: prediction sets and decisions by groups belong to the old probabilities and are left out; add them again");
    }
    let method = named.unwrap_or_else(|| usual_calibration(data.n_rows() / 2, model.classes().len()));
    let failed = |error| tables::failed(&calibrate.file, data.names(), error);
    let (model, check) = model.calibrated(&data, method, calibrate.seed).map_err(failed)?;
    model.save(&calibrate.output, options(calibrate.overwrite))?;
    let file = calibrate.output.display().to_string();
    let verdict = match check.verdict() {
        CalibrationVerdict::Passed => "The check was passed: the model counts as calibrated.",
        CalibrationVerdict::Failed => {
            "The check was not passed: the probabilities still differ from frequencies, so the model does not count as calibrated. \
             Try another --method, or more rows."
        }
        CalibrationVerdict::TooFew => "There are too few rows for a check, so the model does not count as calibrated.",
    };
    let before = check.ece_before.as_ref();
    output.result(
        || {
            let error =
                |score: &tove::metrics::Score| format!("{:.4} [{:.4}, {:.4}]", score.value, score.low, score.high);
            let mut text = format!("{file}: probabilities by {} calibration. ", method.name());
            match before {
                Some(before) => text.push_str(&format!(
                    "On the {} rows that did not fit the map, the expected calibration error went from {} to {}",
                    check.samples,
                    error(before),
                    error(&check.ece_after)
                )),
                None => text.push_str(&format!(
                    "On the {} rows that did not fit the map, the expected calibration error is {}",
                    check.samples,
                    error(&check.ece_after)
                )),
            }
            if let Some(loss) = check.log_loss_before {
                text.push_str(&format!(", the log loss from {loss:.4} to {:.4}", check.log_loss_after));
            }
            let rose = check.log_loss_before.is_some_and(|loss| check.log_loss_after > loss);
            let worse = " The log loss rose: on these rows the old probabilities are better. Keep the old model, or give more rows.";
            paragraph(&format!("{text}. {verdict}{}", if rose { worse } else { "" }))
        },
        || {
            json!({
                "file": file, "method": method.name(), "rows": check.samples, "passed": check.passed(),
                "ece_before": before.map(|score| score.value), "ece": check.ece_after.value,
                "log_loss_before": check.log_loss_before, "log_loss": check.log_loss_after, "p_value": check.p_value,
            })
        },
    )
}

fn method(name: &str) -> Result<Option<CalibrationMethod>, Failure> {
    if name == "auto" {
        return Ok(None);
    }
    let found = CalibrationMethod::from_name(&name.replace('-', "_"));
    found.map(Some).ok_or_else(|| {
        let names: Vec<String> = CalibrationMethod::NAMES.iter().map(|name| name.replace('_', "-")).collect();
        Failure::usage(format!("--method {name}: there are auto, {}", names.join(", ")))
    })
}
