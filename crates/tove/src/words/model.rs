//! Word vectors with what is known of their training, in one file.

use std::path::Path;

use serde_json::{Value, json};
use tove_learn::words::{FastText, FittedFastText, Neighbor, Tokens, WordFormat, WordVectors};
use tove_learn::{Components, Fit, Pca, Record, Result, Transform};
use tove_optim::settings::{Choice, Named};
use tove_tensor::DType;
use tove_tensor::io::WriteOptions;

/// Vectors of words alone, or of n-grams too.
#[derive(Clone, Debug)]
pub(super) enum Learned {
    Words(WordVectors),
    Subwords(FittedFastText),
}

impl Learned {
    pub fn vectors(&self) -> &WordVectors {
        match self {
            Learned::Words(vectors) => vectors,
            Learned::Subwords(model) => model.vectors(),
        }
    }

    fn restore(record: &Record) -> Result<Learned> {
        match record.kind() {
            kind if kind == FastText::NAME => FittedFastText::restore(record).map(Learned::Subwords),
            _ => WordVectors::restore(record).map(Learned::Words),
        }
    }
}

/// Word vectors in one file.
#[derive(Clone, Debug)]
pub struct WordModel {
    learned: Learned,
    tokens: Tokens,
    facts: Value,
}

/// Words in the plane of the first two principal components of their vectors.
#[derive(Clone, Debug, PartialEq)]
pub struct WordPlane {
    /// The words.
    pub words: Vec<String>,
    /// First coordinates.
    pub x: Vec<f64>,
    /// Second coordinates.
    pub y: Vec<f64>,
    /// The shares of the variance that the components explain.
    pub explained: [f64; 2],
}

impl WordModel {
    /// The kind of its files.
    pub const KIND: &'static str = "WordModel";

    pub(super) fn new(learned: Learned, tokens: Tokens, facts: Value) -> WordModel {
        WordModel { learned, tokens, facts }
    }

    /// Whether a record holds word vectors: those of this type, or those that the types of [`tove_learn::words`] write.
    pub fn is_kind(kind: &str) -> bool {
        [Self::KIND, "WordVectors", FastText::NAME].contains(&kind)
    }

    /// The words and their vectors.
    pub fn vectors(&self) -> &WordVectors {
        self.learned.vectors()
    }

    /// Whether words that were never seen have vectors.
    pub fn has_subwords(&self) -> bool {
        matches!(self.learned, Learned::Subwords(_))
    }

    /// Name of what learned the vectors; `word2vec file` for those of another program.
    pub fn method(&self) -> &str {
        self.vectors().settings()["name"].as_str().unwrap_or("word2vec file")
    }

    /// What was written down at fitting: texts, words, phrases, scores.
    pub fn facts(&self) -> &Value {
        &self.facts
    }

    /// Adds to what is written down.
    pub fn note(&mut self, name: &str, value: impl Into<Value>) {
        self.facts[name] = value.into();
    }

    /// A word as the vocabulary has it: as it is given; in lower case and with `_` for blanks, if there is only that.
    fn known(&self, word: &str) -> String {
        let known = |word: &str| self.vectors().contains(word);
        let joined = |word: &str| word.split_whitespace().collect::<Vec<_>>().join("_");
        let lower = if self.tokens == Tokens::Words { word.to_lowercase() } else { word.to_owned() };
        let forms = [word.to_owned(), lower.clone(), joined(word), joined(&lower)];
        forms.into_iter().find(|form| known(form)).unwrap_or(lower)
    }

    /// The vector of a word; with n-grams, of any word.
    ///
    /// # Errors
    /// A word without a vector.
    pub fn vector(&self, word: &str) -> Result<Vec<f32>> {
        let word = self.known(word);
        match &self.learned {
            Learned::Words(vectors) => Ok(vectors.vector(&word)?.to_vec()),
            Learned::Subwords(model) => Ok(model.vector(&word)),
        }
    }

    /// The `count` words most similar to a word, without the word itself.
    ///
    /// # Errors
    /// A word without a vector.
    pub fn nearest(&self, word: &str, count: usize) -> Result<Vec<Neighbor>> {
        let word = self.known(word);
        match &self.learned {
            Learned::Words(vectors) => vectors.nearest(&word, count),
            Learned::Subwords(model) => model.nearest(&word, count),
        }
    }

    /// The `count` words that are to `c` what `b` is to `a`.
    ///
    /// # Errors
    /// A word without a vector.
    pub fn analogy(&self, a: &str, b: &str, c: &str, count: usize) -> Result<Vec<Neighbor>> {
        let [a, b, c] = [a, b, c].map(|word| self.known(word));
        match &self.learned {
            Learned::Words(vectors) => vectors.analogy(&a, &b, &c, count),
            Learned::Subwords(model) => model.analogy(&a, &b, &c, count),
        }
    }

    /// The most frequent words, `count` of them, in the plane of the first two principal components of their vectors; none if there are
    /// too few words or numbers for a plane.
    ///
    /// # Errors
    /// If the decomposition fails.
    pub fn plane(&self, count: usize) -> Result<Option<WordPlane>> {
        let (words, dimension) = (self.vectors().words(), self.vectors().dimension());
        let count = count.min(words.len());
        if count < 3 || dimension < 2 {
            return Ok(None);
        }
        let rows = self.vectors().matrix()?.narrow(0, 0, count).to_dtype(DType::F64);
        let model = tove_learn::quietly(|| Pca::default().n_components(Components::Count(2)).fit(&rows, None))?;
        let points = model.transform(&rows)?.to_f64_vec();
        let shares = model.explained_variance_ratio().to_f64_vec();
        let axis = |place: usize| points.iter().skip(place).step_by(2).copied().collect();
        let (x, y) = (axis(0), axis(1));
        Ok(Some(WordPlane { words: words[..count].to_vec(), x, y, explained: [shares[0], shares[1]] }))
    }

    /// The model as a record.
    pub fn record(&self) -> Record {
        let mut record = Record::new(Self::KIND, 1);
        record.put("tove", env!("CARGO_PKG_VERSION"));
        record.put("tokens", self.tokens.name());
        record.put("facts", self.facts.clone());
        record.put_part(
            "learned",
            match &self.learned {
                Learned::Words(vectors) => vectors.record(),
                Learned::Subwords(model) => model.record(),
            },
        );
        record
    }

    /// Reads what [`WordModel::record`] wrote, or what [`WordVectors::record`] or [`FittedFastText::record`] did.
    ///
    /// # Errors
    /// If the record is of another kind, or damaged.
    pub fn restore(record: &Record) -> Result<WordModel> {
        if Self::is_kind(record.kind()) && record.kind() != Self::KIND {
            return Ok(WordModel::of(Learned::restore(record)?));
        }
        record.expect(Self::KIND, 1)?;
        let tokens = record.text("tokens")?;
        let tokens = Tokens::from_name(tokens).ok_or_else(|| record.wrong("tokens", "words or whitespace"))?;
        let learned = Learned::restore(&record.part("learned")?)?;
        Ok(WordModel { learned, tokens, facts: record.get("facts")?.clone() })
    }

    /// Vectors of which nothing else is known.
    fn of(learned: Learned) -> WordModel {
        let tokens = learned.vectors().settings()["settings"]["tokens"].as_str().and_then(Tokens::from_name);
        WordModel { learned, tokens: tokens.unwrap_or_default(), facts: json!({}) }
    }

    /// The layout of files of other programs, by the ending of the name: `.txt` and `.vec` are the text format of word2vec, `.bin` is
    /// its binary format.
    pub fn foreign(path: &Path) -> Option<WordFormat> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "txt" | "vec" => Some(WordFormat::Text),
            "bin" => Some(WordFormat::Binary),
            _ => None,
        }
    }

    /// Writes a file: a model file, or one for other programs if [`WordModel::foreign`] says so, which holds the words and their
    /// vectors only. Complete or not at all, and never over an existing file unless asked.
    ///
    /// # Errors
    /// A file that cannot be written, or a word that the format cannot hold.
    pub fn save(&self, path: impl AsRef<Path>, options: WriteOptions) -> Result<()> {
        match Self::foreign(path.as_ref()) {
            Some(format) => self.vectors().save_word2vec(path, format, options),
            None => self.record().save(path, options),
        }
    }

    /// Reads a model file, or one of another program if [`WordModel::foreign`] says so.
    ///
    /// # Errors
    /// A file that cannot be read, is malformed, or holds something else.
    pub fn load(path: impl AsRef<Path>) -> Result<WordModel> {
        match Self::foreign(path.as_ref()) {
            Some(format) => Ok(WordModel::of(Learned::Words(WordVectors::load_word2vec(path, format)?))),
            None => WordModel::restore(&Record::load(path)?),
        }
    }
}
