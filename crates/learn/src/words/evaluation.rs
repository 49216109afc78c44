//! Analogy questions with known answers.

use super::vectors::WordVectors;
use crate::{LearnError, Result};

/// Questions "a is to b as c is to ?" with their answers, by section.
///
/// The text format is that of the word2vec program: a line `: name` begins a section, all other lines have four words.
///
/// ```
/// use tove_learn::words::AnalogyQuestions;
/// let questions = AnalogyQuestions::parse(": family\nboy girl brother sister\n")?;
/// assert_eq!(questions.sections[0].1, [["boy", "girl", "brother", "sister"].map(String::from)]);
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AnalogyQuestions {
    /// Names and questions.
    pub sections: Vec<(String, Vec<[String; 4]>)>,
}

/// Result of one section.
#[derive(Clone, Debug, PartialEq)]
pub struct AnalogySection {
    /// The name.
    pub name: String,
    /// Questions answered right.
    pub correct: usize,
    /// Questions whose words are all known.
    pub total: usize,
    /// Questions with an unknown word.
    pub skipped: usize,
}

/// Results by section.
#[derive(Clone, Debug, PartialEq)]
pub struct AnalogyScores {
    /// The sections in the order of the questions.
    pub sections: Vec<AnalogySection>,
}

impl AnalogyScores {
    /// Share of right answers among the questions whose words are all known; none if there are none.
    pub fn accuracy(&self) -> Option<f64> {
        let total: usize = self.sections.iter().map(|section| section.total).sum();
        let correct: usize = self.sections.iter().map(|section| section.correct).sum();
        (total > 0).then(|| correct as f64 / total as f64)
    }
}

impl AnalogyQuestions {
    /// Reads the text format; words are put in lower case.
    ///
    /// # Errors
    /// A line without exactly four words.
    pub fn parse(text: &str) -> Result<AnalogyQuestions> {
        let mut sections: Vec<(String, Vec<[String; 4]>)> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            if let Some(name) = line.strip_prefix(':') {
                sections.push((name.trim().to_owned(), Vec::new()));
                continue;
            }
            let words: Vec<String> = line.split_whitespace().take(5).map(str::to_lowercase).collect();
            if words.is_empty() {
                continue;
            }
            let found = words.len();
            let words: [String; 4] = words.try_into().map_err(|_| {
                let problem =
                    format!("line {} has {}{found} words", number + 1, if found > 4 { "at least " } else { "" });
                LearnError::data(
                    "AnalogyQuestions",
                    problem,
                    "give four words per line, or `: name` to begin a section",
                )
            })?;
            match sections.last_mut() {
                Some((_, questions)) => questions.push(words),
                None => sections.push((String::new(), vec![words])),
            }
        }
        Ok(AnalogyQuestions { sections })
    }
}

impl WordVectors {
    /// Answers analogy questions with [`WordVectors::analogy`]. Questions with unknown words are skipped and counted.
    pub fn evaluate_analogies(&self, questions: &AnalogyQuestions) -> Result<AnalogyScores> {
        let mut sections = Vec::new();
        for (name, all) in &questions.sections {
            let ids = |words: &[String; 4]| -> Option<[usize; 4]> {
                let mut ids = [0; 4];
                for (id, word) in ids.iter_mut().zip(words) {
                    *id = self.vocabulary().id(word)? as usize;
                }
                Some(ids)
            };
            let known: Vec<[usize; 4]> = all.iter().filter_map(ids).collect();
            let answers = self.answers(&known.iter().map(|&[a, b, c, _]| [a, b, c]).collect::<Vec<_>>())?;
            let correct = answers.iter().zip(&known).filter(|(answer, question)| **answer == question[3]).count();
            let (total, skipped) = (known.len(), all.len() - known.len());
            sections.push(AnalogySection { name: name.clone(), correct, total, skipped });
        }
        Ok(AnalogyScores { sections })
    }
}
