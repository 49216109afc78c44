//! Where images come from: the built-in digits, a folder of folders, IDX files, single pictures.

use std::fs;
use std::path::{Path, PathBuf};

use tove::data::images::{read_idx, read_image};
use tove::data::{Augment, Dataset, TensorDataset, sets};
use tove::tensor::{DType, Key, Tensor};

use crate::failure::Failure;

/// Images (n, channels, height, width) in [0, 1] with their classes.
pub struct Pictures {
    pub classes: Vec<String>,
    pub all: TensorDataset,
    /// Images that the folder itself sets aside.
    pub test: Option<TensorDataset>,
}

impl Pictures {
    /// Reads what `path` names; only these classes, if there are any.
    pub fn read(path: &Path, wanted: &[String]) -> Result<Pictures, Failure> {
        let pictures = if path == Path::new("digits") {
            let all = sets::digits()?;
            Pictures { classes: (0..10).map(|class| class.to_string()).collect(), all, test: None }
        } else if !path.is_dir() {
            return Err(Failure::work(format!(
                "{}: no such folder; give one with a folder of pictures per class, or the word digits",
                path.display()
            )));
        } else if let Some(pictures) = from_idx(path)? {
            pictures
        } else {
            from_folders(path, wanted)?
        };
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
                return Err(Failure::usage(format!("--classes: {name} is named twice")));
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
        Ok(Pictures { classes: wanted.to_vec(), all: of(&self.all)?, test: self.test.as_ref().map(of).transpose()? })
    }

    /// Images to learn from and images to judge by, every class in the same share.
    pub fn split(&self, share: f64, seed: u64) -> Result<(TensorDataset, TensorDataset), Failure> {
        if let Some(test) = &self.test {
            return Ok((self.all.clone(), test.clone()));
        }
        let key = Key::new(seed).fold(1);
        let (train, test) = self.all.clone().split_stratified(self.all.y(), 1.0 - share, key)?;
        let whole = |part: &dyn Dataset| -> Result<TensorDataset, Failure> {
            let batch = part.all(key)?;
            Ok(TensorDataset::new(batch.x, batch.y)?)
        };
        let (train, test) = (whole(&train)?, whole(&test)?);
        if train.is_empty() || test.is_empty() {
            let count = self.all.len();
            return Err(Failure::work(format!(
                "{count} images are too few to set some aside; give more of each class"
            )));
        }
        Ok((train, test))
    }
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
    Ok(Some(Pictures { classes: (0..=most).map(|class| class.to_string()).collect(), all, test }))
}

/// Everything in a folder that is not hidden, by name.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let wrong = |error: std::io::Error| Failure::work(format!("{}: {error}", folder.display()));
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        if !name_of(&path).starts_with('.') {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn name_of(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

fn is_picture(path: &Path) -> bool {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    path.is_file() && ending.is_some_and(|ending| ["png", "jpg", "jpeg"].contains(&ending.as_str()))
}

/// One folder of pictures per class.
fn from_folders(folder: &Path, wanted: &[String]) -> Result<Pictures, Failure> {
    let folders: Vec<PathBuf> = entries(folder)?.into_iter().filter(|path| path.is_dir()).collect();
    if folders.is_empty() {
        return Err(Failure::work(format!(
            "{}: neither folders of pictures (one per class) nor train-images-idx3-ubyte are in it",
            folder.display()
        )));
    }
    let (mut classes, mut images, mut labels) = (Vec::new(), Vec::<(PathBuf, Tensor)>::new(), Vec::new());
    for path in folders {
        let name = name_of(&path);
        let number = classes.len() as i64;
        classes.push(name.clone());
        if !wanted.is_empty() && !wanted.contains(&name) {
            continue;
        }
        let before = images.len();
        for file in entries(&path)?.into_iter().filter(|path| is_picture(path)) {
            let image = read_image(&file)?;
            images.push((file, image));
            labels.push(number);
        }
        if images.len() == before {
            return Err(Failure::work(format!(
                "{}: no .png, .jpg or .jpeg file is in this class's folder; add some or remove it",
                path.display()
            )));
        }
    }
    let Some((first, image)) = images.first() else {
        return Pictures::read_nothing(&classes, wanted);
    };
    let size = image.dims()[1..].to_vec();
    if let Some((other, image)) = images.iter().find(|(_, image)| image.dims()[1..] != size[..]) {
        return Err(Failure::work(format!(
            "{} has {} pixels and {} {}; all pictures must have one size",
            other.display(),
            pixels(image.dims()),
            first.display(),
            pixels(&[1, size[0], size[1]])
        )));
    }
    let channels = if images.iter().any(|(_, image)| image.dims()[0] == 3) { 3 } else { 1 };
    let planes: Vec<Tensor> = images.iter().map(|(_, image)| in_channels(image, channels)).collect();
    let x = Tensor::stack(&planes.iter().collect::<Vec<_>>(), 0);
    Ok(Pictures { classes, all: TensorDataset::new(x, Tensor::from(labels))?, test: None })
}

impl Pictures {
    /// The failure for a choice of classes none of which is there.
    fn read_nothing(classes: &[String], wanted: &[String]) -> Result<Pictures, Failure> {
        Err(Failure::usage(format!(
            "--classes {}: none of them is there; there are {}",
            wanted.join(","),
            classes.join(", ")
        )))
    }
}

/// Height × width.
pub fn pixels(shape: &[usize]) -> String {
    match shape {
        [_, height, width] => format!("{height} × {width}"),
        _ => format!("{shape:?}"),
    }
}

/// A picture of bytes as f32 in [0, 1] with one channel or three: grey becomes colour by repetition, colour becomes grey
/// by the eye's weights of red, green and blue (ITU-R BT.601).
pub fn in_channels(image: &Tensor, channels: usize) -> Tensor {
    let x = image.to_dtype(DType::F32) / 255.0;
    match (x.dims()[0], channels) {
        (1, 3) => Tensor::concat(&[&x, &x, &x], 0),
        (3, 1) => x.narrow(0, 0, 1) * 0.299 + x.narrow(0, 1, 1) * 0.587 + x.narrow(0, 2, 1) * 0.114,
        _ => x,
    }
}
