//! Where images come from: the built-in digits, a folder of folders, IDX files, single images.

use std::path::{Path, PathBuf};

use tove_data::images::read_idx;
use tove_data::{Augment, Dataset, TensorDataset, sets};
use tove_tensor::{DType, Key, Tensor};

use super::folder::{ImageNotes, ImageOptions, all_pictures, from_folders};
use crate::net_files::{ModelError, Result};

/// Fewer images are not worth watching: one of 20 is 5 % of their accuracy.
const LEAST_VALIDATION: f64 = 20.0;

/// Images (n, channels, height, width) in [0, 1] with the numbers of their classes.
#[derive(Clone)]
pub struct Images {
    /// Names of the classes, in the order of their numbers.
    pub classes: Vec<String>,
    /// The images, but for those that are set aside.
    pub all: TensorDataset,
    /// Images that the folder itself sets aside.
    pub test: Option<TensorDataset>,
    /// What reading did to them.
    pub notes: ImageNotes,
}

impl Images {
    /// Images in memory, with a name for each class.
    ///
    /// # Errors
    /// If the images are not (n, channels, height, width), or a label has no name.
    pub fn new(all: TensorDataset, classes: Vec<String>) -> Result<Images> {
        if all.x().rank() != 4 {
            let shape = all.x().shape();
            return Err(ModelError::source(format!("images of shape {shape}; give (n, channels, height, width)")));
        }
        let known = 0..classes.len() as i64;
        if let Some(label) = all.y().try_to_vec::<i64>()?.into_iter().find(|label| !known.contains(label)) {
            let problem = format!("label {label} has no name; give a name for each class, in their order");
            return Err(ModelError::setting("classes", classes.join(","), problem));
        }
        Ok(Images { classes, all, test: None, notes: ImageNotes::default() })
    }

    /// Reads the digits that are built in (the word `digits`), a folder with a folder of PNG or JPEG files for each class, or
    /// a folder of IDX files such as those of MNIST.
    ///
    /// Images in folders may have different sizes. All are resized to one: the given one, or the most common (the smaller one among
    /// equals), and if that is longer than 128 pixels, to 64 pixels along its longer side. An image of another size is scaled
    /// until it covers this one, and center-cropped. An image that cannot be read is skipped and noted.
    ///
    /// # Errors
    /// If there are no images, fewer than two classes, or none of the classes asked for.
    pub fn read(path: impl AsRef<Path>, options: &ImageOptions) -> Result<Images> {
        let (path, wanted) = (path.as_ref(), &options.classes);
        let images = if path == Path::new("digits") {
            let all = sets::digits()?;
            Images {
                classes: (0..10).map(|class| class.to_string()).collect(),
                all,
                test: None,
                notes: ImageNotes::default(),
            }
        } else if !path.is_dir() {
            return Err(ModelError::source(format!(
                "{}: no such folder; give one with a folder of images per class, or the word digits",
                path.display()
            )));
        } else if let Some(images) = from_idx(path)? {
            images
        } else {
            from_folders(path, options)?
        };
        if let Some([height, width]) = options.size.filter(|size| images.all.x().dims()[2..] != *size) {
            let (path, has) = (path.display(), pixels(&images.all.x().dims()[1..]));
            let problem = format!("{path} has images of {has} pixels, which cannot become {height} × {width}");
            return Err(ModelError::source(format!("{problem}; only PNG and JPEG files are scaled")));
        }
        let images = if wanted.is_empty() { images } else { images.only(wanted)? };
        match images.classes.len() {
            0 | 1 => Err(ModelError::source(format!("{}: at least two classes are needed", path.display()))),
            _ => Ok(images),
        }
    }

    /// Reads images (n, channels, height, width) in [0, 1] without classes: the built-in digits (the word `digits`, unless there is a
    /// file of that name), a folder with PNG or JPEG files in it or in folders below it, a folder of IDX files, or one IDX file.
    ///
    /// Images of different sizes are brought to one as by [`Images::read`].
    ///
    /// # Errors
    /// If there are no images, or the files cannot be read.
    pub fn pictures(path: impl AsRef<Path>, options: &ImageOptions) -> Result<(Tensor, ImageNotes)> {
        let path = path.as_ref();
        if path == Path::new("digits") && !path.exists() {
            return Ok((sets::digits()?.x().clone(), ImageNotes::default()));
        }
        if path.is_file() {
            return Ok((idx_pictures(path)?, ImageNotes::default()));
        }
        if !path.is_dir() {
            let problem = format!("{}: no such folder; give one with images, or the word digits", path.display());
            return Err(ModelError::source(problem));
        }
        match from_idx(path)? {
            Some(images) => {
                let test = images.test.iter().map(TensorDataset::x);
                let parts: Vec<&Tensor> = std::iter::once(images.all.x()).chain(test).collect();
                Ok((Tensor::concat(&parts, 0), images.notes))
            }
            None => all_pictures(path, options),
        }
    }

    /// The images of some classes, in their order.
    fn only(&self, wanted: &[String]) -> Result<Images> {
        let mut numbers = Vec::new();
        for name in wanted {
            let found = self.classes.iter().position(|class| class == name).ok_or_else(|| {
                let problem = format!("there is no class {name}; there are {}", self.classes.join(", "));
                ModelError::setting("classes", "", problem)
            })?;
            if numbers.contains(&(found as i64)) {
                return Err(ModelError::setting("classes", "", format!("{name} is repeated")));
            }
            numbers.push(found as i64);
        }
        let of = |set: &TensorDataset| -> Result<TensorDataset> {
            let labels = set.y().to_vec::<i64>();
            let (mut rows, mut classes) = (Vec::new(), Vec::new());
            for (row, label) in (0i64..).zip(labels) {
                if let Some(class) = numbers.iter().position(|&number| number == label) {
                    rows.push(row);
                    classes.push(class as i64);
                }
            }
            Ok(TensorDataset::new(set.x().index_select(0, &Tensor::from(rows)), Tensor::from(classes))?)
        };
        let (classes, notes) = (wanted.to_vec(), self.notes.clone());
        Ok(Images { classes, all: of(&self.all)?, test: self.test.as_ref().map(of).transpose()?, notes })
    }

    /// Images to learn from and images to evaluate by, every class in the same share.
    pub(super) fn split(&self, share: f64, seed: u64) -> Result<(TensorDataset, TensorDataset)> {
        if let Some(test) = &self.test {
            return Ok((self.all.clone(), test.clone()));
        }
        let (train, test) = divide(&self.all, 1.0 - share, Key::new(seed).fold(1))?;
        if train.is_empty() || test.is_empty() {
            let count = self.all.len();
            return Err(ModelError::source(format!(
                "{count} images are too few to hold some out; give more of each class"
            )));
        }
        Ok((train, test))
    }
}

/// A set in two parts, every class in the same share.
fn divide(set: &TensorDataset, share: f64, key: Key) -> Result<(TensorDataset, TensorDataset)> {
    let (first, second) = set.clone().split_stratified(set.y(), share, key)?;
    let whole = |part: &dyn Dataset| -> Result<TensorDataset> {
        let batch = part.all(key)?;
        Ok(TensorDataset::new(batch.x, batch.y)?)
    };
    Ok((whole(&first)?, whole(&second)?))
}

/// Training and validation images; none of the latter if they would be too few.
pub(super) fn with_validation(
    set: TensorDataset,
    share: f64,
    seed: u64,
) -> Result<(TensorDataset, Option<TensorDataset>)> {
    if share * (set.len() as f64) < LEAST_VALIDATION {
        return Ok((set, None));
    }
    let (train, validation) = divide(&set, 1.0 - share, Key::new(seed).fold(3))?;
    Ok((train, Some(validation)))
}

/// Images with a border of `by` pixels, each shifted by up to as many in both directions.
pub(super) fn shifted(set: &TensorDataset, by: usize, key: Key) -> Result<TensorDataset> {
    if by == 0 {
        return Ok(set.clone());
    }
    let x = Augment::new().shift(by, by).apply(&bordered(set.x(), by), key)?;
    Ok(TensorDataset::new(x, set.y().clone())?)
}

/// Images with a black border of `by` pixels.
pub(super) fn bordered(x: &Tensor, by: usize) -> Tensor {
    if by == 0 { x.clone() } else { x.pad(&[(0, 0), (0, 0), (by, by), (by, by)], 0.0) }
}

/// The images of an IDX file.
fn idx_pictures(path: &Path) -> Result<Tensor> {
    let x = read_idx(path)?;
    let &[count, height, width] = x.dims() else {
        let problem = format!("{}: shape {}, not (n, height, width)", path.display(), x.shape());
        return Err(ModelError::source(problem));
    };
    Ok(x.to_dtype(DType::F32).reshape([count, 1, height, width]) / 255.0)
}

/// The four IDX files of MNIST and its like, the last two of which may be missing; none if there is no such file.
fn from_idx(folder: &Path) -> Result<Option<Images>> {
    let find = |name: &str| -> Option<PathBuf> {
        [name.to_owned(), format!("{name}.gz")].iter().map(|name| folder.join(name)).find(|path| path.is_file())
    };
    let part = |name: &str| -> Result<Option<TensorDataset>> {
        let Some(images) = find(&format!("{name}-images-idx3-ubyte")) else { return Ok(None) };
        let labels = format!("{name}-labels-idx1-ubyte");
        let labels = find(&labels).ok_or_else(|| {
            ModelError::source(format!("{}: there is no {labels} beside the images", folder.display()))
        })?;
        let x = idx_pictures(&images)?;
        let y = read_idx(&labels)?.to_dtype(DType::I64);
        Ok(Some(TensorDataset::new(x, y)?))
    };
    let Some(all) = part("train")? else { return Ok(None) };
    let test = part("t10k")?;
    let labels = all.y().to_vec::<i64>().into_iter().chain(test.iter().flat_map(|test| test.y().to_vec::<i64>()));
    let most = labels.max().unwrap_or(-1);
    if !(0..1000).contains(&most) {
        return Err(ModelError::source(format!("{}: labels up to {most}; 0 to 999 are possible", folder.display())));
    }
    if test.as_ref().is_some_and(|test| test.x().dims()[1..] != all.x().dims()[1..]) {
        return Err(ModelError::source(format!("{}: training and test images have different sizes", folder.display())));
    }
    let classes = (0..=most).map(|class| class.to_string()).collect();
    Ok(Some(Images { classes, all, test, notes: ImageNotes::default() }))
}

/// Height × width.
pub(super) fn pixels(shape: &[usize]) -> String {
    match shape {
        [_, height, width] => format!("{height} × {width}"),
        _ => format!("{shape:?}"),
    }
}
