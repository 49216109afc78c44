//! How columns become numbers.

/// What stands in for a missing number.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Impute {
    /// The mean of the training rows.
    #[default]
    Mean,
    /// Their median.
    Median,
    /// Always this number.
    Constant(f64),
}

/// What becomes of a categorical column with more than [`Encoding::max_one_hot`] categories.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ManyCategories {
    /// One number per category all the same.
    OneHot,
    /// One of so many numbers is 1, chosen by a hash of the category; categories may share one.
    Hash {
        /// How many numbers.
        buckets: usize,
    },
    /// The mean target of the category, (Σ y + a·p) / (n + a) with the mean p of all rows; for m > 2 classes one such
    /// share per class. The training rows get the value computed from the *other folds'* rows, so that no row sees its
    /// own target: use [`TableEncoder::fit_encode`](super::TableEncoder::fit_encode).
    Target {
        /// The number a of rows that the overall mean counts for.
        smoothing: f64,
        /// Folds for the training rows.
        folds: usize,
        /// Chooses the folds.
        seed: u64,
    },
    /// The place of the category among the sorted ones, as one number, shifted and scaled as numbers are. A category that
    /// was not seen stands at the mean.
    Ordinal,
    /// Left out.
    Drop,
}

/// What becomes of a text column. Words are runs of letters and digits, two at least, in small letters. Rows are scaled
/// to length 1.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TextFeatures {
    /// Each word adds 1 or -1, by its hash, to one of so many numbers.
    Hash {
        /// How many numbers.
        buckets: usize,
    },
    /// How often a word occurs, times ln((1 + n) / (1 + rows with the word)) + 1.
    TfIdf {
        /// The most common words, so many at most.
        max_words: usize,
        /// Words that occur in fewer training rows are left out.
        min_rows: usize,
    },
    /// Left out.
    Drop,
}

/// How columns become numbers.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Encoding {
    /// What stands in for a missing number.
    pub impute: Impute,
    /// Whether a numeric column with missing values in the training rows gets a second feature, 1 where one is missing.
    pub indicators: bool,
    /// Whether numbers are shifted and scaled to mean 0 and variance 1 (with n below) on the training rows.
    pub scale: bool,
    /// Categorical columns of more categories count as high-cardinality.
    pub max_one_hot: usize,
    /// What becomes of those.
    pub many: ManyCategories,
    /// What becomes of text columns.
    pub text: TextFeatures,
    /// Whether dates become year, month, weekday, hour (for instants) and seconds since 1970; otherwise they are left
    /// out.
    pub dates: bool,
}

impl Default for Encoding {
    fn default() -> Self {
        Self {
            impute: Impute::Mean,
            indicators: true,
            scale: false,
            max_one_hot: 100,
            many: ManyCategories::Hash { buckets: 64 },
            text: TextFeatures::Hash { buckets: 256 },
            dates: true,
        }
    }
}

/// How columns become numbers, with exceptions for some of them.
///
/// ```
/// use tove_data::table::encode::{Choices, Encoding, ManyCategories};
/// let ordinal = Encoding { max_one_hot: 0, many: ManyCategories::Ordinal, ..Encoding::default() };
/// let choices = Choices::from(Encoding::default()).with("size", ordinal);
/// assert_eq!((choices.of("size").max_one_hot, choices.of("color").max_one_hot), (0, 100));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choices {
    usual: Encoding,
    exceptions: Vec<(String, Encoding)>,
}

impl Choices {
    /// With this encoding for one column; the last word counts.
    #[must_use]
    pub fn with(mut self, column: impl Into<String>, encoding: Encoding) -> Choices {
        self.exceptions.push((column.into(), encoding));
        self
    }

    /// With another encoding for all columns without one of their own.
    #[must_use]
    pub fn usual(self, usual: Encoding) -> Choices {
        Choices { usual, ..self }
    }

    /// How this column becomes numbers.
    pub fn of(&self, column: &str) -> &Encoding {
        self.exceptions.iter().rev().find(|(name, _)| name == column).map_or(&self.usual, |(_, encoding)| encoding)
    }

    /// The columns with an encoding of their own.
    pub fn exceptions(&self) -> impl Iterator<Item = &str> {
        self.exceptions.iter().map(|(name, _)| name.as_str())
    }
}

impl From<Encoding> for Choices {
    fn from(usual: Encoding) -> Choices {
        Choices { usual, exceptions: Vec::new() }
    }
}
