//! Pipes and devices in the place of files: every byte is read, and read once.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use tove_data::table::{CsvOptions, Format, Kind, Schema, TableFile, Wanted, read_csv};

use super::{Folder, packed};

/// A named pipe into which a thread writes.
fn pipe(folder: &Folder, name: &str, bytes: Vec<u8>) -> std::path::PathBuf {
    let path = folder.path(name);
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let to = path.clone();
    std::thread::spawn(move || {
        // A reader that stops early closes the pipe, which is its right.
        let _ = fs::OpenOptions::new().write(true).open(to).and_then(|mut file| file.write_all(&bytes));
    });
    path
}

#[test]
fn pipes_give_the_table_of_the_file() {
    let folder = Folder::new();
    // Longer than a pipe holds, than a block and than a piece.
    let rows: String = (0..120_000).map(|i| format!("{i},{}.5,\"n{}\"\n", i % 7, i % 5)).collect();
    let text = format!("a,b,c\n{rows}").into_bytes();
    let whole = read_csv(folder.file("t.csv", &text)).unwrap().0;
    for (number, bytes) in [text.clone(), packed(&text)].into_iter().enumerate() {
        let read = read_csv(pipe(&folder, &format!("whole{number}"), bytes.clone())).unwrap().0;
        assert!(read == whole, "whole {number}");
        let given = CsvOptions::new().schema(&Schema::of(&whole));
        let chunks = given.chunks(pipe(&folder, &format!("chunks{number}"), bytes), 50_000).unwrap();
        let tables: Vec<_> = chunks.map(|table| table.unwrap()).collect();
        assert_eq!(tables.iter().map(|table| table.n_rows()).collect::<Vec<_>>(), [50_000, 50_000, 20_000]);
        assert_eq!(tables[0].column("a").unwrap().number(0), Some(0.0));
    }
    // Kinds that nobody gives take two passes, which a pipe does not.
    let refused = CsvOptions::new().chunks(pipe(&folder, "infer", text), 10).err().unwrap().to_string();
    assert!(refused.contains("only once"), "{refused}");
    // What a file is, is seen without losing a byte of it.
    let file = TableFile::open(pipe(&folder, "json", b" [{\"a\": 1}, {\"a\": 2}]".to_vec())).unwrap();
    assert_eq!((file.format(), file.reads_once()), (Format::Json, true));
    let (table, _) = file.read(&CsvOptions::new(), &Wanted::default()).unwrap();
    assert_eq!((table.n_rows(), table.column("a").unwrap().kind()), (2, Kind::Integer));
}

#[test]
fn devices_are_refused_at_once() {
    for (device, words) in [("/dev/null", "empty"), ("/dev/zero", "binary"), ("/dev/urandom", "binary")] {
        for outcome in [read_csv(device).map(drop), CsvOptions::new().chunks(device, 10).map(drop)] {
            let error = outcome.unwrap_err().to_string();
            assert!(error.contains(device) && error.contains(words), "{error}");
        }
    }
    let error = tove_data::text::read_text("/dev/zero").unwrap_err().to_string();
    assert!(error.contains("/dev/zero") && error.contains("byte 0"), "{error}");
    #[cfg(feature = "images")]
    {
        let error = tove_data::images::read_image("/dev/zero").unwrap_err().to_string();
        assert!(error.contains("/dev/zero") && error.contains("picture"), "{error}");
    }
}

#[test]
fn links_are_followed_and_devices_are_written_to() {
    use std::os::unix::fs::{FileTypeExt, symlink};
    use tove_tensor::io::{FileError, WriteOptions, atomic::write_file};
    let place = Folder::new();
    let folder = place.path("");
    fs::create_dir_all(folder.join("below")).unwrap();
    let write = |name: &str, options| write_file(&folder.join(name), options, |out| out.write_all(b"new"));
    // A link to a file, a dangling one, and one to a link.
    fs::write(folder.join("old"), "old").unwrap();
    symlink("old", folder.join("link")).unwrap();
    symlink("below/none", folder.join("dangling")).unwrap();
    symlink("dangling", folder.join("twice")).unwrap();
    symlink("round", folder.join("round")).unwrap();
    assert!(matches!(write("link", WriteOptions::default()), Err(FileError::Exists { .. })));
    assert!(matches!(write("dangling", WriteOptions::default()), Err(FileError::Exists { .. })));
    write("link", WriteOptions::overwriting()).unwrap();
    write("twice", WriteOptions::overwriting()).unwrap();
    for name in ["link", "dangling", "twice", "round"] {
        assert!(folder.join(name).symlink_metadata().unwrap().file_type().is_symlink(), "{name}");
    }
    assert_eq!(fs::read(folder.join("old")).unwrap(), b"new");
    assert_eq!(fs::read(folder.join("below/none")).unwrap(), b"new");
    assert!(write("round", WriteOptions::overwriting()).unwrap_err().to_string().contains("circle"));
    assert!(write("below", WriteOptions::overwriting()).is_err() && folder.join("below").is_dir());
    // Devices stay what they are, by their names and through links.
    symlink("/dev/null", folder.join("nothing")).unwrap();
    for options in [WriteOptions::default(), WriteOptions::overwriting()] {
        write("nothing", options).unwrap();
        write_file(Path::new("/dev/null"), options, |out| out.write_all(b"new")).unwrap();
        let kind = |path: &Path| fs::metadata(path).unwrap().file_type();
        assert!(kind(Path::new("/dev/null")).is_char_device() && kind(&folder.join("nothing")).is_char_device());
        if Path::new("/dev/full").exists() {
            let full = write_file(Path::new("/dev/full"), options, |out| out.write_all(b"new"));
            assert!(matches!(full, Err(FileError::Io { .. })));
            assert!(kind(Path::new("/dev/full")).is_char_device());
        }
    }
}
