//! The process's largest resident size, as Linux counts it; other systems get no figure.

/// Starts counting the peak from here.
pub fn reset_peak() {
    // Where the file does not exist there is no peak to reset either.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// The peak in megabytes.
pub fn peak_mb() -> Option<f64> {
    peak_from(&std::fs::read_to_string("/proc/self/status").ok()?)
}

fn peak_from(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024.0 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_read_from_the_status_file() {
        assert_eq!(peak_from("Name:\tx\nVmHWM:\t   2000 kB\nVmRSS:\t 1 kB\n"), Some(2.048));
        assert_eq!(peak_from("Name:\tx\n"), None);
    }
}
