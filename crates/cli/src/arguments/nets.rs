//! Arguments of the commands that train nets on images and texts, and of the demonstrations.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// Where a training run leaves its files.
#[derive(Args, Clone)]
pub struct Keeping {
    /// Where the model goes; into the folder of the run otherwise
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Where the report goes; into the folder of the run otherwise
    #[arg(long, value_name = "FILE.html")]
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
    /// Train a net to tell images apart, judge it on images set aside, save it with a report
    ///
    /// Pictures in folders may have different sizes: they are scaled until they cover one size, and the middle is cut out.
    /// Grey ones become colour where any is in colour, transparency is dropped, and files that cannot be read are left out
    /// and named.
    Fit(ImagesFit),
    /// Tell what PNG and JPEG files show
    Predict(ImagesPredict),
    /// Use a trained net for other classes, of which only a few images have labels
    Transfer(ImagesTransfer),
}

/// The nets there are for images.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NetKind {
    /// Fully-connected layers
    Mlp,
    /// Convolutions
    Cnn,
    /// A transformer of patches
    Vit,
}

#[derive(Args)]
pub struct ImagesFit {
    /// The word digits (built in), a folder with a folder of PNG or JPEG files for each class, or a folder of IDX files
    pub path: PathBuf,
    /// The kind of net
    #[arg(long, short, value_enum, default_value = "mlp")]
    pub model: NetKind,
    /// How often each image is seen
    #[arg(long, default_value_t = 20, value_name = "N")]
    pub epochs: usize,
    /// Images per step
    #[arg(long, default_value_t = 32, value_name = "N")]
    pub batch: usize,
    /// The step size; 0.002, and 0.001 for a transformer, unless told otherwise
    #[arg(long, value_name = "X")]
    pub learning_rate: Option<f64>,
    /// Units of the hidden layers; one number for a CNN
    #[arg(long, value_name = "N,N", value_delimiter = ',')]
    pub hidden: Vec<usize>,
    /// Filters of a CNN's blocks
    #[arg(long, value_name = "N,N", value_delimiter = ',')]
    pub filters: Vec<usize>,
    /// Shift and turn training images a little, anew in every epoch
    #[arg(long)]
    pub augment: bool,
    /// Put a border of so many pixels round all images and shift each at random within it, those to judge by too
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub shift: usize,
    /// Take only these classes
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub classes: Vec<String>,
    /// Height and width that pictures of a folder are scaled to, as 32 or 24x32; unless told otherwise the most common
    /// size, and 64 pixels along the longer side if that is above 128
    #[arg(long, value_name = "N|HxW", value_parser = picture_size)]
    pub size: Option<[usize; 2]>,
    /// Share of the images set aside to judge the net, where the folder does not say which
    #[arg(long, default_value_t = 0.25, value_name = "SHARE")]
    pub test_size: f64,
    /// Share of the other images by which the training is watched: the weights with the lowest loss on them are kept, also
    /// after Ctrl-C. 0 takes the last weights, and so do sets in which fewer than 20 images would be watched
    #[arg(long, default_value_t = 0.1, value_name = "SHARE")]
    pub validation: f64,
    /// Seed of the split, the first weights, the order and the augmentation
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
    /// PNG or JPEG files, or folders of them; those of another size are scaled until they cover the net's, and the middle is
    /// cut out. Files that cannot be read are named at the end
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Fail if any file cannot be read, not only if none can
    #[arg(long)]
    pub strict: bool,
}

#[derive(Args)]
#[command(after_help = "\
The net's layers but the last are frozen. Their output for a few labelled images is what a logistic regression learns
from; another learns from the pixels themselves. The new model is the net with the regression as its last layer,
trained on for a few epochs. A net that was trained with --shift gets images that are shifted likewise.

Examples:
  tove images fit digits --model cnn --shift 2 --classes 0,1,2,3,4,5,6 -o seven.tove
  tove images transfer seven.tove digits --classes 7,8,9 --labels 10 -o three.tove")]
pub struct ImagesTransfer {
    /// The model file
    pub model: PathBuf,
    /// The other images: as for `tove images fit`
    pub path: PathBuf,
    /// Labelled images per class; all others judge
    #[arg(long, default_value_t = 10, value_name = "N")]
    pub labels: usize,
    /// Take only these classes
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub classes: Vec<String>,
    /// Epochs of further training of the last layer
    #[arg(long, default_value_t = 20, value_name = "N")]
    pub epochs: usize,
    /// Seed of the choice of labelled images
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
    /// Train a small GPT on a text, judge it on the end of the text, save it with a report
    Fit(TextFit),
    /// Write on from a prompt
    Generate(TextGenerate),
}

/// What a text is cut into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TokenKind {
    /// One token per character
    Characters,
    /// Byte-pair tokens learned from the text
    Bpe,
}

#[derive(Args)]
pub struct TextFit {
    /// A text file in UTF-8, packed with gzip or not
    pub file: PathBuf,
    /// What the text is cut into
    #[arg(long, value_enum, default_value = "characters")]
    pub tokens: TokenKind,
    /// Number of byte-pair tokens
    #[arg(long, default_value_t = 512, value_name = "N")]
    pub vocabulary: usize,
    /// Transformer blocks
    #[arg(long, default_value_t = 4, value_name = "N")]
    pub layers: usize,
    /// Heads of each attention
    #[arg(long, default_value_t = 4, value_name = "N")]
    pub heads: usize,
    /// Features of a token, a multiple of the heads
    #[arg(long, default_value_t = 128, value_name = "N")]
    pub width: usize,
    /// Tokens that the net looks back on
    #[arg(long, default_value_t = 64, value_name = "N")]
    pub context: usize,
    /// Steps of training
    #[arg(long, default_value_t = 2000, value_name = "N")]
    pub steps: u64,
    /// Windows of text per step
    #[arg(long, default_value_t = 12, value_name = "N")]
    pub batch: usize,
    /// The step size
    #[arg(long, default_value_t = 1e-3, value_name = "X")]
    pub learning_rate: f64,
    /// Share of the text, at its end, set aside to judge the net
    #[arg(long, default_value_t = 0.1, value_name = "SHARE")]
    pub test_size: f64,
    /// Share of the rest, at its end, by which the training is watched: the weights with the lowest loss on it are kept, also
    /// after Ctrl-C. 0 takes the last weights
    #[arg(long, default_value_t = 0.1, value_name = "SHARE")]
    pub validation: f64,
    /// Seed of the first weights and the windows
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u64,
    #[command(flatten)]
    pub keeping: Keeping,
}

#[derive(Args)]
pub struct TextGenerate {
    /// The model file
    pub model: PathBuf,
    /// The text to go on from
    #[arg(long, default_value = "\n", hide_default_value = true, value_name = "TEXT")]
    pub prompt: String,
    /// Tokens to write
    #[arg(long, default_value_t = 200, value_name = "N")]
    pub length: usize,
    /// Below 1 the likely becomes likelier; 0 always takes the likeliest
    #[arg(long, default_value_t = 0.8, value_name = "T", allow_negative_numbers = true)]
    pub temperature: f64,
    /// Draw among the K likeliest tokens only
    #[arg(long, value_name = "K")]
    pub top_k: Option<usize>,
    /// Draw among the fewest tokens whose probabilities reach P
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    pub top_p: Option<f64>,
    /// Seed of the draw
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
    /// Write the picture into this file
    #[arg(long, value_name = "FILE.svg")]
    pub svg: Option<PathBuf>,
    /// Write text and picture into this HTML file
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
    /// Leave out a last batch that is smaller than the others (batches)
    #[arg(long)]
    pub drop_last: bool,
    /// Scores (softmax)
    #[arg(long, default_value = "1,2,3", value_delimiter = ',', value_name = "X,X", allow_hyphen_values = true)]
    pub scores: Vec<f64>,
    /// Temperatures (softmax)
    #[arg(long, default_value = "1,10,100", value_delimiter = ',', value_name = "T,T", allow_hyphen_values = true)]
    pub temperature: Vec<f64>,
    /// The step size (descent)
    #[arg(long, default_value_t = 0.07, value_name = "X", allow_negative_numbers = true)]
    pub step: f64,
    /// Seed of what is random
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u64,
}
