//! Which skips a run accepts.
//!
//! A test or recipe that cannot do its work prints `SKIPPED: reason` and returns. Only what lies outside the repository is an
//! accepted reason; anything else would let a test pass without running.

use crate::test_output::{Status, Test};

/// How an accepted reason begins.
const ACCEPTED: [&str; 3] = ["data set absent", "browser not installed", "system feature absent"];

/// The reason on a line that announces a skip.
pub fn reason(line: &str) -> Option<&str> {
    line.strip_prefix("SKIPPED:").map(str::trim)
}

/// Whether a test or recipe may be skipped for this reason.
pub fn is_accepted(reason: &str) -> bool {
    ACCEPTED
        .iter()
        .any(|accepted| reason.strip_prefix(accepted).is_some_and(|rest| rest.is_empty() || rest.starts_with(':')))
}

/// Says that a stage is skipped; false if the reason is not accepted.
pub fn announce(reason: &str) -> bool {
    println!("SKIPPED: {reason}");
    let accepted = is_accepted(reason);
    if !accepted {
        println!("error: accepted reasons begin with one of: {}", ACCEPTED.join(", "));
    }
    accepted
}

/// Lists the skipped tests; false if one was skipped for a reason that is not accepted.
pub fn check(tests: &[Test]) -> Result<bool, String> {
    let mut good = true;
    for test in tests {
        let Status::Skipped(reason) = &test.status else { continue };
        let accepted = is_accepted(reason);
        good &= accepted;
        let verdict = if accepted { "skipped" } else { "error: skipped without an accepted reason" };
        println!("{verdict}: {} {} ({reason})", test.program, test.name);
    }
    if !good {
        println!("accepted reasons begin with one of: {}", ACCEPTED.join(", "));
    }
    Ok(good)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(status: Status) -> Test {
        Test { program: "p".into(), name: "n".into(), status }
    }

    #[test]
    fn only_listed_reasons_are_accepted() {
        assert!(is_accepted("data set absent: /data/adult"));
        assert!(is_accepted("browser not installed"));
        assert!(!is_accepted("data set absentminded"));
        assert!(!is_accepted("no time"));
        assert!(!is_accepted(""));
    }

    #[test]
    fn a_stage_is_skipped_for_an_accepted_reason_only() {
        assert!(announce("system feature absent: no memory checker"));
        assert!(!announce("no memory checker"));
    }

    #[test]
    fn one_unexpected_skip_fails_the_stage() {
        let fine = [test(Status::Passed), test(Status::Failed), test(Status::Skipped("data set absent: x".into()))];
        assert!(check(&fine).expect("no error"));
        assert!(!check(&[test(Status::Skipped("not today".into()))]).expect("no error"));
    }

    #[test]
    fn a_line_announces_a_skip_only_at_its_beginning() {
        assert_eq!(reason("SKIPPED: data set absent: x"), Some("data set absent: x"));
        assert_eq!(reason("was SKIPPED: x"), None);
    }
}
