//! Fitting word vectors to texts.

use std::borrow::Cow;
use std::time::Instant;

use serde_json::json;
use tove_learn::Result;
use tove_learn::words::{
    AnalogyQuestions, AnalogyScores, Architecture, FastText, GloVe, Phrases, Tokens, Watch, Word2Vec,
};
use tove_optim::settings::{Choice, Hyperparameters};

use super::model::{Learned, WordModel};

/// What a file is cut into. Contexts do not cross the ends of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum TextUnit {
    /// Each line is a text.
    #[default]
    Line,
    /// Lines up to an empty one are a text.
    Paragraph,
    /// The file is one text.
    File,
}

impl TextUnit {
    /// The texts of a file; empty ones are left out.
    ///
    /// ```
    /// use tove::words::TextUnit;
    /// let file = "one\ntwo\n\nthree\n";
    /// assert_eq!(TextUnit::Line.split(file), ["one", "two", "three"]);
    /// assert_eq!(TextUnit::Paragraph.split(file), ["one\ntwo\n", "three\n"]);
    /// assert_eq!(TextUnit::File.split(file), [file]);
    /// ```
    pub fn split(self, file: &str) -> Vec<&str> {
        let written = |text: &&str| !text.trim().is_empty();
        match self {
            TextUnit::Line => file.lines().filter(written).collect(),
            TextUnit::File => Some(file).into_iter().filter(written).collect(),
            TextUnit::Paragraph => {
                let (mut texts, mut start, mut at) = (Vec::new(), 0, 0);
                for line in file.split_inclusive('\n') {
                    at += line.len();
                    if line.trim().is_empty() {
                        texts.push(&file[start..at - line.len()]);
                        start = at;
                    }
                }
                texts.push(&file[start..]);
                texts.into_iter().filter(written).collect()
            }
        }
    }
}

/// How vectors are learned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum WordMethod {
    /// word2vec: a word predicts each word of its context.
    #[default]
    SkipGram,
    /// word2vec: the mean of the context predicts the word.
    Cbow,
    /// The products of vectors are the logarithms of co-occurrence counts.
    GloVe,
    /// word2vec with character n-grams, which has vectors for unseen words too.
    FastText,
}

/// The estimator of a method.
#[derive(Clone, Debug)]
enum Estimator {
    Word2Vec(Word2Vec),
    GloVe(GloVe),
    FastText(FastText),
}

/// How to fit word vectors.
#[derive(Clone, Debug)]
pub struct WordFit {
    estimator: Estimator,
    phrases: Option<f64>,
}

/// Word vectors with what is known of their training.
#[derive(Debug)]
pub struct WordOutcome {
    /// The model.
    pub model: WordModel,
    /// Texts.
    pub texts: usize,
    /// Words of the vocabulary in the texts, repetitions counted.
    pub words: u64,
    /// Pairs of words that were joined before.
    pub phrases: Vec<String>,
    /// Seconds in all.
    pub seconds: f64,
}

impl WordFit {
    /// A method with its usual hyperparameters.
    pub fn new(method: WordMethod) -> WordFit {
        let estimator = match method {
            WordMethod::SkipGram => Estimator::Word2Vec(Word2Vec::default()),
            WordMethod::Cbow => Estimator::Word2Vec(Word2Vec::default().architecture(Architecture::Cbow)),
            WordMethod::GloVe => Estimator::GloVe(GloVe::default()),
            WordMethod::FastText => Estimator::FastText(FastText::default()),
        };
        WordFit { estimator, phrases: None }
    }

    /// The hyperparameters.
    pub fn settings(&mut self) -> &mut dyn Hyperparameters {
        match &mut self.estimator {
            Estimator::Word2Vec(estimator) => estimator,
            Estimator::GloVe(estimator) => estimator,
            Estimator::FastText(estimator) => estimator,
        }
    }

    /// Joins pairs of words such as "new york" to one word before the training: those whose score in [`Phrases`] is above a threshold.
    pub fn phrases(self, threshold: f64) -> WordFit {
        WordFit { phrases: Some(threshold), ..self }
    }

    /// Learns vectors; `watch` is told how far it is. If it is interrupted, the vectors so far are kept, and the summary says so.
    ///
    /// # Errors
    /// Hyperparameters out of their range, texts without enough words, vectors that do not fit in memory.
    pub fn fit(&self, texts: &[impl AsRef<str> + Sync], watch: Watch<'_>) -> Result<WordOutcome> {
        let start = Instant::now();
        let mut estimator = self.estimator.clone();
        let vocabulary = match &mut estimator {
            Estimator::Word2Vec(own) => &mut own.vocabulary,
            Estimator::GloVe(own) => &mut own.vocabulary,
            Estimator::FastText(own) => &mut own.vocabulary,
        };
        let tokens = vocabulary.tokens;
        let (mut texts, mut phrases): (Vec<Cow<'_, str>>, _) =
            (texts.iter().map(|text| text.as_ref().into()).collect(), Vec::new());
        if let Some(threshold) = self.phrases {
            let found = Phrases { vocabulary: vocabulary.clone(), threshold }.fit(&texts)?;
            phrases = found.pairs().into_iter().map(|(a, b)| format!("{a}_{b}")).collect();
            texts.iter_mut().for_each(|text| *text = found.apply(text).into());
            vocabulary.tokens = Tokens::Whitespace;
        }
        let learned = match &estimator {
            Estimator::Word2Vec(own) => Learned::Words(own.fit_watched(&texts, watch)?),
            Estimator::GloVe(own) => Learned::Words(own.fit_watched(&texts, watch)?),
            Estimator::FastText(own) => Learned::Subwords(own.fit_watched(&texts, watch)?),
        };
        let words = learned.vectors().vocabulary().counts().iter().sum();
        let facts = json!({"texts": texts.len(), "words": words, "phrases": phrases.len()});
        let model = WordModel::new(learned, tokens, facts);
        Ok(WordOutcome { model, texts: texts.len(), words, phrases, seconds: start.elapsed().as_secs_f64() })
    }
}

impl WordOutcome {
    /// The share of analogy questions that are answered right.
    ///
    /// # Errors
    /// If the vectors do not fit in memory a second time.
    pub fn judge(&self, questions: &AnalogyQuestions) -> Result<AnalogyScores> {
        self.model.vectors().evaluate_analogies(questions)
    }
}
