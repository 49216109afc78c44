//! A model file of any kind.

use std::io::Read;
use std::path::Path;

use tove::language::TextModel;
use tove::learn::Record;
use tove::tabular::{Recommender, TabularModel};
use tove::tensor::io::Container;
use tove::vision::ImageModel;
use tove::words::WordModel;

use crate::failure::Failure;
use crate::tables;

/// A model file of any kind, read once: it may be a pipe.
pub fn container(path: &Path) -> Result<Container, Failure> {
    Container::load(path).map_err(|error| match begins_otherwise(path) {
        true => Failure::work(format!(
            "{} is not a model file, or a damaged one; give a file that `tove fit` or another command wrote with -o",
            path.display()
        )),
        false => error.into(),
    })
}

/// A record of any kind in a file.
pub fn record(path: &Path) -> Result<Record, Failure> {
    container(path).map(Record::from_container)
}

/// Whether the first bytes of a regular file are not those of a container: the length of a header, and its opening brace.
fn begins_otherwise(path: &Path) -> bool {
    let mut first = Vec::new();
    let read = std::fs::metadata(path).is_ok_and(|about| about.is_file())
        && std::fs::File::open(path).and_then(|file| file.take(9).read_to_end(&mut first)).is_ok();
    read && first.get(8).is_some_and(|byte| *byte != b'{')
}

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
        let container = container(path)?;
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
