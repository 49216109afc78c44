//! A trained net for images and its file: kind "ImageModel", version 1.

use std::path::Path;

use serde_json::{Value, json};
use tove_data::images::{decode_image, read_image};
use tove_nn::{ModuleExt, Rng};
use tove_tensor::io::{Container, WriteOptions};
use tove_tensor::{DType, Tensor};

use super::folder::{ImageOptions, sized};
use super::net::{Net, NetConfig};
use super::source::bordered;
use crate::net_files::{ModelError, Result, expect, fill, size};

/// A net with what is needed to use it on other images.
#[derive(Clone)]
pub struct ImageModel {
    pub(super) net: Net,
    pub(super) config: NetConfig,
    pub(super) classes: Vec<String>,
    /// Width of the border put round images.
    pub(super) border: usize,
    pub(super) facts: Value,
}

impl ImageModel {
    /// The kind of its files.
    pub const KIND: &str = "ImageModel";

    /// The net.
    pub fn net(&self) -> &Net {
        &self.net
    }

    /// The sizes of the net. Its input has the border that is put round images.
    pub fn config(&self) -> &NetConfig {
        &self.config
    }

    /// Names of the classes, in the order of the probabilities.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// Seed, settings and scores of the training.
    pub fn facts(&self) -> &Value {
        &self.facts
    }

    /// Adds something to the facts, such as where the images came from.
    pub fn note(&mut self, name: &str, value: impl Into<Value>) {
        self.facts[name] = value.into();
    }

    /// Channels, height and width of an image, without the border that the net was trained with.
    pub fn input(&self) -> [usize; 3] {
        let [channels, height, width] = self.config.input;
        [channels, height - 2 * self.border, width - 2 * self.border]
    }

    /// Options with which images are read in the size that the model takes.
    pub fn options(&self) -> ImageOptions {
        let [channels, height, width] = self.input();
        ImageOptions { classes: Vec::new(), size: Some([height, width]), channels: Some(channels) }
    }

    /// A PNG or JPEG file as the model takes it, (channels, height, width) in [0, 1]: scaled until it covers the size, and
    /// center-cropped.
    ///
    /// # Errors
    /// If the file cannot be read or is not a valid image.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<Tensor> {
        let path = path.as_ref();
        sized(&read_image(path)?, self.input())
    }

    /// The same for the bytes of a file; `name` is what errors call it.
    ///
    /// # Errors
    /// If the bytes are not a valid image.
    pub fn decode(&self, name: &str, bytes: &[u8]) -> Result<Tensor> {
        sized(&decode_image(name, bytes)?, self.input())
    }

    /// Probabilities (n, classes) of the classes of images (n, channels, height, width) in [0, 1], of type f64.
    ///
    /// # Errors
    /// If the images have another size than [`ImageModel::input`].
    pub fn predict_proba(&self, x: &Tensor) -> Result<Tensor> {
        Ok(self.net.probabilities(&self.framed(x)?)?)
    }

    /// Images with the border that the net takes around them, as 32-bit numbers.
    pub(crate) fn framed(&self, x: &Tensor) -> Result<Tensor> {
        let framed = match *x.dims() {
            // Images that have their border already.
            [_, channels, height, width] if [channels, height, width] == self.config.input => x.clone(),
            [_, channels, height, width] if [channels, height, width] == self.input() => bordered(x, self.border),
            _ => {
                let [channels, height, width] = self.input();
                return Err(ModelError::source(format!(
                    "images of shape {}; the model takes (n, {channels}, {height}, {width})",
                    x.shape()
                )));
            }
        };
        Ok(framed.to_dtype(DType::F32))
    }

    /// The most probable class of each image.
    ///
    /// # Errors
    /// As [`ImageModel::predict_proba`].
    pub fn predict(&self, x: &Tensor) -> Result<Vec<&str>> {
        let labels = self.predict_proba(x)?.argmax(-1).to_vec::<i64>();
        Ok(labels.into_iter().map(|label| self.classes[label as usize].as_str()).collect())
    }

    /// Writes the model to a file.
    ///
    /// # Errors
    /// If the file cannot be written, or exists and may not be overwritten.
    pub fn save(&self, path: impl AsRef<Path>, options: WriteOptions) -> Result<()> {
        let header = json!({
            "tove": env!("CARGO_PKG_VERSION"), "net": self.config.header(), "classes": self.classes,
            "border": self.border, "scaling": {"from": [0, 255], "to": [0.0, 1.0]}, "facts": self.facts,
        });
        let mut container = Container::new(Self::KIND, 1, header);
        for (name, tensor) in self.net.state() {
            container.insert(name, tensor);
        }
        Ok(container.save(path.as_ref(), options)?)
    }

    /// Reads a file. Nothing it says is believed before it has been checked against the tensors it holds.
    ///
    /// # Errors
    /// If the file cannot be read, holds something else, or is damaged.
    pub fn load(path: impl AsRef<Path>) -> Result<ImageModel> {
        let path = path.as_ref();
        Self::from_container(&Container::load(path)?, path)
    }

    /// The model in the content of a file, which errors call `path`.
    ///
    /// # Errors
    /// If the content is something else, or damaged.
    pub fn from_container(container: &Container, path: &Path) -> Result<ImageModel> {
        expect(container, path, Self::KIND)?;
        let damaged = |what: &str| ModelError::damaged(path, what);
        let header = &container.header;
        let config = NetConfig::from_header(&header["net"]).ok_or_else(|| damaged("the sizes of the net"))?;
        let held: usize = container.tensors.values().map(Tensor::numel).sum();
        if config.parameters() != Some(held) {
            return Err(damaged("the sizes do not fit the tensors"));
        }
        let names = header["classes"].as_array().map(|list| list.iter().map(|name| name.as_str().map(str::to_owned)));
        let classes: Option<Vec<String>> = names.and_then(Iterator::collect);
        let classes = classes.filter(|classes| classes.len() == config.classes && !classes.is_empty());
        let classes = classes.ok_or_else(|| damaged("the names of the classes"))?;
        let room = config.input[1].min(config.input[2]);
        let border = size(header, "border").filter(|&border| border < room.div_ceil(2));
        let border = border.ok_or_else(|| damaged("the border"))?;
        let mut net = config.build(&mut Rng::new(0)).map_err(|problem| damaged(&problem.to_string()))?;
        fill(&mut net, container, path)?;
        Ok(ImageModel { net, config, classes, border, facts: header["facts"].clone() })
    }
}
