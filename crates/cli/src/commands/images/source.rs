//! Where images come from: the built-in digits, a folder of folders, IDX files, single images.

use std::path::{Path, PathBuf};

use tove::data::images::read_idx;
use tove::data::{Augment, Dataset, TensorDataset, sets};
use tove::tensor::{DType, Key, Tensor};

use super::folder::{Notes, Wish, from_folders};
use crate::failure::Failure;

/// Fewer images are not worth watching: one of 20 is 5 % of their accuracy.
const LEAST_VALIDATION: f64 = 20.0;

/// Images (n, channels, height, width) in [0, 1] with their classes.
pub struct Pictures {
    pub classes: Vec<String>,
    pub all: TensorDataset,
    /// Images that the folder itself sets aside.
    pub test: Option<TensorDataset>,
    pub notes: Notes,
}

impl Pictures {
    /// Reads what `path` names, as wished.
    pub fn read(path: &Path, wish: Wish<'_>) -> Result<Pictures, Failure> {
        let wanted = wish.classes;
        let pictures = if path == Path::new("digits") {
            let all = sets::digits()?;
            Pictures {
                classes: (0..10).map(|class| class.to_string()).collect(),
                all,
                test: None,
                notes: Notes::default(),
            }
        } else if !path.is_dir() {
            return Err(Failure::work(format!(
                "{}: no such folder; give one with a folder of images per class, or the word digits",
                path.display()
            )));
        } else if let Some(pictures) = from_idx(path)? {
            pictures
        } else {
            from_folders(path, wish)?
        };
        if let Some([height, width]) = wish.size.filter(|size| pictures.all.x().dims()[2..] != *size) {
            let (path, has) = (path.display(), pixels(&pictures.all.x().dims()[1..]));
            let problem = format!("{path} has images of {has} pixels, which cannot become {height} × {width}");
            return Err(Failure::work(format!("{problem}; only PNG and JPEG files are scaled")));
        }
        let pictures = if wanted.is_empty() { pictures } else { pictures.only(wanted)? };
        match pictures.classes.len() {
            0 | 1 => Err(Failure::work(format!("{}: at least two classes are needed", path.display()))),
            _ => Ok(pictures),
        }
    }

    /// The images of some classes, in their order.
    fn only(&self, wanted: &[String]) -> Result<Pictures, Failure> {
        let mut numbers = Vec::new();
        for name in wanted {
            let found = self.classes.iter().position(|class| class == name).ok_or_else(|| {
                Failure::usage(format!("--classes: there is no class {name}; there are {}", self.classes.join(", ")))
            })?;
            if numbers.contains(&(found as i64)) {
                return Err(Failure::usage(format!("--classes: {name} is repeated")));
            }
            numbers.push(found as i64);
        }
        let of = |set: &TensorDataset| -> Result<TensorDataset, Failure> {
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
        Ok(Pictures { classes, all: of(&self.all)?, test: self.test.as_ref().map(of).transpose()?, notes })
    }

    /// Images to learn from and images to evaluate by, every class in the same share.
    pub fn split(&self, share: f64, seed: u64) -> Result<(TensorDataset, TensorDataset), Failure> {
        if let Some(test) = &self.test {
            return Ok((self.all.clone(), test.clone()));
        }
        let (train, test) = divide(&self.all, 1.0 - share, Key::new(seed).fold(1))?;
        if train.is_empty() || test.is_empty() {
            let count = self.all.len();
            return Err(Failure::work(format!("{count} images are too few to hold some out; give more of each class")));
        }
        Ok((train, test))
    }
}

/// A set in two parts, every class in the same share.
fn divide(set: &TensorDataset, share: f64, key: Key) -> Result<(TensorDataset, TensorDataset), Failure> {
    let (first, second) = set.clone().split_stratified(set.y(), share, key)?;
    let whole = |part: &dyn Dataset| -> Result<TensorDataset, Failure> {
        let batch = part.all(key)?;
        Ok(TensorDataset::new(batch.x, batch.y)?)
    };
    Ok((whole(&first)?, whole(&second)?))
}

/// Training and validation images; none of the latter if they would be too few.
pub fn with_validation(
    set: TensorDataset,
    share: f64,
    seed: u64,
) -> Result<(TensorDataset, Option<TensorDataset>), Failure> {
    if share * (set.len() as f64) < LEAST_VALIDATION {
        return Ok((set, None));
    }
    let (train, validation) = divide(&set, 1.0 - share, Key::new(seed).fold(3))?;
    Ok((train, Some(validation)))
}

/// Images with a border of `by` pixels, each shifted by up to as many in both directions.
pub fn shifted(set: &TensorDataset, by: usize, key: Key) -> Result<TensorDataset, Failure> {
    if by == 0 {
        return Ok(set.clone());
    }
    let x = Augment::new().shift(by, by).apply(&bordered(set.x(), by), key)?;
    Ok(TensorDataset::new(x, set.y().clone())?)
}

/// Images with a black border of `by` pixels.
pub fn bordered(x: &Tensor, by: usize) -> Tensor {
    if by == 0 { x.clone() } else { x.pad(&[(0, 0), (0, 0), (by, by), (by, by)], 0.0) }
}

/// The four IDX files of MNIST and its like, the last two of which may be missing; none if there is no such file.
fn from_idx(folder: &Path) -> Result<Option<Pictures>, Failure> {
    let find = |name: &str| -> Option<PathBuf> {
        [name.to_owned(), format!("{name}.gz")].iter().map(|name| folder.join(name)).find(|path| path.is_file())
    };
    let part = |name: &str| -> Result<Option<TensorDataset>, Failure> {
        let Some(images) = find(&format!("{name}-images-idx3-ubyte")) else { return Ok(None) };
        let labels = format!("{name}-labels-idx1-ubyte");
        let labels = find(&labels)
            .ok_or_else(|| Failure::work(format!("{}: there is no {labels} beside the images", folder.display())))?;
        let x = read_idx(&images)?;
        let &[count, height, width] = x.dims() else {
            return Err(Failure::work(format!("{}: shape {}, not (n, height, width)", images.display(), x.shape())));
        };
        let x = x.to_dtype(DType::F32).reshape([count, 1, height, width]) / 255.0;
        let y = read_idx(&labels)?.to_dtype(DType::I64);
        Ok(Some(TensorDataset::new(x, y)?))
    };
    let Some(all) = part("train")? else { return Ok(None) };
    let test = part("t10k")?;
    let labels = all.y().to_vec::<i64>().into_iter().chain(test.iter().flat_map(|test| test.y().to_vec::<i64>()));
    let most = labels.max().unwrap_or(-1);
    if !(0..1000).contains(&most) {
        return Err(Failure::work(format!("{}: labels up to {most}; 0 to 999 are possible", folder.display())));
    }
    if test.as_ref().is_some_and(|test| test.x().dims()[1..] != all.x().dims()[1..]) {
        return Err(Failure::work(format!("{}: training and test images have different sizes", folder.display())));
    }
    let classes = (0..=most).map(|class| class.to_string()).collect();
    Ok(Some(Pictures { classes, all, test, notes: Notes::default() }))
}

/// Height × width.
pub fn pixels(shape: &[usize]) -> String {
    match shape {
        [_, height, width] => format!("{height} × {width}"),
        _ => format!("{shape:?}"),
    }
}
