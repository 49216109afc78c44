//! Words of texts and their counts.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Mutex, PoisonError};

use tove_optim::settings::{Choice, Hyperparameters};
use tove_tensor::pool::parallel_for;

use crate::{LearnError, Record, Result};

/// How texts are split into words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum Tokens {
    /// Runs of letters and digits (of any script) in lower case.
    #[default]
    Words,
    /// What stands between white space, unchanged.
    Whitespace,
}

impl Tokens {
    /// The words of a text.
    ///
    /// ```
    /// use tove_learn::words::Tokens;
    /// let words = |tokens: Tokens| tokens.split("Don't panic, Zoë!").collect::<Vec<_>>();
    /// assert_eq!(words(Tokens::Words), ["don", "t", "panic", "zoë"]);
    /// assert_eq!(words(Tokens::Whitespace), ["Don't", "panic,", "Zoë!"]);
    /// ```
    pub fn split(self, text: &str) -> impl Iterator<Item = Cow<'_, str>> {
        let words = self == Tokens::Words;
        let ends = move |c: char| if words { !c.is_alphanumeric() } else { c.is_whitespace() };
        text.split(ends).filter(|word| !word.is_empty()).map(move |word| {
            let plain = !words || word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
            if plain { Cow::Borrowed(word) } else { Cow::Owned(word.to_lowercase()) }
        })
    }
}

/// Hyperparameters of the vocabulary.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(shared)]
pub struct VocabularySettings {
    /// How texts are split into words.
    #[hyper(default = Tokens::Words)]
    pub tokens: Tokens,
    /// Words that occur less often are left out.
    #[hyper(default = 5, range = "[1, inf)")]
    pub min_count: usize,
    /// Maximum number of words; the most frequent are kept.
    #[hyper(default = None, range = "[1, inf)")]
    pub max_words: Option<usize>,
}

/// Bytes of texts, about, that are split into words by one task.
const TASK: usize = 1 << 18;

/// A hash of words that is quick for short ones: 8 bytes at a time, each multiplied and rotated.
#[derive(Default)]
struct WordHasher(u64);

impl Hasher for WordHasher {
    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut eight = [0; 8];
            eight[..part.len()].copy_from_slice(part);
            self.0 = (self.0.rotate_left(23) ^ u64::from_le_bytes(eight)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 29)
    }
}

type WordMap<V> = HashMap<String, V, BuildHasherDefault<WordHasher>>;

/// What `work` makes of each group of texts, in parallel, in their order.
fn by_groups<S: AsRef<str> + Sync, T: Send>(texts: &[S], work: impl Fn(&[S]) -> T + Sync) -> Vec<T> {
    let (mut groups, mut first, mut bytes) = (Vec::new(), 0, 0);
    for (place, text) in texts.iter().enumerate() {
        bytes += text.as_ref().len();
        if bytes >= TASK || place + 1 == texts.len() {
            groups.push((&texts[first..=place], Mutex::new(None)));
            (first, bytes) = (place + 1, 0);
        }
    }
    parallel_for(groups.len(), &|task| {
        let (group, place) = &groups[task];
        *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(work(group));
    });
    groups.into_iter().filter_map(|(_, place)| place.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
}

/// Words in descending order of their counts; ties are in alphabetical order.
///
/// ```
/// use tove_learn::words::{Vocabulary, VocabularySettings};
/// let texts = ["the cat and the dog", "The cat!"];
/// let vocabulary = Vocabulary::of("example", &texts, &VocabularySettings::default().min_count(2))?;
/// assert_eq!((vocabulary.words(), vocabulary.counts()), (&["the".to_string(), "cat".to_string()][..], &[3, 2][..]));
/// assert_eq!((vocabulary.id("cat"), vocabulary.id("dog")), (Some(1), None));
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vocabulary {
    words: Vec<String>,
    counts: Vec<u64>,
    ids: WordMap<u32>,
}

impl Vocabulary {
    /// Counts the words of texts. `who` is named in errors.
    ///
    /// # Errors
    /// No texts, no words at all, or none that occurs `min_count` times.
    pub fn of(
        who: &'static str,
        texts: &[impl AsRef<str> + Sync],
        settings: &VocabularySettings,
    ) -> Result<Vocabulary> {
        settings.validate()?;
        let add = |counts: &mut WordMap<u64>, word: Cow<'_, str>, more: u64| match counts.get_mut(word.as_ref()) {
            Some(count) => *count += more,
            None => drop(counts.insert(word.into_owned(), more)),
        };
        let mut groups = by_groups(texts, |group| {
            let mut counts = WordMap::default();
            let words = group.iter().flat_map(|text| settings.tokens.split(text.as_ref()));
            words.for_each(|word| add(&mut counts, word, 1));
            counts
        })
        .into_iter();
        let mut counts = groups.next().unwrap_or_default();
        groups.flatten().for_each(|(word, count)| add(&mut counts, word.into(), count));
        if counts.is_empty() {
            let problem = format!("{} texts without a single word", texts.len());
            return Err(LearnError::data(who, problem, "give texts with words"));
        }
        let distinct = counts.len();
        let mut kept: Vec<(String, u64)> =
            counts.into_iter().filter(|(_, count)| *count >= settings.min_count as u64).collect();
        if kept.is_empty() {
            let problem = format!("none of {distinct} words occurs {} times", settings.min_count);
            return Err(LearnError::data(who, problem, "lower `min_count`, or give more text"));
        }
        kept.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        kept.truncate(settings.max_words.unwrap_or(usize::MAX).min(u32::MAX as usize - 1));
        let (words, counts) = kept.into_iter().unzip();
        Vocabulary::new(words, counts)
    }

    /// A vocabulary of given words and counts.
    ///
    /// # Errors
    /// Lengths that differ, more words than an index of 32 bits holds, a word that is empty or occurs twice.
    pub fn new(words: Vec<String>, counts: Vec<u64>) -> Result<Vocabulary> {
        let wrong = |problem: String| LearnError::parameter("Vocabulary", problem);
        if words.len() != counts.len() || words.len() >= u32::MAX as usize {
            return Err(wrong(format!("{} words and {} counts; give a count per word", words.len(), counts.len())));
        }
        let mut ids = WordMap::with_capacity_and_hasher(words.len(), BuildHasherDefault::default());
        for (id, word) in words.iter().enumerate() {
            if word.is_empty() {
                return Err(wrong(format!("word {id} is empty; leave it out")));
            }
            if ids.insert(word.clone(), id as u32).is_some() {
                return Err(wrong(format!("the word \"{}\" occurs twice; give each word once", shown(word))));
            }
        }
        Ok(Vocabulary { words, counts, ids })
    }

    /// Number of words.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether it has no words.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The words.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// How often each word occurred.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// The index of a word.
    pub fn id(&self, word: &str) -> Option<u32> {
        self.ids.get(word).copied()
    }

    /// The error for a word that is not in the vocabulary, with a word of similar spelling.
    #[cold]
    pub(super) fn unknown(&self, who: &'static str, word: &str) -> LearnError {
        let near = |known: &&String| strsim::jaro_winkler(known, word);
        let long = word.chars().count() > 64;
        let best = self.words.iter().take(100_000).filter(|_| !long).max_by(|a, b| near(a).total_cmp(&near(b)));
        let fix = match best {
            Some(best) if near(&best) > 0.8 => format!("did you mean \"{}\"?", shown(best)),
            _ => "give a word of the vocabulary".to_owned(),
        };
        LearnError::data(who, format!("the word \"{}\" is not in the vocabulary", shown(word)), fix)
    }

    /// The probability of each word to be kept when frequent words are subsampled: √(t/f) + t/f for a word with the share f of all words.
    pub(super) fn keep_probabilities(&self, subsample: f64) -> Vec<f32> {
        let total: f64 = self.counts.iter().map(|&count| count as f64).sum();
        let keep = |&count: &u64| {
            let ratio = subsample * total / count.max(1) as f64;
            if subsample == 0.0 { 1.0 } else { (ratio.sqrt() + ratio).min(1.0) as f32 }
        };
        self.counts.iter().map(keep).collect()
    }

    pub(super) fn write(&self, record: &mut Record) {
        record.put("words", self.words.clone());
        record.put("counts", self.counts.clone());
    }

    pub(super) fn read(record: &Record) -> Result<Vocabulary> {
        let words = record.get("words")?.as_array().ok_or_else(|| record.wrong("words", "a list of words"))?;
        let words: Option<Vec<String>> = words.iter().map(|word| word.as_str().map(str::to_owned)).collect();
        let counts = record.get("counts")?.as_array().ok_or_else(|| record.wrong("counts", "a list of counts"))?;
        let counts: Option<Vec<u64>> = counts.iter().map(serde_json::Value::as_u64).collect();
        let words = words.ok_or_else(|| record.wrong("words", "a list of words"))?;
        let counts = counts.ok_or_else(|| record.wrong("counts", "a list of counts"))?;
        Vocabulary::new(words, counts).map_err(|_| record.wrong("words", "a list of different words with their counts"))
    }
}

/// A word as it appears in messages: cut if it is long.
pub(super) fn shown(word: &str) -> String {
    if word.chars().count() <= 40 {
        word.to_owned()
    } else {
        format!("{}…", word.chars().take(40).collect::<String>())
    }
}

/// Texts as indices of words; words outside the vocabulary are left out.
pub(super) struct Corpus {
    pub ids: Vec<u32>,
    /// Where each text begins, and the end.
    pub starts: Vec<usize>,
}

impl Corpus {
    pub fn of(texts: &[impl AsRef<str> + Sync], tokens: Tokens, vocabulary: &Vocabulary) -> Corpus {
        let groups = by_groups(texts, |group| {
            let (mut ids, mut ends) = (Vec::new(), Vec::new());
            for text in group {
                ids.extend(tokens.split(text.as_ref()).filter_map(|word| vocabulary.id(&word)));
                ends.push(ids.len());
            }
            (ids, ends)
        });
        let (mut ids, mut starts) = (Vec::new(), vec![0]);
        for (own, ends) in groups {
            let before = ids.len();
            ids.extend(own);
            for end in ends {
                if *starts.last().unwrap_or(&0) < before + end {
                    starts.push(before + end);
                }
            }
        }
        Corpus { ids, starts }
    }

    /// An error unless some text has two words.
    pub fn require_pairs(&self, who: &'static str) -> Result<()> {
        if self.starts.windows(2).any(|two| two[1] - two[0] > 1) {
            return Ok(());
        }
        let problem = "no text has two words of the vocabulary, so no word has a context";
        Err(LearnError::data(who, problem, "give longer texts, or lower `min_count`"))
    }

    /// The texts, one after another.
    pub fn texts(&self) -> impl Iterator<Item = &[u32]> {
        self.starts.windows(2).map(|two| &self.ids[two[0]..two[1]])
    }

    /// The parts of texts in a range of words.
    pub fn parts(&self, start: usize, end: usize) -> impl Iterator<Item = &[u32]> {
        let first = self.starts.partition_point(|&at| at <= start).saturating_sub(1);
        let bounds = self.starts[first..].windows(2).take_while(move |two| two[0] < end);
        bounds.map(move |two| &self.ids[two[0].max(start)..two[1].min(end)])
    }
}
