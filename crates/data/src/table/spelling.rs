//! Suggestions for misspelled names.

use strsim::levenshtein;

/// The name that is nearest to a misspelt one, if it is near at all.
pub(crate) fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<String> {
    // Hostile files may have names of any length; nobody misspells a page.
    let measured = candidates.filter(|candidate| candidate.len() <= 200);
    let best =
        measured.map(|candidate| (levenshtein(&name.to_lowercase(), &candidate.to_lowercase()), candidate)).min()?;
    // Two neighbors in the wrong order are two replacements.
    let length = name.chars().count();
    let allowed = (length / 3).max(if length < 4 { 1 } else { 2 });
    (best.0 <= allowed && name.len() <= 200).then(|| best.1.to_owned())
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn near_names_are_found_and_far_ones_not() {
        let names = ["age", "fare", "embarked"];
        let found = |name| nearest(name, names.into_iter());
        assert_eq!(found("Age").as_deref(), Some("age"));
        assert_eq!(found("embraked").as_deref(), Some("embarked"));
        assert_eq!(found("fear").as_deref(), Some("fare"));
        assert_eq!(found("price"), None);
    }
}
