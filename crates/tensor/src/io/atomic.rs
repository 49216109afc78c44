//! Files that appear complete or not at all.
//!
//! The content goes to a temporary file in the same folder, is flushed to the disk, and then takes its name in one
//! step. A crash, a full disk or an error of the writer leaves the old file (or none) and no half-written one. Without
//! `overwrite` the last step is a hard link, which fails when the name is taken, so that two writers cannot both
//! believe that they were first.

use super::error::{Failure, FileError, Parsed};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// How to write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// Replace an existing file; otherwise that is an error.
    pub overwrite: bool,
    /// Compress (`.npz` only; the other formats have no compression).
    pub compress: bool,
}

impl WriteOptions {
    /// Options that replace an existing file.
    pub fn overwriting() -> Self {
        WriteOptions { overwrite: true, ..Self::default() }
    }
}

/// Removes the temporary file whatever happens.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        // after a rename there is nothing left to remove; nothing can be done about other failures
        let _ = fs::remove_file(&self.0);
    }
}

/// Writes a file of any format by these rules: `content` is given a buffered writer.
///
/// ```
/// use std::io::Write;
/// use tove_tensor::io::{WriteOptions, atomic};
/// let path = std::env::temp_dir().join(format!("tove-atomic-{}.txt", std::process::id()));
/// atomic::write_file(&path, WriteOptions::default(), |out| out.write_all(b"whole"))?;
/// assert_eq!(std::fs::read(&path)?, b"whole");
/// std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the file exists and `options` do not allow overwriting, or the system refuses.
pub fn write_file(
    path: &Path,
    options: WriteOptions,
    content: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), FileError> {
    write(path, options.overwrite, |out| content(out).map_err(Failure::Io))
}

/// Calls `content` with a buffered writer and gives the result the name `path`.
pub(crate) fn write(
    path: &Path,
    overwrite: bool,
    content: impl FnOnce(&mut BufWriter<File>) -> Parsed<()>,
) -> Result<(), FileError> {
    if !overwrite && path.symlink_metadata().is_ok() {
        return Err(FileError::Exists { path: path.to_owned() });
    }
    let (file, temporary) = create_beside(path).map_err(|error| Failure::Io(error).file(path, "create"))?;
    let write_all = || {
        let mut writer = BufWriter::with_capacity(1 << 18, file);
        content(&mut writer)?;
        writer.flush()?;
        writer.get_ref().sync_all()?;
        Ok(())
    };
    write_all().map_err(|failure: Failure| failure.file(path, "write"))?;
    match put_in_place(&temporary.0, path, overwrite) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(FileError::Exists { path: path.to_owned() }),
        Err(error) => Err(Failure::Io(error).file(path, "write")),
        Ok(()) => Ok(()),
    }
}

fn put_in_place(temporary: &Path, path: &Path, overwrite: bool) -> io::Result<()> {
    if !overwrite {
        match fs::hard_link(temporary, path) {
            // a file system without hard links: look once more, then rename
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                if path.symlink_metadata().is_ok() {
                    return Err(ErrorKind::AlreadyExists.into());
                }
            }
            result => return result,
        }
    }
    fs::rename(temporary, path)
}

/// A new file in the folder of `path`, under a name nobody else uses.
fn create_beside(path: &Path) -> io::Result<(File, Temporary)> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, "not a file name"))?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    for _ in 0..1000 {
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}-{}.tmp", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed)));
        let candidate = folder.join(hidden);
        match OpenOptions::new().write(true).create_new(true).open(&candidate) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(error),
            Ok(file) => return Ok((file, Temporary(candidate))),
        }
    }
    Err(io::Error::new(ErrorKind::AlreadyExists, "no free temporary name beside it"))
}
