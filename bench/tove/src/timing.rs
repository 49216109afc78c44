//! Times a workload in batches long enough for the clock; `bench/peers/serve.py` does the same.

use std::time::{Duration, Instant};

use crate::workload::Workload;

const BATCH: Duration = Duration::from_millis(1);
const WARM_UP: Duration = Duration::from_millis(100);

/// Seconds of one step.
pub struct Times {
    pub best: f64,
    pub median: f64,
}

fn timed(workload: &mut dyn Workload, count: usize) -> Duration {
    let start = Instant::now();
    for _ in 0..count {
        workload.step();
    }
    start.elapsed()
}

/// Runs for a moment and returns how many steps make a batch.
pub fn warm_up(workload: &mut dyn Workload) -> usize {
    let (mut count, mut spent) = (1, Duration::ZERO);
    loop {
        let time = timed(workload, count);
        spent += time;
        if time < BATCH {
            count *= 2;
        } else if spent >= WARM_UP {
            return count;
        }
    }
}

/// Best and median over as many batches as fit, at least one.
pub fn measure(workload: &mut dyn Workload, count: usize, length: Duration) -> Times {
    let end = Instant::now() + length;
    let mut times = vec![timed(workload, count)];
    while Instant::now() < end {
        times.push(timed(workload, count));
    }
    summary(times, count)
}

fn summary(mut times: Vec<Duration>, count: usize) -> Times {
    times.sort_unstable();
    let step = |index: usize| times[index].as_secs_f64() / count as f64;
    let (low, high) = ((times.len() - 1) / 2, times.len() / 2);
    Times { best: step(0), median: (step(low) + step(high)) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn best_and_median_are_per_step() {
        let times = |seconds: &[u64]| summary(seconds.iter().map(|&value| Duration::from_secs(value)).collect(), 2);
        assert_eq!((times(&[6, 2, 8]).best, times(&[6, 2, 8]).median), (1.0, 3.0));
        assert_eq!(times(&[6, 2]).median, 2.0);
    }
}
