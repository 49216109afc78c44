//! Counters in the text format that Prometheus reads.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Upper ends of the classes of latency, in seconds.
const ENDS: [f64; 10] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.5];

/// Upper ends of the classes of batches, in rows.
const SIZES: [usize; 6] = [1, 4, 16, 64, 256, 1024];

#[derive(Default)]
struct Counts {
    requests: BTreeMap<u16, u64>,
    rows: u64,
    seconds: f64,
    classes: [u64; ENDS.len()],
    batches: u64,
    batch_rows: u64,
    sizes: [u64; SIZES.len()],
    /// Requests that were not alone in their batch.
    joined: u64,
}

/// Requests by status, rows predicted, latency, batches.
pub struct Counters {
    start: Instant,
    counts: Mutex<Counts>,
}

impl Default for Counters {
    fn default() -> Counters {
        Counters { start: Instant::now(), counts: Mutex::default() }
    }
}

impl Counters {
    /// Counts a request to predict.
    pub fn count(&self, status: u16, rows: usize, time: Duration) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.requests.entry(status).or_default() += 1;
        counts.rows += rows as u64;
        let seconds = time.as_secs_f64();
        counts.seconds += seconds;
        for (class, end) in counts.classes.iter_mut().zip(ENDS) {
            *class += u64::from(seconds <= end);
        }
    }

    /// Counts a batch that the model is asked for.
    pub fn batch(&self, requests: usize, rows: usize) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.batches += 1;
        counts.batch_rows += rows as u64;
        counts.joined += if requests > 1 { requests as u64 } else { 0 };
        for (class, end) in counts.sizes.iter_mut().zip(SIZES) {
            *class += u64::from(rows <= end);
        }
    }

    /// All counters as text.
    pub fn text(&self) -> String {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::from("# TYPE tove_predict_requests_total counter\n");
        // Writing to a string cannot fail.
        for (status, count) in &counts.requests {
            let _ = writeln!(text, "tove_predict_requests_total{{status=\"{status}\"}} {count}");
        }
        let _ = writeln!(text, "# TYPE tove_rows_total counter\ntove_rows_total {}", counts.rows);
        let _ = writeln!(text, "# TYPE tove_predict_seconds histogram");
        for (end, count) in ENDS.iter().zip(counts.classes) {
            let _ = writeln!(text, "tove_predict_seconds_bucket{{le=\"{end}\"}} {count}");
        }
        let all: u64 = counts.requests.values().sum();
        let _ = writeln!(text, "tove_predict_seconds_bucket{{le=\"+Inf\"}} {all}");
        let _ = writeln!(text, "tove_predict_seconds_sum {}\ntove_predict_seconds_count {all}", counts.seconds);
        let (batches, rows, joined) = (counts.batches, counts.batch_rows, counts.joined);
        let _ = writeln!(text, "# TYPE tove_batches_total counter\ntove_batches_total {batches}");
        let _ = writeln!(text, "# TYPE tove_joined_requests_total counter\ntove_joined_requests_total {joined}");
        let _ = writeln!(text, "# TYPE tove_batch_rows histogram");
        for (end, count) in SIZES.iter().zip(counts.sizes) {
            let _ = writeln!(text, "tove_batch_rows_bucket{{le=\"{end}\"}} {count}");
        }
        let _ = writeln!(text, "tove_batch_rows_bucket{{le=\"+Inf\"}} {batches}");
        let _ = writeln!(text, "tove_batch_rows_sum {rows}\ntove_batch_rows_count {batches}");
        let uptime = self.start.elapsed().as_secs_f64();
        let _ = writeln!(text, "# TYPE tove_uptime_seconds gauge\ntove_uptime_seconds {uptime:.3}");
        text
    }
}
