//! Keeps words that readers cannot search for out of messages, help texts and documentation.

use std::path::Path;

use crate::command::root;

/// Crates whose text is checked. A crate joins when its text passes.
const CRATES: [&str; 8] = [
    "crates/cli",
    "crates/plot",
    "crates/data",
    "crates/metrics",
    "crates/learn",
    "crates/trust",
    "crates/tove",
    "xtask",
];

/// Documents whose prose is checked.
const DOCUMENTS: [&str; 2] = ["README.md", "ARCHITECTURE.md"];

/// Words side by side and what to write instead. `*` ends a word of which only the beginning counts; `_` stands for any word.
const PHRASES: [(&str, &str); 46] = [
    ("is no", "is not a"),
    ("are no", "are not"),
    ("mend*", "fix"),
    ("heed*", "check, respect"),
    ("judge", "evaluate"),
    ("judges", "evaluates"),
    ("judged", "evaluated"),
    ("colour*", "color"),
    ("neighbour*", "neighbor"),
    ("behaviour*", "behavior"),
    ("optimise*", "optimize"),
    ("optimisation*", "optimization"),
    ("optimising", "optimizing"),
    ("minimise*", "minimize"),
    ("minimising", "minimizing"),
    ("maximise*", "maximize"),
    ("maximising", "maximizing"),
    ("penalis*", "penalize"),
    ("regularis*", "regularize"),
    ("generalis*", "generalize"),
    ("standardis*", "standardize"),
    ("initialis*", "initialize"),
    ("summaris*", "summarize"),
    ("recognis*", "recognize"),
    ("normalis*", "normalize"),
    ("centred", "centered"),
    ("centring", "centering"),
    ("programme", "program"),
    ("formulae", "formulas"),
    ("fulfil", "satisfy"),
    ("fulfils", "satisfies"),
    ("judging", "evaluating"),
    ("piece of data", "batch"),
    ("pieces of data", "batches"),
    ("to be had", "available, possible"),
    ("of equal ones", "ties go to the first"),
    ("unless said", "by default"),
    ("user's own", "user-defined"),
    ("former versions", "earlier versions"),
    ("iterations at most", "maximum number of iterations"),
    ("steps at most", "maximum number of steps"),
    ("learnt", "learned"),
    ("labelled", "labeled"),
    ("tell apart", "distinguish"),
    ("tell _ apart", "distinguish"),
    ("told apart", "distinguished"),
];

/// Checks the string literals and doc comments of the crates above, and the documents; true if no phrase is found.
pub fn run() -> Result<bool, String> {
    let mut good = true;
    for source in CRATES {
        good &= folder(&root().join(source).join("src"))?;
    }
    for document in DOCUMENTS {
        let path = root().join(document);
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        good &= report(&path, &as_comments(&text));
    }
    Ok(good)
}

/// The lines of a document as documentation comments, which leave code out.
fn as_comments(text: &str) -> String {
    text.lines().map(|line| format!("//! {line}\n")).collect()
}

/// Prints the phrases in a source; true if there are none.
fn report(path: &Path, source: &str) -> bool {
    let all = found(source);
    for (line, phrase, instead) in &all {
        println!("error: {}:{line}: \"{phrase}\"; write \"{instead}\"", path.display());
    }
    all.is_empty()
}

fn folder(path: &Path) -> Result<bool, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut entries = std::fs::read_dir(path).map_err(failed)?.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    entries.sort_by_key(std::fs::DirEntry::path);
    let mut good = true;
    for path in entries.iter().map(std::fs::DirEntry::path) {
        if path.is_dir() {
            good &= folder(&path)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("wording.rs") {
            let source = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            good &= report(&path, &source);
        }
    }
    Ok(good)
}

/// The phrases in the text of a source, with their lines.
fn found(source: &str) -> Vec<(usize, &'static str, &'static str)> {
    let mut all = Vec::new();
    for (line, text) in texts(source) {
        let lower = text.to_lowercase();
        let letters = |c: char| c.is_alphanumeric() || matches!(c, '_' | '\'');
        let words: Vec<&str> = lower.split(|c| !letters(c)).filter(|word| !word.is_empty()).collect();
        all.extend(
            PHRASES.iter().filter(|(phrase, _)| has(&words, phrase)).map(|&(phrase, instead)| (line, phrase, instead)),
        );
    }
    all
}

fn has(words: &[&str], phrase: &str) -> bool {
    let parts: Vec<&str> = phrase.split(' ').collect();
    let is = |(word, part): (&&str, &&str)| match part.strip_suffix('*') {
        Some(beginning) => word.starts_with(beginning),
        None => *part == "_" || word == part,
    };
    // "There is no file" and "no better than" are plain English.
    let usual = |place: usize| {
        let next = words.get(place + parts.len()).copied().unwrap_or_default();
        parts.last() == Some(&"no")
            && (place > 0 && words[place - 1] == "there"
                || ["better", "longer", "more", "newer", "wider"].contains(&next))
    };
    let places = words.windows(parts.len()).enumerate();
    places.into_iter().any(|(place, window)| window.iter().zip(&parts).all(is) && !usual(place))
}

/// String literals and doc comments with the lines they begin on, up to the unit tests. Neighboring lines of a comment are one text.
/// Code in doc comments, which may use public names, is skipped.
fn texts(source: &str) -> Vec<(usize, String)> {
    let source = source.split("#[cfg(test)]").next().unwrap_or_default();
    let mut all: Vec<(usize, String)> = Vec::new();
    let (mut rest, mut last_doc, mut in_example) = (source, 0, false);
    let line_of = |rest: &str| 1 + source[..source.len() - rest.len()].matches('\n').count();
    while let Some(first) = rest.chars().next() {
        let line = line_of(rest);
        if rest.starts_with("//") {
            let end = rest.find('\n').unwrap_or(rest.len());
            if rest.starts_with("///") || rest.starts_with("//!") {
                let doc = &rest[3..end];
                let is_fence = doc.trim_start().starts_with("```");
                in_example ^= is_fence;
                if !is_fence && !in_example {
                    match all.last_mut().filter(|_| last_doc + 1 == line) {
                        Some((_, text)) => text.push_str(&format!(" {}", prose(doc))),
                        None => all.push((line, prose(doc))),
                    }
                    last_doc = line;
                }
            }
            rest = &rest[end..];
        } else if let Some(hashes) = raw_string(rest) {
            let (begin, mark) = (hashes + 2, format!("\"{}", "#".repeat(hashes)));
            let end = begin + rest[begin..].find(&mark).unwrap_or(rest.len() - begin);
            all.push((line, rest[begin..end].to_owned()));
            rest = rest.get(end + mark.len()..).unwrap_or_default();
        } else if first == '"' {
            let mut escaped = false;
            let is_end = |c: char| {
                let end = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                end
            };
            let end = 1 + rest[1..].find(is_end).unwrap_or(rest.len() - 1);
            all.push((line, rest[1..end].replace("\\n", " ")));
            rest = rest.get(end + 1..).unwrap_or_default();
        } else if rest.starts_with("'\"'") || rest.starts_with("b'\"'") {
            rest = &rest[rest.find("\"'").unwrap_or(0) + 2..];
        } else if rest.starts_with("'\\\"'") {
            rest = &rest[4..];
        } else {
            // A name may end in r, which begins no string.
            let name = rest.find(|c: char| !c.is_alphanumeric() && c != '_').filter(|&end| end > 0);
            rest = &rest[name.unwrap_or(first.len_utf8())..];
        }
    }
    all
}

/// A line of documentation without its inline code.
fn prose(doc: &str) -> String {
    doc.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

/// The number of hashes of the raw string that the text begins with.
fn raw_string(rest: &str) -> Option<usize> {
    let after = rest.strip_prefix('r')?.trim_start_matches('#');
    after.starts_with('"').then(|| rest.len() - 1 - after.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phrases(source: &str) -> Vec<(usize, &'static str)> {
        found(source).into_iter().map(|(line, phrase, _)| (line, phrase)).collect()
    }

    #[test]
    fn phrases_are_found_in_strings_and_documentation_only() {
        assert_eq!(phrases("/// What is\n/// no number.\nfn f() {}\n"), [(1, "is no")]);
        assert_eq!(phrases("let a = 1;\nfail(\"{x} is \\\n  no integer\");"), [(2, "is no")]);
        assert_eq!(phrases("r#\"the \"Colours\"\"# + \"learnt\\n\""), [(1, "colour*"), (1, "learnt")]);
        assert_eq!(phrases("let q = ('\"', '\\\"', b'\"'); // is no\nlet colour = 'a'; \"fine\""), []);
        assert_eq!(
            phrases("\"To tell images apart\" \"mended\" \"judge\""),
            [(1, "tell _ apart"), (1, "mend*"), (1, "judge")]
        );
        assert_eq!(
            phrases("\"There is no file; it is no better, and is no longer\" \"amend, judgement, basis no\""),
            []
        );
        assert_eq!(phrases("fn f() {}\n#[cfg(test)]\nmod tests { \"is no\" }"), []);
        assert_eq!(
            phrases("/// Calls [`judge`].\n/// ```\n/// test.judge();\n/// ```\n/// Judged.\nfn f() {}"),
            [(5, "judged")]
        );
    }

    #[test]
    fn documents_are_prose_without_their_code() {
        let text = "# Title\nIt is\nno file. `is no`\n```\njudge()\n```\nJudged.\n";
        let phrases: Vec<_> = found(&as_comments(text)).into_iter().map(|(_, phrase, _)| phrase).collect();
        assert_eq!(phrases, ["is no", "judged"]);
    }

    #[test]
    fn this_repository_passes() {
        assert_eq!(run(), Ok(true));
    }
}
