//! Memory estimates before large allocations.
//!
//! Some results are much larger than their inputs: polynomial features, dense one-hot encodings, kernel matrices. Their
//! size is estimated before the allocation. A result that does not fit is an error that names the size; otherwise the
//! system might kill the process. Sizes up to 64 MB are never refused.
//!
//! The limit is the memory that the system reports as available (`MemAvailable` on Linux, and what remains of the
//! cgroup limit), or 16 GB if it reports nothing. [`set_limit`] overrides it.
//!
//! ```
//! use tove_learn::{LearnError, memory};
//! memory::set_limit(Some(1_000_000));
//! let error = memory::require("Example", "a matrix of 10000 x 10000 numbers", 800_000_000, "choose fewer rows").unwrap_err();
//! assert!(matches!(error, LearnError::Memory { .. }));
//! assert!(error.to_string().contains("needs 800 MB of memory"));
//! memory::set_limit(None);
//! ```

use std::sync::atomic::{AtomicU64, Ordering};

use crate::{LearnError, Result};

/// Marks that no limit was set.
const UNSET: u64 = u64::MAX;
/// Assumed if the system does not report the available memory.
const ASSUMED: u64 = 16_000_000_000;
/// Below this size the system is not queried.
const SMALL: u64 = 64_000_000;

static LIMIT: AtomicU64 = AtomicU64::new(UNSET);

/// Sets the memory limit of a single result in bytes; `None` restores the default, the available memory. Sizes up to 64
/// MB are allowed unless the limit is smaller.
pub fn set_limit(bytes: Option<u64>) {
    LIMIT.store(bytes.unwrap_or(UNSET), Ordering::Relaxed);
}

/// The current memory limit of a single result in bytes.
pub fn limit() -> u64 {
    match LIMIT.load(Ordering::Relaxed) {
        UNSET => available(),
        bytes => bytes,
    }
}

/// Returns an error unless this many bytes may be allocated.
pub fn require(who: &'static str, what: impl Into<String>, bytes: u64, fix: &'static str) -> Result<()> {
    require_with(who, || what.into(), bytes, fix)
}

/// Like [`require`], with a description that is only built for the error.
pub(crate) fn require_with(
    who: &'static str,
    what: impl FnOnce() -> String,
    bytes: u64,
    fix: &'static str,
) -> Result<()> {
    if LIMIT.load(Ordering::Relaxed) == UNSET && bytes <= SMALL {
        return Ok(());
    }
    let limit = limit();
    if bytes <= limit { Ok(()) } else { Err(LearnError::Memory { who, what: what(), bytes, limit, fix }) }
}

/// Size of a matrix in bytes; saturates at `u64::MAX`.
pub(crate) fn matrix(rows: usize, columns: usize, size: usize) -> u64 {
    (rows as u64).saturating_mul(columns as u64).saturating_mul(size as u64)
}

/// Formats a size for messages.
pub(crate) fn readable(bytes: u64) -> String {
    let size = bytes as f64;
    match bytes {
        0..1_000_000 => format!("{:.0} kB", size / 1e3),
        1_000_000..1_000_000_000 => format!("{:.0} MB", size / 1e6),
        _ => format!("{:.1} GB", size / 1e9),
    }
}

/// Memory in bytes that the system reports as available.
fn available() -> u64 {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let number = |text: String| text.trim().parse::<u64>().ok();
    let free = read("/proc/meminfo").as_deref().and_then(mem_available);
    let group = read("/sys/fs/cgroup/memory.max").and_then(number);
    let used = read("/sys/fs/cgroup/memory.current").and_then(number).unwrap_or(0);
    let group = group.map(|most| most.saturating_sub(used));
    match (free, group) {
        (Some(free), Some(group)) => free.min(group),
        (Some(bytes), None) | (None, Some(bytes)) => bytes,
        (None, None) => ASSUMED,
    }
}

/// `MemAvailable` of `/proc/meminfo` in bytes.
fn mem_available(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_available_memory_is_read() {
        assert_eq!(mem_available("MemTotal: 10 kB\nMemAvailable:     2048 kB\n"), Some(2048 * 1024));
        assert_eq!(mem_available("MemTotal: 10 kB\n"), None);
        assert!(available() > 0);
    }

    #[test]
    fn sizes_are_readable_and_saturate() {
        assert_eq!(readable(36_800_000_000), "36.8 GB");
        assert_eq!(readable(12_000_000), "12 MB");
        assert_eq!(readable(900), "1 kB");
        assert_eq!(matrix(usize::MAX, usize::MAX, 8), u64::MAX);
    }
}
