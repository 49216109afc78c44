//! Available memory.

/// Bytes of memory that the system could still give out, where it says so (Linux).
///
/// ```
/// assert!(tove_data::available_memory().is_none_or(|bytes| bytes > 0));
/// ```
pub fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

/// The most that is taken into memory from a source whose length nobody knows beforehand: half of what is available.
pub(crate) fn most_of_a_stream() -> u64 {
    available_memory().map_or(1 << 32, |bytes| (bytes / 2).max(1 << 26))
}
