//! Arguments of the commands that train networks on images and text, and of the demonstrations.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::written;

/// Where a training run leaves its files.
#[derive(Args, Clone)]
pub struct Keeping {
    /// Model file to write; in the folder of the run by default
    #[arg(long, short, value_parser = written(), value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// HTML report to write; in the folder of the run by default
    #[arg(long, value_parser = written(), value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Replace files that exist
    #[arg(long)]
    pub overwrite: bool,
    /// The folder of runs
    #[arg(long, default_value = "tove-runs", env = "TOVE_RUNS", value_name = "FOLDER")]
    pub runs: PathBuf,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  tove images fit digits
  tove images fit digits --model cnn --augment -o digits.tove
  tove images fit photos --model cnn --epochs 30
  tove images predict digits.tove seven.png
  tove images transfer digits.tove letters --labels 10")]
pub struct Images {
    #[command(subcommand)]
    pub action: ImagesAction,
}

#[derive(Subcommand)]
pub enum ImagesAction {
    /// Train an image classifier, evaluate it on held-out images, save it with a report
    ///
    /// Images in folders may have different sizes: each is scaled to cover one size and center-cropped. Grayscale images are
    /// converted to color if any is in color, transparency is dropped, and files that cannot be read are skipped and listed.
    Fit(ImagesFit),
    /// Classify PNG and JPEG files
    Predict(ImagesPredict),
    /// Transfer learning: use a trained network for other classes with a few labeled images
    Transfer(ImagesTransfer),
}

/// The image networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NetKind {
    /// Fully-connected layers
    Mlp,
    /// Convolutional network
    Cnn,
    /// Vision transformer
    Vit,
}

impl From<NetKind> for tove::vision::NetKind {
    fn from(kind: NetKind) -> tove::vision::NetKind {
        match kind {
            NetKind::Mlp => tove::vision::NetKind::Mlp,
            NetKind::Cnn => tove::vision::NetKind::Cnn,
            NetKind::Vit => tove::vision::NetKind::Vit,
        }
    }
}

#[derive(Args)]
pub struct ImagesFit {
    /// The word digits (built in), a folder with a folder of PNG or JPEG files for each class, or a folder of IDX files
    pub path: PathBuf,
    /// Architecture
    #[arg(long, short, value_enum, default_value = "mlp")]
    pub model: NetKind,
    /// Epochs of training
    #[arg(long, default_value_t = 20, value_name = "N")]
    pub epochs: usize,
    /// Batch size
    #[arg(long, default_value_t = 32, value_name = "N")]
    pub batch: usize,
    /// Learning rate; by default 0.002, and 0.001 for vit
    #[arg(long, value_name = "X")]
    pub learning_rate: Option<f64>,
    /// Units of the hidden layers; one number for a CNN
    #[arg(long, value_name = "N,N", value_delimiter = ',')]
    pub hidden: Vec<usize>,
    /// Filters of a CNN's blocks
    #[arg(long, value_name = "N,N", value_delimiter = ',')]
    pub filters: Vec<usize>,
    /// Augmentation: shift and rotate training images a little, anew in every epoch
    #[arg(long)]
    pub augment: bool,
    /// Pad all images by this many pixels and shift each at random within the padding, held-out images too
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub shift: usize,
    /// Use only these classes
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub classes: Vec<String>,
    /// Height and width that images of a folder are scaled to, as 32 or 24x32; by default the most common size, or 64 pixels
    /// along the longer side if that is above 128
    #[arg(long, value_name = "N|HxW", value_parser = picture_size)]
    pub size: Option<[usize; 2]>,
    /// Fraction of the images held out for the final scores, if the folder has no test set
    #[arg(long, default_value_t = 0.25, value_name = "FRACTION")]
    pub test_size: f64,
    /// Fraction of the other images used for validation: the weights with the lowest validation loss are kept, also after
    /// Ctrl-C. 0 keeps the last weights, as do data sets with fewer than 20 validation images
    #[arg(long, default_value_t = 0.1, value_name = "FRACTION")]
    pub validation: f64,
    /// Seed of the split, the initial weights, the order of samples and the augmentation
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u64,
    #[command(flatten)]
    pub keeping: Keeping,
}

/// Height and width from one number or two.
fn picture_size(text: &str) -> Result<[usize; 2], String> {
    let side = |text: &str| text.trim().parse::<usize>().ok().filter(|side| (1..=4096).contains(side));
    let both = match text.split_once(['x', 'X', '×']) {
        Some((height, width)) => side(height).zip(side(width)),
        None => side(text).map(|side| (side, side)),
    };
    both.map(|(height, width)| [height, width]).ok_or_else(|| "give pixels from 1 to 4096, as 32 or 24x32".to_owned())
}

#[derive(Args)]
pub struct ImagesPredict {
    /// The model file
    pub model: PathBuf,
    /// PNG or JPEG files, or folders of them; images of another size are scaled and center-cropped. Files that cannot be read
    /// are listed at the end
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Fail if any file cannot be read, not only if none can
    #[arg(long)]
    pub strict: bool,
}

#[derive(Args)]
#[command(after_help = "\
The convolutions of a CNN, or all layers but the last of another network, are frozen. A logistic regression is fitted to their output for a few labeled images, and another to the raw pixels for comparison. The new model is the frozen layers followed by the regression, fine-tuned for a few epochs. A network that was trained with --shift gets images shifted in the same way.

Examples:
  tove images fit digits --model cnn --augment --classes 0,1,2,3,4,5,6 -o seven.tove
  tove images transfer seven.tove digits --classes 7,8,9 --labels 10 -o three.tove")]
pub struct ImagesTransfer {
    /// The model file
    pub model: PathBuf,
    /// The other images: as for `tove images fit`
    pub path: PathBuf,
    /// Labeled images per class; all others are held out
    #[arg(long, default_value_t = 10, value_name = "N")]
    pub labels: usize,
    /// Use only these classes
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub classes: Vec<String>,
    /// Epochs of fine-tuning the classifier behind the frozen layers
    #[arg(long, default_value_t = 20, value_name = "N")]
    pub epochs: usize,
    /// Seed of the choice of labeled images
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u64,
    #[command(flatten)]
    pub keeping: Keeping,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  tove text fit shakespeare.txt -o bard.tove
  tove text fit shakespeare.txt --tokens bpe --steps 4000
  tove text generate bard.tove --prompt 'ROMEO:' --length 400 --temperature 0.8 --top-k 20")]
pub struct Text {
    #[command(subcommand)]
    pub action: TextAction,
}

#[derive(Subcommand)]
pub enum TextAction {
    /// Train a small GPT on a text, evaluate it on the end of the text, save it with a report
    Fit(TextFit),
    /// Generate text from a prompt
    Generate(TextGenerate),
}

/// The tokens of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TokenKind {
    /// One token per character
    Characters,
    /// Byte-pair tokens learned from the text
    Bpe,
}

impl From<TokenKind> for tove::language::TokenKind {
    fn from(kind: TokenKind) -> tove::language::TokenKind {
        match kind {
            TokenKind::Characters => tove::language::TokenKind::Characters,
            TokenKind::Bpe => tove::language::TokenKind::Bpe,
        }
    }
}

#[derive(Args)]
pub struct TextFit {
    /// A text file in UTF-8, also gzipped
    pub file: PathBuf,
    /// The tokenizer
    #[arg(long, value_enum, default_value = "characters")]
    pub tokens: TokenKind,
    /// Vocabulary size for bpe
    #[arg(long, default_value_t = 512, value_name = "N")]
    pub vocabulary: usize,
    /// Transformer blocks
    #[arg(long, default_value_t = 4, value_name = "N")]
    pub layers: usize,
    /// Attention heads
    #[arg(long, default_value_t = 4, value_name = "N")]
    pub heads: usize,
    /// Embedding width, a multiple of the heads
    #[arg(long, default_value_t = 128, value_name = "N")]
    pub width: usize,
    /// Context length in tokens
    #[arg(long, default_value_t = 64, value_name = "N")]
    pub context: usize,
    /// Training steps
    #[arg(long, default_value_t = 2000, value_name = "N")]
    pub steps: u64,
    /// Batch size: windows of text per step
    #[arg(long, default_value_t = 12, value_name = "N")]
    pub batch: usize,
    /// Learning rate
    #[arg(long, default_value_t = 1e-3, value_name = "X")]
    pub learning_rate: f64,
    /// Fraction of the text, at its end, held out for the final scores
    #[arg(long, default_value_t = 0.1, value_name = "FRACTION")]
    pub test_size: f64,
    /// Fraction of the rest, at its end, used for validation: the weights with the lowest validation loss are kept, also
    /// after Ctrl-C. 0 keeps the last weights
    #[arg(long, default_value_t = 0.1, value_name = "FRACTION")]
    pub validation: f64,
    /// Seed of the initial weights and the windows
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u64,
    #[command(flatten)]
    pub keeping: Keeping,
}

#[derive(Args)]
pub struct TextGenerate {
    /// The model file
    pub model: PathBuf,
    /// The prompt
    #[arg(long, default_value = "\n", hide_default_value = true, value_name = "TEXT")]
    pub prompt: String,
    /// Tokens to generate
    #[arg(long, default_value_t = 200, value_name = "N")]
    pub length: usize,
    /// Sampling temperature; 0 always takes the most likely token
    #[arg(long, default_value_t = 0.8, value_name = "T", allow_negative_numbers = true)]
    pub temperature: f64,
    /// Sample from the K most likely tokens only
    #[arg(long, value_name = "K")]
    pub top_k: Option<usize>,
    /// Nucleus sampling: sample from the fewest tokens whose probabilities reach P
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    pub top_p: Option<f64>,
    /// Seed of the sampling
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u64,
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  tove demo\n  tove demo batches\n  tove demo softmax --svg softmax.svg\n  tove demo 3"
)]
pub struct Demo {
    /// Name or number of a demonstration; all are listed without it
    pub topic: Option<String>,
    /// Write the chart to this file
    #[arg(long, value_name = "FILE.svg")]
    pub svg: Option<PathBuf>,
    /// Write text and chart to this HTML file
    #[arg(long, value_name = "FILE.html")]
    pub html: Option<PathBuf>,
    /// Replace files that exist
    #[arg(long)]
    pub overwrite: bool,
    /// Samples (batches)
    #[arg(long, default_value_t = 12, value_name = "N")]
    pub samples: usize,
    /// Samples per batch (batches)
    #[arg(long, default_value_t = 4, value_name = "N")]
    pub batch: usize,
    /// Epochs (batches)
    #[arg(long, default_value_t = 2, value_name = "N")]
    pub epochs: usize,
    /// Drop a last batch that is smaller than the others (batches)
    #[arg(long)]
    pub drop_last: bool,
    /// Scores (softmax)
    #[arg(long, default_value = "1,2,3", value_delimiter = ',', value_name = "X,X", allow_hyphen_values = true)]
    pub scores: Vec<f64>,
    /// Temperatures (softmax)
    #[arg(long, default_value = "1,10,100", value_delimiter = ',', value_name = "T,T", allow_hyphen_values = true)]
    pub temperature: Vec<f64>,
    /// Learning rate (descent)
    #[arg(long, default_value_t = 0.07, value_name = "X", allow_negative_numbers = true)]
    pub step: f64,
    /// Random seed
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u64,
}
