//! Well-known sets, read from a folder of this machine. Nothing is downloaded.

use std::path::{Path, PathBuf};

use tove_tensor::{DType, Tensor};

use crate::images::{cifar, read_idx};
use crate::text::read_text;
use crate::{DataError, Result, TensorDataset};

/// A data set with a training part and a test part.
#[derive(Clone, Debug)]
pub struct TrainTest {
    /// To learn from.
    pub train: TensorDataset,
    /// The test part.
    pub test: TensorDataset,
}

/// Names of the classes of Fashion-MNIST.
pub const FASHION_MNIST_CLASSES: [&str; 10] =
    ["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"];

/// Names of the classes of CIFAR-10.
pub const CIFAR10_CLASSES: [&str; 10] =
    ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"];

/// The folder of data sets on this machine: `TOVE_DATA` if that is a folder; otherwise `../shared/data` beside the
/// repository that the present folder belongs to.
///
/// ```
/// match tove_data::sets::data_dir() {
///     Some(folder) => assert!(folder.is_dir()),
///     None => println!("no data folder; set TOVE_DATA"),
/// }
/// ```
pub fn data_dir() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os("TOVE_DATA") {
        // Whoever names a folder means that one, not another that happens to be there.
        return Some(PathBuf::from(folder)).filter(|folder| folder.is_dir());
    }
    let here = std::env::current_dir().ok()?;
    let repository = here.ancestors().find(|folder| folder.join(".git").exists())?;
    Some(repository.parent()?.join("shared/data")).filter(|folder| folder.is_dir())
}

/// A file of a set: in the folder given or found, or in its folder of the set's name, packed or not.
fn find(set: &'static str, dir: Option<&Path>, file: &str, advice: &'static str) -> Result<PathBuf> {
    let mut looked = Vec::new();
    if let Some(base) = dir.map(Path::to_owned).or_else(data_dir) {
        for folder in [base.join(set), base] {
            for name in [file.to_owned(), format!("{file}.gz")] {
                let path = folder.join(name);
                if path.is_file() {
                    return Ok(path);
                }
                looked.push(path);
            }
        }
    }
    Err(DataError::Missing { set, looked, advice })
}

/// Bytes as f32 in [0, 1].
fn scaled(images: &Tensor) -> Result<Tensor> {
    Ok(images.try_to_dtype(DType::F32)? / 255.0)
}

/// Fashion-MNIST: 60,000 and 10,000 grey images (1, 28, 28) of clothing in [0, 1], classes 0 … 9.
///
/// `dir` is the folder with the four IDX files, or the one that holds it as `fashion-mnist`; [`data_dir`] if none is
/// given. In f32 the set takes 220 MB; [`StreamedImages`](crate::images::StreamedImages) leaves it in the file.
///
/// ```no_run
/// let sets = tove_data::sets::fashion_mnist(None)?;
/// assert_eq!(sets.train.x().dims(), [60_000, 1, 28, 28]);
/// # Ok::<(), tove_data::DataError>(())
/// ```
///
/// # Errors
/// If the files are not there (the error says where to get them) or not in order.
pub fn fashion_mnist(dir: Option<&Path>) -> Result<TrainTest> {
    let advice = "get the four files *-idx3-ubyte.gz and *-idx1-ubyte.gz from github.com/zalandoresearch/fashion-mnist";
    let part = |name: &str| -> Result<TensorDataset> {
        let file = |kind: &str| find("fashion-mnist", dir, &format!("{name}-{kind}-ubyte"), advice);
        let (images, labels) = (read_idx(file("images-idx3")?)?, read_idx(file("labels-idx1")?)?);
        let [count, height, width] = *images.dims() else {
            let problem = format!("images of shape {}; three axes are expected", images.shape());
            return Err(DataError::parameter("fashion_mnist", problem));
        };
        TensorDataset::new(scaled(&images)?.reshape([count, 1, height, width]), labels.try_to_dtype(DType::I64)?)
    };
    Ok(TrainTest { train: part("train")?, test: part("t10k")? })
}

/// The first 5,000 training and 1,000 test images (3, 32, 32) of CIFAR-10 in [0, 1], classes 0 … 9.
///
/// `dir` is the folder with `train-5000.bin` and `test-1000.bin`, packed or not, or the one that holds it as
/// `cifar10-subset`; [`data_dir`] if none is given.
///
/// # Errors
/// As [`fashion_mnist`].
pub fn cifar10_subset(dir: Option<&Path>) -> Result<TrainTest> {
    let advice = "take the first 5,000 records of data_batch_1.bin and the first 1,000 of test_batch.bin of CIFAR-10's \
                  binary version (cs.toronto.edu/~kriz/cifar.html) as train-5000.bin and test-1000.bin";
    let part = |name: &str| -> Result<TensorDataset> {
        let (images, labels) = cifar::read(find("cifar10-subset", dir, name, advice)?)?;
        TensorDataset::new(scaled(&images)?, labels)
    };
    Ok(TrainTest { train: part("train-5000.bin")?, test: part("test-1000.bin")? })
}

/// 40,000 lines of Shakespeare, 1,115,394 characters.
///
/// `dir` is the folder with `input.txt`, or the one that holds it as `tinyshakespeare`; [`data_dir`] if none is given.
///
/// # Errors
/// As [`fashion_mnist`].
pub fn tinyshakespeare(dir: Option<&Path>) -> Result<String> {
    let advice = "get data/tinyshakespeare/input.txt from github.com/karpathy/char-rnn";
    read_text(find("tinyshakespeare", dir, "input.txt", advice)?)
}
