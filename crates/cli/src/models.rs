//! A model file of any kind.

use std::path::Path;

use tove::language::TextModel;
use tove::learn::Record;
use tove::tabular::TabularModel;
use tove::tensor::io::Container;
use tove::vision::ImageModel;

use crate::failure::Failure;
use crate::tables;

/// A model of tables, images or texts.
pub enum AnyModel {
    Table(Box<TabularModel>),
    Image(Box<ImageModel>),
    Text(Box<TextModel>),
}

impl AnyModel {
    /// Reads a file, once: it may be a pipe.
    pub fn load(path: &Path) -> Result<AnyModel, Failure> {
        let container = Container::load(path)?;
        Ok(match container.kind.as_str() {
            ImageModel::KIND => AnyModel::Image(Box::new(ImageModel::from_container(&container, path)?)),
            TextModel::KIND => AnyModel::Text(Box::new(TextModel::from_container(&container, path)?)),
            _ => AnyModel::Table(Box::new(tables::restored(path, &Record::from_container(container))?)),
        })
    }
}
