//! Counts the syllabus items that a passing test shows.
//!
//! An item counts when a test whose name begins with its id (`b14_...`; `b14_b16_...` for two) ran and passed, and no
//! test of that id failed. The ids stand in `xtask/syllabus.tsv`; those covered so far in `xtask/covered.txt`, so that
//! a lost one is noticed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use crate::command::{output, root};
use crate::test_output::{Status, Test};
use crate::{results, test_run};

const ITEMS: &str = "xtask/syllabus.tsv";
const COVERED: &str = "xtask/covered.txt";

/// An id such as `B14`, ordered by letter, then by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id {
    letter: char,
    number: u32,
}

impl Id {
    /// Reads `B14` or `b14`.
    fn parse(text: &str) -> Option<Self> {
        let mut characters = text.chars();
        let letter = characters.next().filter(char::is_ascii_alphabetic)?.to_ascii_uppercase();
        let digits = characters.as_str();
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
        let number = digits.parse().ok().filter(|_| plain)?;
        Some(Self { letter, number })
    }
}

impl std::fmt::Display for Id {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.pad(&format!("{}{}", self.letter, self.number))
    }
}

type Items = BTreeMap<Id, String>;

/// What the tests say about each item.
#[derive(Default)]
pub struct Coverage {
    /// The passing tests of each covered item.
    covered: BTreeMap<Id, Vec<String>>,
    failed: BTreeMap<Id, Vec<String>>,
    skipped: Vec<(Id, String, String)>,
}

/// `cargo xtask syllabus [LETTER...] [--tests] [--update]`.
pub fn run(arguments: &[String]) -> Result<bool, String> {
    let items = load_items()?;
    let (flags, letters): (Vec<_>, Vec<_>) = arguments.iter().partition(|argument| argument.starts_with("--"));
    let letters = parse_letters(&letters, &items)?;
    if let Some(unknown) = flags.iter().find(|flag| !["--tests", "--update"].contains(&flag.as_str())) {
        return Err(format!("unknown option {unknown}; there are --tests and --update"));
    }
    let tests = last_tests()?;
    let coverage = coverage(&tests, &items);
    if flags.iter().any(|flag| *flag == "--update") {
        store_covered(&coverage)?;
    }
    report(&coverage, &items, &letters, flags.iter().any(|flag| *flag == "--tests"));
    Ok(true)
}

/// The part of `cargo xtask check`: false if an item covered before is covered no longer.
pub fn check(tests: &[Test]) -> Result<bool, String> {
    let items = load_items()?;
    let coverage = coverage(tests, &items);
    let before = load_covered()?;
    let now: BTreeSet<Id> = coverage.covered.keys().copied().collect();
    for (id, test, reason) in &coverage.skipped {
        println!("skipped {id}: {test} ({reason})");
    }
    for id in now.difference(&before) {
        println!("new: {id} {}", title(&items, *id));
    }
    if now.difference(&before).next().is_some() {
        println!("record new items with: cargo xtask syllabus --update");
    }
    let lost: Vec<Id> = before.difference(&now).copied().collect();
    for id in &lost {
        println!("error: {id} was covered and is no longer: {}", title(&items, *id));
    }
    if !lost.is_empty() {
        println!("fix the tests; if the loss is intended, run: cargo xtask syllabus --update");
    }
    println!("covered {} / {}", now.len(), items.len());
    Ok(lost.is_empty())
}

/// The results of the last run, or of a new one if there is none.
fn last_tests() -> Result<Vec<Test>, String> {
    if let Some((tests, time)) = results::load()? {
        if sources_newer_than(time) {
            println!("note: sources have changed since the last test run; `cargo xtask check` runs the tests again");
        }
        return Ok(tests);
    }
    println!("no test results yet, running the tests");
    test_run::run()?;
    let (tests, _) = results::load()?.ok_or("the test run left no results")?;
    Ok(tests)
}

fn sources_newer_than(time: SystemTime) -> bool {
    let mut list = std::process::Command::new("git");
    list.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.rs"]).current_dir(root());
    let modified = |name: &str| std::fs::metadata(root().join(name)).and_then(|data| data.modified()).ok();
    output(list).is_ok_and(|names| names.split('\0').filter_map(modified).any(|changed| changed > time))
}

/// The ids at the start of a test's last path segment: `autodiff::tests::b14_b16_shapes` gives B14 and B16.
fn ids_of(test: &str, items: &Items) -> Vec<Id> {
    let segment = test.rsplit("::").next().unwrap_or(test);
    segment.split('_').map_while(|word| Id::parse(word).filter(|id| items.contains_key(id))).collect()
}

fn coverage(tests: &[Test], items: &Items) -> Coverage {
    let mut coverage = Coverage::default();
    for test in tests {
        for id in ids_of(&test.name, items) {
            match &test.status {
                Status::Passed => coverage.covered.entry(id).or_default().push(test.name.clone()),
                Status::Failed => coverage.failed.entry(id).or_default().push(test.name.clone()),
                Status::Ignored => coverage.skipped.push((id, test.name.clone(), "marked ignore".into())),
                Status::Skipped(reason) => coverage.skipped.push((id, test.name.clone(), reason.clone())),
            }
        }
    }
    let Coverage { covered, failed, skipped } = &mut coverage;
    covered.retain(|id, _| !failed.contains_key(id));
    skipped.sort();
    coverage
}

fn report(coverage: &Coverage, items: &Items, letters: &[char], with_tests: bool) {
    let wanted: Vec<(&Id, &String)> = items.iter().filter(|(id, _)| letters.contains(&id.letter)).collect();
    for (id, title) in &wanted {
        match (coverage.covered.get(id), coverage.failed.get(id)) {
            (Some(tests), _) if with_tests => println!("{id:<4} {title}\n       {}", tests.join("\n       ")),
            (Some(_), _) => {}
            (None, Some(tests)) => println!("failed  {id:<4} {title} ({})", tests.join(", ")),
            (None, None) => println!("missing {id:<4} {title}"),
        }
    }
    for (id, test, reason) in coverage.skipped.iter().filter(|(id, _, _)| letters.contains(&id.letter)) {
        println!("skipped {id:<4} {test} ({reason})");
    }
    let covered = wanted.iter().filter(|(id, _)| coverage.covered.contains_key(id)).count();
    println!("covered {covered} / {}", wanted.len());
}

fn parse_letters(arguments: &[&String], items: &Items) -> Result<Vec<char>, String> {
    let mut known: Vec<char> = items.keys().map(|id| id.letter).collect();
    known.dedup();
    let mut letters = Vec::new();
    for argument in arguments {
        let letter = argument.to_ascii_uppercase().parse().ok().filter(|letter| known.contains(letter));
        letters.push(letter.ok_or_else(|| format!("no syllabus letter {argument}; there are {known:?}"))?);
    }
    Ok(if letters.is_empty() { known } else { letters })
}

fn load_items() -> Result<Items, String> {
    parse_items(&read(ITEMS)?)
}

fn parse_items(text: &str) -> Result<Items, String> {
    let mut items = Items::new();
    for (index, line) in text.lines().enumerate() {
        let wrong = || format!("{ITEMS} line {}: want a new id, a tab and a title, got {line:?}", index + 1);
        let (id, title) = line.split_once('\t').ok_or_else(wrong)?;
        let id = Id::parse(id).ok_or_else(wrong)?;
        if title.is_empty() || items.insert(id, title.to_string()).is_some() {
            return Err(wrong());
        }
    }
    Ok(items)
}

fn title(items: &Items, id: Id) -> &str {
    items.get(&id).map_or("(not in the list)", String::as_str)
}

fn load_covered() -> Result<BTreeSet<Id>, String> {
    let parse = |word: &str| Id::parse(word).ok_or_else(|| format!("{COVERED}: {word:?} is not an id"));
    read(COVERED)?.split_whitespace().map(parse).collect()
}

fn store_covered(coverage: &Coverage) -> Result<(), String> {
    let lines: String = coverage.covered.keys().map(|id| format!("{id}\n")).collect();
    std::fs::write(root().join(COVERED), lines).map_err(|error| format!("cannot write {COVERED}: {error}"))
}

fn read(name: &str) -> Result<String, String> {
    std::fs::read_to_string(root().join(name)).map_err(|error| format!("cannot read {name}: {error}"))
}

#[cfg(test)]
#[path = "syllabus_tests.rs"]
mod tests;
