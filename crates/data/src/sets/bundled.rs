//! The sets that are built into the program.

use tove_tensor::DType;

use crate::images::idx;
use crate::{Result, TensorDataset};

/// 1797 handwritten digits of 8 × 8 pixels: images (1797, 1, 8, 8) in [0, 1] (the original's 0 … 16, divided by 16),
/// classes 0 … 9. Compiled into the crate, 44 kB.
///
/// The test part of "Optical Recognition of Handwritten Digits" (Alpaydin and Kaynak 1998), as scikit-learn gives it;
/// the licences are in `assets/LICENCE-digits.md`.
///
/// ```
/// use tove_data::{Dataset, sets};
/// let digits = sets::digits()?;
/// assert_eq!((digits.len(), digits.y().to_vec::<i64>()[..4].to_vec()), (1797, vec![0, 1, 2, 3]));
/// # Ok::<(), tove_data::DataError>(())
/// ```
///
/// # Errors
/// Never, as long as the file in the crate is whole.
pub fn digits() -> Result<TensorDataset> {
    let images = idx::from_bytes(include_bytes!("../../assets/digits-images-idx3-ubyte.gz"))?;
    let labels = idx::from_bytes(include_bytes!("../../assets/digits-labels-idx1-ubyte.gz"))?;
    let x = images.to_dtype(DType::F32) * (1.0 / 16.0);
    TensorDataset::new(x.reshape([images.dims()[0], 1, 8, 8]), labels.to_dtype(DType::I64))
}

/// 48 short made-up news items with their topics (sports, weather, economy, science), twelve of each: for trying out clustering and
/// retrieval of text.
///
/// ```
/// let news = tove_data::sets::news();
/// assert_eq!((news.len(), news[0].0), (48, "sports"));
/// ```
pub fn news() -> Vec<(&'static str, &'static str)> {
    include_str!("../../assets/news.tsv").lines().filter_map(|line| line.split_once('\t')).collect()
}
