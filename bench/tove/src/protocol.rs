//! JSON lines in, JSON lines out: `hello`, `setup`, `measure`, `curve`. A message that cannot be served gets an answer with an
//! `error`; the program goes on.

use std::io::{BufRead, Write};
use std::time::Duration;

use serde_json::{Value, json};

use crate::workload::{self, Workload};
use crate::{curve, memory, timing};

struct Ready {
    workload: Box<dyn Workload>,
    quality: f64,
    /// Steps that make a batch.
    count: usize,
}

/// Answers messages until the input ends.
pub fn serve(input: impl BufRead, mut output: impl Write) -> std::io::Result<()> {
    let mut ready = None;
    for line in input.lines() {
        let answer = answer(&line?, &mut ready).unwrap_or_else(|error| json!({ "ok": false, "error": error }));
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
    Ok(())
}

fn answer(line: &str, ready: &mut Option<Ready>) -> Result<Value, String> {
    let message: Value = serde_json::from_str(line).map_err(|error| format!("not JSON: {error}"))?;
    match message["cmd"].as_str() {
        Some("hello") => Ok(json!({ "ok": true, "versions": { "tove": env!("CARGO_PKG_VERSION") } })),
        Some("setup") => setup(&message, ready),
        Some("measure") => measure(&message, ready.as_mut().ok_or("measure before a successful setup")?),
        Some("curve") => draw(&message),
        _ => Err(format!("unknown command in {line}")),
    }
}

/// The number of threads is the environment's (`TOVE_NUM_THREADS`), set when the program was started.
fn setup(message: &Value, ready: &mut Option<Ready>) -> Result<Value, String> {
    *ready = None;
    memory::reset_peak();
    let id = message["workload"].as_str().ok_or("setup without a workload")?;
    let Some(mut workload) = workload::make(id, &message["parameters"])? else {
        return Ok(json!({ "ok": true, "absent": true }));
    };
    let quality = workload.quality();
    let count = timing::warm_up(workload.as_mut());
    *ready = Some(Ready { workload, quality, count });
    Ok(json!({ "ok": true }))
}

fn draw(message: &Value) -> Result<Value, String> {
    let id = message["workload"].as_str().ok_or("curve without a workload")?;
    let steps = workload::number(message, "steps")?;
    let strength = message["strength"].as_f64().ok_or("curve without a strength")?;
    let losses = curve::losses(id, &message["parameters"], steps, strength)?;
    Ok(json!({ "ok": true, "losses": losses }))
}

fn measure(message: &Value, ready: &mut Ready) -> Result<Value, String> {
    let seconds = message["seconds"].as_f64().ok_or("measure without seconds")?;
    let length = Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())?;
    let times = timing::measure(ready.workload.as_mut(), ready.count, length);
    Ok(json!({
        "ok": true,
        "best_s": times.best,
        "median_s": times.median,
        "quality": ready.quality,
        "rss_mb": memory::peak_mb(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn talk(lines: &str) -> Vec<Value> {
        let mut output = Vec::new();
        serve(lines.as_bytes(), &mut output).expect("memory does not fail");
        let text = String::from_utf8(output).expect("JSON is text");
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    #[test]
    fn a_whole_conversation() {
        let answers = talk(concat!(
            "{\"cmd\":\"hello\"}\n",
            "{\"cmd\":\"setup\",\"workload\":\"selftest\",\"parameters\":{\"elements\":1000},\"threads\":1}\n",
            "{\"cmd\":\"measure\",\"seconds\":0.002}\n",
        ));
        assert!(answers.iter().all(|answer| answer["ok"] == true), "{answers:?}");
        assert!(answers[2]["best_s"].as_f64() > Some(0.0));
        assert!(answers[2]["best_s"].as_f64() <= answers[2]["median_s"].as_f64());
        assert!(answers[2]["quality"].as_f64() > Some(0.5));
    }

    #[test]
    fn mistakes_are_answered_and_do_not_end_the_conversation() {
        let answers = talk(concat!(
            "nonsense\n",
            "{\"cmd\":\"measure\",\"seconds\":1}\n",
            "{\"cmd\":\"setup\",\"workload\":\"selftest\",\"parameters\":{}}\n",
            "{\"cmd\":\"setup\",\"workload\":\"W999\",\"parameters\":{}}\n",
        ));
        assert!(answers[..3].iter().all(|answer| answer["ok"] == false), "{answers:?}");
        assert_eq!(answers[3]["absent"], true);
    }
}
