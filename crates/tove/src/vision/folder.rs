//! Images in folders, one folder per class.
//!
//! Images may have different sizes. All are resized to one: the given one, or the most common (the smaller one among
//! equals), and if that is longer than 128 pixels, to 64 pixels along its longer side. An image of another size is scaled
//! until it covers this one, and center-cropped ([`cover`](tove_data::images::cover)). Gray images become RGB by
//! repetition where any is in color; transparency is dropped. An image that cannot be read is skipped and
//! reported.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tove_data::TensorDataset;
use tove_data::images::{cover, image_size, read_image};
use tove_tensor::io::FileError;
use tove_tensor::{DType, Tensor};

use super::source::Images;
use crate::net_files::{ModelError, Result};

/// Pictures with a longer side are made smaller unless a size is given.
const LONGEST: usize = 128;
/// What the longer side becomes then.
const REDUCED: usize = 64;
/// Names in a remark.
const NAMED: usize = 3;

/// Which images are read, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageOptions {
    /// Only these classes; all if there are none.
    pub classes: Vec<String>,
    /// Height and width.
    pub size: Option<[usize; 2]>,
    /// One channel or three.
    pub channels: Option<usize>,
}

/// What reading did to images.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageNotes {
    /// Number of images that were scaled.
    pub scaled: usize,
    /// Height and width that they have now.
    pub size: [usize; 2],
    /// Pictures that could not be read, each with the reason.
    pub broken: Vec<String>,
}

impl ImageNotes {
    /// A sentence for each change; none if there was none.
    pub fn sentences(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        let plural = |count: usize| if count == 1 { "image" } else { "images" };
        if self.scaled > 0 {
            let [height, width] = self.size;
            sentences.push(format!(
                "{} {} of another size resized to {height} × {width} pixels and center-cropped.",
                self.scaled,
                plural(self.scaled)
            ));
        }
        if !self.broken.is_empty() {
            let count = self.broken.len();
            let more = if count > NAMED { format!("; and {} more", count - NAMED) } else { String::new() };
            let named = self.broken[..count.min(NAMED)].join("; ");
            sentences.push(format!("{count} {} could not be read and were skipped: {named}{more}.", plural(count)));
        }
        sentences
    }
}

/// Everything in a folder that is not hidden, by name.
fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let wrong = |source: std::io::Error| FileError::Io { path: folder.to_owned(), doing: "read", source };
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

/// All PNG and JPEG files of a folder and of the folders in it, by name.
///
/// # Errors
/// If a folder cannot be read.
pub fn image_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in entries(folder)? {
        if path.is_dir() {
            found.extend(image_files(&path)?);
        } else if is_picture(&path) {
            found.push(path);
        }
    }
    Ok(found)
}

/// An image file of a class.
struct Found {
    path: PathBuf,
    class: usize,
    size: [usize; 2],
}

/// Reads all images below a folder.
pub(super) fn from_folders(folder: &Path, options: &ImageOptions) -> Result<Images> {
    let folders: Vec<PathBuf> = entries(folder)?.into_iter().filter(|path| path.is_dir()).collect();
    if folders.is_empty() {
        return Err(ModelError::source(format!(
            "{}: no folders of images (one per class) and no train-images-idx3-ubyte found in it",
            folder.display()
        )));
    }
    let classes: Vec<String> = folders.iter().map(|path| name_of(path)).collect();
    let taken = |class: usize| options.classes.is_empty() || options.classes.contains(&classes[class]);
    if !(0..classes.len()).any(taken) {
        let problem = format!("no such class; the classes are {}", classes.join(", "));
        return Err(ModelError::setting("classes", options.classes.join(","), problem));
    }
    let (mut found, mut notes) = (Vec::new(), ImageNotes::default());
    for (class, path) in folders.iter().enumerate().filter(|&(class, _)| taken(class)) {
        let files: Vec<PathBuf> = entries(path)?.into_iter().filter(|path| is_picture(path)).collect();
        if files.is_empty() {
            return Err(ModelError::source(format!(
                "{}: no .png, .jpg or .jpeg file is in this class's folder; add some or remove it",
                path.display()
            )));
        }
        for path in files {
            match image_size(&path) {
                Ok(size) => found.push(Found { path, class, size }),
                Err(error) => notes.broken.push(error.to_string()),
            }
        }
    }
    notes.size = options.size.unwrap_or_else(|| usual_size(&found));
    let (images, labels) = decode(&found, &mut notes);
    for (class, path) in folders.iter().enumerate().filter(|&(class, _)| taken(class)) {
        if !labels.contains(&(class as i64)) {
            let first = notes.broken.iter().find(|text| text.contains(&*path.to_string_lossy()));
            let first = first.map_or("", String::as_str);
            return Err(ModelError::source(format!("{}: no image in it can be read ({first})", path.display())));
        }
    }
    let x = stacked(&images, options);
    Ok(Images { classes, all: TensorDataset::new(x, Tensor::from(labels))?, test: None, notes })
}

/// All images below a folder, by name, without classes.
pub(super) fn all_pictures(folder: &Path, options: &ImageOptions) -> Result<(Tensor, ImageNotes)> {
    let (mut found, mut notes) = (Vec::new(), ImageNotes::default());
    for path in image_files(folder)? {
        match image_size(&path) {
            Ok(size) => found.push(Found { path, class: 0, size }),
            Err(error) => notes.broken.push(error.to_string()),
        }
    }
    notes.size = options.size.unwrap_or_else(|| usual_size(&found));
    let (images, _) = decode(&found, &mut notes);
    if images.is_empty() {
        let first = notes.broken.first().map_or(String::new(), |text| format!(" ({text})"));
        let problem = format!("{}: no .png, .jpg or .jpeg file in it can be read{first}", folder.display());
        return Err(ModelError::source(problem));
    }
    Ok((stacked(&images, options), notes))
}

/// Images in the same number of channels, as one tensor.
fn stacked(images: &[Tensor], options: &ImageOptions) -> Tensor {
    let any_color = images.iter().any(|image| image.dims()[0] == 3);
    let channels = options.channels.unwrap_or(if any_color { 3 } else { 1 });
    let planes: Vec<Tensor> = images.iter().map(|image| in_channels(image, channels)).collect();
    Tensor::stack(&planes.iter().collect::<Vec<_>>(), 0)
}

/// The most common size, the smaller one among equals, and not too large.
fn usual_size(found: &[Found]) -> [usize; 2] {
    let mut counts = BTreeMap::<[usize; 2], usize>::new();
    for picture in found {
        *counts.entry(picture.size).or_default() += 1;
    }
    let best = counts.into_iter().max_by_key(|&([h, w], count)| (count, std::cmp::Reverse(h.saturating_mul(w))));
    let [height, width] = best.map_or([1, 1], |(size, _)| size);
    let longer = height.max(width);
    if longer <= LONGEST {
        return [height, width];
    }
    [height, width].map(|side| ((side * REDUCED) as f64 / longer as f64).round().max(1.0) as usize)
}

/// The images in their size, and their classes; what cannot be read is noted.
fn decode(found: &[Found], notes: &mut ImageNotes) -> (Vec<Tensor>, Vec<i64>) {
    let [height, width] = notes.size;
    let (mut images, mut labels) = (Vec::new(), Vec::new());
    for picture in found {
        match read_image(&picture.path).and_then(|image| cover(&image, height, width)) {
            Ok(image) => {
                notes.scaled += usize::from(picture.size != notes.size);
                images.push(image);
                labels.push(picture.class as i64);
            }
            Err(error) => notes.broken.push(error.to_string()),
        }
    }
    (images, labels)
}

/// An image of bytes (channels, height, width) in another size, in [0, 1].
pub(super) fn sized(image: &Tensor, [channels, height, width]: [usize; 3]) -> Result<Tensor> {
    Ok(in_channels(&cover(image, height, width)?, channels))
}

/// An image of bytes as f32 in [0, 1] with one channel or three: gray becomes RGB by repetition, RGB becomes gray
/// by the eye's weights of red, green and blue (ITU-R BT.601).
fn in_channels(image: &Tensor, channels: usize) -> Tensor {
    let x = image.to_dtype(DType::F32) / 255.0;
    match (x.dims()[0], channels) {
        (1, 3) => Tensor::concat(&[&x, &x, &x], 0),
        (3, 1) => x.narrow(0, 0, 1) * 0.299 + x.narrow(0, 1, 1) * 0.587 + x.narrow(0, 2, 1) * 0.114,
        _ => x,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_size_is_the_most_common_and_not_too_large() {
        let of = |sizes: &[[usize; 2]]| {
            let found = |&size: &[usize; 2]| Found { path: PathBuf::new(), class: 0, size };
            usual_size(&sizes.iter().map(found).collect::<Vec<_>>())
        };
        assert_eq!(of(&[[8, 8], [9, 9], [8, 8]]), [8, 8]);
        assert_eq!(of(&[[9, 9], [8, 8]]), [8, 8]);
        assert_eq!(of(&[[128, 20]]), [128, 20]);
        assert_eq!(of(&[[3000, 4000]]), [48, 64]);
        assert_eq!(of(&[[1, 4000]]), [1, 64]);
    }
}
