//! What users can do about an error of the libraries, in options of the command line.

use std::io;

use tove::data::Remedy;
use tove::tensor::io::FileError;

use crate::commands::fit::quoted;

/// A remedy with the option that applies it.
pub fn option(remedy: &Remedy) -> String {
    let option = match remedy {
        Remedy::NoHeader => "--no-header".to_owned(),
        Remedy::DropRagged => "--drop-ragged".to_owned(),
        Remedy::Coerce => "--coerce".to_owned(),
        Remedy::Latin1 => "--charset latin-1".to_owned(),
        Remedy::DropColumn { column } => format!("--drop {}", quoted(column)),
        Remedy::ColumnKind { column, kind, coerce } => {
            format!("--type {}{}", quoted(&format!("{column}={kind}")), if *coerce { " --coerce" } else { "" })
        }
        Remedy::Encode { column } => format!("--encode {}", quoted(&format!("{column}=hash"))),
        Remedy::Task(kind) => format!("--task {}", kind.name()),
        Remedy::Model | Remedy::Folds => "--model".to_owned(),
        Remedy::Budget => "--budget".to_owned(),
        Remedy::ClassWeight => "--class-weight".to_owned(),
        Remedy::DropFewer => "--drop, --id".to_owned(),
        _ => return remedy.action(),
    };
    format!("{} ({option})", remedy.action())
}

/// What is wrong with a setting of a net, by its option.
pub fn setting(name: &str, value: &str, problem: &str) -> String {
    let option = if name == "kind" { "model".to_owned() } else { name.replace('_', "-") };
    let value = if value.is_empty() { String::new() } else { format!(" {value}") };
    format!("--{option}{value}: {problem}")
}

/// The command that writes files of a kind.
pub fn maker(kind: &str) -> &'static str {
    match kind {
        "ImageModel" => "tove images fit",
        "TextModel" => "tove text fit",
        "Recommender" => "tove recommend fit",
        "WordModel" => "tove words fit",
        _ => "tove fit",
    }
}

/// What is wrong with a file, with what to do about it.
pub fn file(error: &FileError) -> String {
    match error {
        FileError::Exists { path } => {
            format!("{} exists already; choose another name, or replace it (--overwrite)", path.display())
        }
        FileError::Io { path, doing, source } => format!("cannot {doing} {}: {}", path.display(), system(source)),
        other => other.to_string(),
    }
}

/// What the system says is wrong, without its number, with what to do about it where that is plain.
pub fn system(error: &io::Error) -> String {
    let text = error.to_string();
    let number = error.raw_os_error().map(|number| format!(" (os error {number})")).unwrap_or_default();
    let text = text.strip_suffix(&number).unwrap_or(&text);
    let advice = match error.kind() {
        io::ErrorKind::NotFound => "check the name and the folder",
        io::ErrorKind::PermissionDenied => "choose a place that you may use, or change its permissions",
        io::ErrorKind::StorageFull => "free some space, or choose another disk",
        io::ErrorKind::ReadOnlyFilesystem => "choose a place that can be written",
        _ => return text.to_owned(),
    };
    format!("{text}; {advice}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tove::data::table::Kind;

    /// Every remedy of the library is an option here, with names quoted for the shell.
    #[test]
    fn remedies_name_their_options() {
        let worded = |remedy: Remedy| option(&remedy);
        assert_eq!(worded(Remedy::DropRagged), "drop such rows (--drop-ragged)");
        let column = "net price".to_owned();
        assert_eq!(
            worded(Remedy::DropColumn { column: column.clone() }),
            "leave column \"net price\" out (--drop 'net price')"
        );
        assert_eq!(
            worded(Remedy::ColumnKind { column, kind: Kind::Float, coerce: true }),
            "read the column as float with other values missing (--type 'net price=float' --coerce)"
        );
        for remedy in [Remedy::NoHeader, Remedy::Coerce, Remedy::Latin1, Remedy::Model, Remedy::Budget] {
            let text = worded(remedy.clone());
            assert!(text.contains(" (--") && !text.contains("::"), "{text}");
            assert!(remedy.to_string().contains("::"), "{remedy}");
        }
    }

    /// The advice depends on the kind of the error, not on the language of the system.
    #[test]
    fn errors_of_the_system_have_advice() {
        let missing = io::Error::new(io::ErrorKind::NotFound, "Datei nicht gefunden");
        assert_eq!(system(&missing), "Datei nicht gefunden; check the name and the folder");
        assert!(!system(&io::Error::from_raw_os_error(5)).contains("os error"));
        let exists = FileError::Exists { path: "m.tove".into() };
        assert_eq!(file(&exists), "m.tove exists already; choose another name, or replace it (--overwrite)");
    }
}
