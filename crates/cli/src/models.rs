//! A model file of any kind.

use std::path::Path;

use tove::language::TextModel;
use tove::learn::Record;
use tove::tabular::{Recommender, TabularModel};
use tove::tensor::io::Container;
use tove::vision::ImageModel;
use tove::words::WordModel;

use crate::failure::Failure;
use crate::tables;

/// A model of tables, images or texts, of users and items, or of words.
pub enum AnyModel {
    Table(Box<TabularModel>),
    Image(Box<ImageModel>),
    Text(Box<TextModel>),
    Items(Box<Recommender>),
    Words(Box<WordModel>),
}

impl AnyModel {
    /// Reads a file, once: it may be a pipe.
    pub fn load(path: &Path) -> Result<AnyModel, Failure> {
        if WordModel::foreign(path).is_some() {
            return Ok(AnyModel::Words(Box::new(WordModel::load(path)?)));
        }
        let container = Container::load(path)?;
        let damaged = |error: Failure| Failure::work(format!("{}: {error}", path.display()));
        Ok(match container.kind.as_str() {
            ImageModel::KIND => AnyModel::Image(Box::new(ImageModel::from_container(&container, path)?)),
            TextModel::KIND => AnyModel::Text(Box::new(TextModel::from_container(&container, path)?)),
            Recommender::KIND => {
                let model = Recommender::restore(&Record::from_container(container));
                AnyModel::Items(Box::new(model.map_err(|error| damaged(error.into()))?))
            }
            kind if WordModel::is_kind(kind) => {
                let model = WordModel::restore(&Record::from_container(container));
                AnyModel::Words(Box::new(model.map_err(|error| damaged(error.into()))?))
            }
            _ => AnyModel::Table(Box::new(tables::restored(path, &Record::from_container(container))?)),
        })
    }

    /// What it is, for messages.
    pub fn what(&self) -> &'static str {
        match self {
            AnyModel::Table(_) => "a model of tables",
            AnyModel::Image(_) => "an image model",
            AnyModel::Text(_) => "a language model",
            AnyModel::Items(_) => "a recommender",
            AnyModel::Words(_) => "word vectors",
        }
    }
}
