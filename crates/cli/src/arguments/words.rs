//! Arguments of the commands for word vectors.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{pair, written};

#[derive(Args)]
#[command(after_help = "\
Examples:
  tove words fit data/state-of-the-union.txt.gz -o speeches.tove
  tove words nearest speeches.tove peace
  tove words analogy speeches.tove man woman king
  tove words convert speeches.tove -o speeches.txt

Every command reads and writes the files of the word2vec program too: names ending in .txt or .vec are its text format, .bin its binary format, all others model files of tove.")]
pub struct Words {
    #[command(subcommand)]
    pub action: WordsAction,
}

#[derive(Subcommand)]
#[allow(clippy::large_enum_variant)]
pub enum WordsAction {
    /// Learn a vector for each word of texts, and save them
    Fit(WordsFit),
    /// List the words whose vectors are most similar to that of a word
    Nearest(WordsNearest),
    /// Answer "A is to B as C is to ?", or a file of such questions
    Analogy(WordsAnalogy),
    /// Write word vectors in another format: model file, word2vec text or word2vec binary
    Convert(WordsConvert),
}

/// The methods of word vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum WordsMethod {
    /// word2vec: a word predicts each word of its context (negative sampling)
    SkipGram,
    /// word2vec: the mean of the context predicts the word
    Cbow,
    /// The products of vectors are the logarithms of co-occurrence counts
    Glove,
    /// word2vec with character n-grams, which has vectors for unseen words too
    Fasttext,
}

/// What a file is cut into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum WordsUnit {
    /// Each line
    Line,
    /// Lines up to an empty one, as in books
    Paragraph,
    /// The whole file
    File,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  tove words fit data/state-of-the-union.txt.gz -o speeches.tove --report speeches.html
  tove words fit book1.txt book2.txt.gz --texts paragraph --method fasttext -o books.tove
  tove words fit speeches.txt --set dimension=50 --set epochs=10 --phrases 10 -o speeches.tove
  zcat corpus/*.gz | tove words fit - --method glove --set min_count=20 -o vectors.txt
  tove words fit corpus.txt --questions questions-words.txt -o vectors.bin

Words are runs of letters and digits, in lower case; --set tokens=whitespace takes what stands between blanks, unchanged. Words that occur fewer than 5 times are left out (--set min_count). Contexts do not cross the ends of a text (--texts). `tove models Word2Vec`, GloVe and FastText list the hyperparameters. Ctrl-C ends the training; the vectors so far are saved.")]
pub struct WordsFit {
    /// Text files in UTF-8, also gzipped; - is standard input
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// The method
    #[arg(long, short, default_value = "skip_gram", value_name = "METHOD")]
    pub method: WordsMethod,
    /// A hyperparameter of the method: of Word2Vec, GloVe or FastText, as `tove models NAME` lists them
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = pair)]
    pub settings: Vec<(String, String)>,
    /// What a file is cut into: contexts of words do not cross the ends of texts
    #[arg(long, default_value = "line", value_name = "UNIT")]
    pub texts: WordsUnit,
    /// Join pairs of words such as new york to new_york if they occur together more often than by chance: so many times, about
    #[arg(long, value_name = "THRESHOLD")]
    pub phrases: Option<f64>,
    /// Analogy questions to evaluate on: four words a line, `: name` begins a section
    #[arg(long, value_name = "FILE")]
    pub questions: Option<PathBuf>,
    /// Seed of the initial vectors and of all draws
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u64,
    /// File to write: a model file; .txt or .vec is the text format of word2vec, .bin its binary format
    #[arg(long, short, value_parser = written(), value_name = "FILE")]
    pub output: PathBuf,
    /// HTML report to write, with a picture of the vectors
    #[arg(long, value_parser = written(), value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Replace files that exist
    #[arg(long)]
    pub overwrite: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  tove words nearest speeches.tove peace
  tove words nearest speeches.tove treaty --k 5 --json
  tove words nearest GoogleNews.bin Paris

A word in capitals is looked up in lower case if the vocabulary has it so, and words with blanks between as a phrase. With vectors by fasttext the word need not occur in the texts.")]
pub struct WordsNearest {
    /// The model file, or a .txt, .vec or .bin file of word2vec
    pub model: PathBuf,
    /// The word
    pub word: String,
    /// How many words
    #[arg(long, short, default_value_t = 10, value_name = "N")]
    pub k: usize,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  tove words analogy speeches.tove man woman king
  tove words analogy speeches.tove --questions questions-words.txt

\"man woman king\" asks: man is to woman as king is to ? The answers are the words most similar to woman - man + king, without these three.")]
pub struct WordsAnalogy {
    /// The model file, or a .txt, .vec or .bin file of word2vec
    pub model: PathBuf,
    /// Three words A B C: A is to B as C is to ?
    #[arg(num_args = 3, value_name = "WORD", required_unless_present = "questions")]
    pub words: Vec<String>,
    /// A file of questions with their answers: four words a line, `: name` begins a section
    #[arg(long, value_name = "FILE", conflicts_with = "words")]
    pub questions: Option<PathBuf>,
    /// How many answers
    #[arg(long, short, default_value_t = 5, value_name = "N")]
    pub k: usize,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  tove words convert speeches.tove -o speeches.txt
  tove words convert GoogleNews.bin -o google.tove

Names ending in .txt or .vec are the text format of word2vec, .bin its binary format, all others model files. The formats of word2vec hold words and vectors only: counts, settings and the n-grams of fasttext are lost.")]
pub struct WordsConvert {
    /// The model file, or a .txt, .vec or .bin file of word2vec
    pub model: PathBuf,
    /// File to write
    #[arg(long, short, value_parser = written(), value_name = "FILE")]
    pub output: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    pub overwrite: bool,
}
