//! Files that appear complete or not at all.
//!
//! The content goes to a temporary file in the same folder, is flushed to the disk, and then takes its name in one
//! step. A crash, a full disk or an error of the writer leaves the old file (or none) and no half-written one. Without
//! `overwrite` the last step is a hard link, which fails when the name is taken, so that two writers cannot both
//! believe that they were first. Overwriting goes through symbolic links to the file they name, which need not exist yet,
//! and keeps its permissions.
//!
//! What is not a regular file (a terminal, a pipe, `/dev/null`) cannot be replaced and has nothing to lose: it is opened and
//! written to, with `overwrite` or without. `/dev/stdout` and `/dev/stderr` are the streams of the process themselves.
//!
//! A process that is killed leaves its temporary file, `.NAME.PID-N.tove.tmp`, which [`sweep`] removes. Writers hold a lock on
//! theirs, which ends with them: a process of that number may live in another container that shares the folder.

use super::error::{Failure, FileError, Parsed};
use std::fs::{self, File, OpenOptions, TryLockError};
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

/// How the names of temporary files end.
const ENDING: &str = ".tove.tmp";

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
    let shown = path;
    if let Some(file) = special(path) {
        let file = file.map_err(|error| Failure::Io(error).file(shown, "open"))?;
        return write_through(file, content).map_err(|failure| failure.file(shown, "write"));
    }
    if !overwrite && path.symlink_metadata().is_ok() {
        return Err(FileError::Exists { path: path.to_owned() });
    }
    // What is replaced is the file that a link names, not the link, and the new one keeps its permissions.
    let named = if overwrite { target_of(path).map_err(|error| Failure::Io(error).file(shown, "open"))? } else { None };
    let path = named.as_deref().unwrap_or(path);
    let replaced = overwrite.then(|| fs::metadata(path).ok()).flatten();
    let (file, temporary) = create_beside(path).map_err(|error| Failure::Io(error).file(shown, "create"))?;
    let write_all = || {
        let mut writer = BufWriter::with_capacity(1 << 18, file);
        content(&mut writer)?;
        writer.flush()?;
        if let Some(old) = &replaced {
            writer.get_ref().set_permissions(old.permissions())?;
        }
        writer.get_ref().sync_all()?;
        Ok(writer)
    };
    // The lock is held until the file has its name.
    let _writer = write_all().map_err(|failure: Failure| failure.file(shown, "write"))?;
    match put_in_place(&temporary.0, path, overwrite) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(FileError::Exists { path: path.to_owned() }),
        Err(error) => Err(Failure::Io(error).file(shown, "write")),
        Ok(()) => {
            settle(path);
            Ok(())
        }
    }
}

/// Whether `path` names something that is there and is no regular file, such as a terminal, a pipe or `/dev/null`. Such a place is
/// written to as it is. Folders are not meant.
///
/// ```
/// use tove_tensor::io::atomic;
/// assert!(!atomic::is_special(std::path::Path::new("no such file")));
/// ```
pub fn is_special(path: &Path) -> bool {
    own_stream(path).is_some() || fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir())
}

/// The place to write to, where it is none that could be replaced.
fn special(path: &Path) -> Option<io::Result<File>> {
    if let Some(stream) = own_stream(path) {
        return Some(own_file(stream));
    }
    is_special(path).then(|| OpenOptions::new().write(true).open(path))
}

/// A stream of this process.
#[derive(Clone, Copy)]
enum Stream {
    Out,
    Err,
}

/// The stream of this process that a path stands for. Opened by its name a file behind it would be written from its beginning
/// again, over what the stream has written.
fn own_stream(path: &Path) -> Option<Stream> {
    match path.to_str().filter(|_| cfg!(unix))? {
        "/dev/stdout" | "/dev/fd/1" | "/proc/self/fd/1" => Some(Stream::Out),
        "/dev/stderr" | "/dev/fd/2" | "/proc/self/fd/2" => Some(Stream::Err),
        _ => None,
    }
}

#[cfg(unix)]
fn own_file(stream: Stream) -> io::Result<File> {
    use std::os::fd::AsFd;
    // What is waiting in the buffer comes first.
    io::stdout().flush()?;
    Ok(File::from(match stream {
        Stream::Out => io::stdout().as_fd().try_clone_to_owned()?,
        Stream::Err => io::stderr().as_fd().try_clone_to_owned()?,
    }))
}

#[cfg(not(unix))]
fn own_file(_: Stream) -> io::Result<File> {
    Err(ErrorKind::Unsupported.into())
}

/// Writes to a place that is no regular file; what cannot be flushed to a disk need not be.
fn write_through(file: File, content: impl FnOnce(&mut BufWriter<File>) -> Parsed<()>) -> Parsed<()> {
    let mut writer = BufWriter::with_capacity(1 << 18, file);
    content(&mut writer)?;
    Ok(writer.flush()?)
}

/// Links that are followed before they are taken for a circle, as many as Linux follows.
const LINKS: usize = 40;

/// The file that a symbolic link names in the end, whether it exists or not; `None` if the path is no link.
fn target_of(path: &Path) -> io::Result<Option<PathBuf>> {
    if let Ok(found) = fs::canonicalize(path) {
        return Ok(Some(found));
    }
    let mut target = None::<PathBuf>;
    for _ in 0..LINKS {
        let present = target.as_deref().unwrap_or(path);
        let Ok(next) = fs::read_link(present) else { return Ok(target) };
        // A relative link counts from the folder that it is in.
        target = Some(folder_of(present).join(next));
    }
    Err(io::Error::new(ErrorKind::InvalidInput, "the symbolic links go in a circle"))
}

/// Writes the folder's new entry to the disk, where the system can; the file itself is there already.
fn settle(path: &Path) {
    if cfg!(unix)
        && let Ok(folder) = File::open(folder_of(path))
    {
        let _ = folder.sync_all();
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
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
    let folder = folder_of(path);
    for _ in 0..1000 {
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}-{}{ENDING}", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed)));
        let candidate = folder.join(hidden);
        let file = match OpenOptions::new().write(true).create_new(true).open(&candidate) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(error),
            Ok(file) => file,
        };
        let temporary = Temporary(candidate);
        // Somebody who sweeps may have been quicker; a file system without locks has nobody who does.
        if !matches!(file.try_lock(), Err(TryLockError::WouldBlock)) && temporary.0.exists() {
            return Ok((file, temporary));
        }
    }
    Err(io::Error::new(ErrorKind::AlreadyExists, "no free temporary name beside it"))
}

/// The process that a temporary file is of, by its name; none for any other name.
fn writer_of(name: &str) -> Option<u32> {
    let (file, numbers) = name.strip_prefix('.')?.strip_suffix(ENDING)?.rsplit_once('.')?;
    let (process, count) = numbers.split_once('-')?;
    let plain = |number: &str| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    if file.is_empty() || !plain(process) || !plain(count) {
        return None;
    }
    process.parse().ok()
}

/// Whether a process lives here. Where the system does not tell, it does.
fn lives(process: u32) -> bool {
    let processes = Path::new("/proc");
    !processes.join("self").exists() || processes.join(process.to_string()).exists()
}

/// Removes the temporary files that killed writers have left in a folder; how many there were. A file is removed only if it
/// has the name that writers of this crate choose, no process of that number lives here, and nobody holds its lock. What
/// cannot be looked at or removed stays.
///
/// ```
/// use tove_tensor::io::atomic;
/// assert_eq!(atomic::sweep(std::path::Path::new("no such folder")), 0);
/// ```
pub fn sweep(folder: &Path) -> usize {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let left = entries.flatten().filter(|entry| {
        let process = entry.file_name().to_str().and_then(writer_of);
        process.is_some_and(|process| !lives(process)) && entry.file_type().is_ok_and(|kind| kind.is_file())
    });
    left.filter(|entry| remove_unlocked(&entry.path())).count()
}

/// Removes a file that nobody holds the lock of.
fn remove_unlocked(path: &Path) -> bool {
    let file = OpenOptions::new().write(true).open(path);
    file.is_ok_and(|file| file.try_lock().is_ok() && fs::remove_file(path).is_ok())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_of_temporary_files_are_told_from_others() {
        assert_eq!(writer_of(".model.tove.4711-0.tove.tmp"), Some(4711));
        assert_eq!(writer_of(".out.csv.1-23.tove.tmp"), Some(1));
        for other in [
            "model.tove.4711-0.tove.tmp",
            ".model.tove.4711-0.tmp",
            ".4711-0.tove.tmp",
            ".model.tove.4711.tove.tmp",
            ".model.tove.-0.tove.tmp",
            ".model.tove.4711-.tove.tmp",
            ".model.tove.+1-0.tove.tmp",
            ".model.tove.99999999999-0.tove.tmp",
            ".model.tove.4711-0.tove.tmp~",
            ".tove.tmp",
            "",
        ] {
            assert_eq!(writer_of(other), None, "{other}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn only_what_dead_writers_left_is_swept() {
        let folder = std::env::temp_dir().join(format!("tove-sweep-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (own, dead) = (std::process::id(), u32::MAX); // no process has so large a number
        let names = [
            format!(".m.tove.{dead}-0.tove.tmp"),
            format!(".m.tove.{dead}-1.tove.tmp"),
            format!(".m.tove.{own}-0.tove.tmp"),
            format!(".m.tove.{dead}-0.tmp"),
            format!("m.tove.{dead}-0.tove.tmp"),
            ".gitignore".to_owned(),
        ];
        names.iter().for_each(|name| fs::write(folder.join(name), "x").unwrap());
        fs::create_dir(folder.join(format!(".d.{dead}-0.tove.tmp"))).unwrap();
        std::os::unix::fs::symlink(folder.join(".gitignore"), folder.join(format!(".l.{dead}-0.tove.tmp"))).unwrap();
        // One is being written in another container.
        let held = File::open(folder.join(&names[1])).unwrap();
        held.try_lock().unwrap();
        assert_eq!(sweep(&folder), 1);
        assert!(!folder.join(&names[0]).exists() && names[1..].iter().all(|name| folder.join(name).exists()));
        drop(held);
        assert_eq!((sweep(&folder), sweep(&folder)), (1, 0));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), names.len());
        fs::remove_dir_all(&folder).unwrap();
    }

    /// While a file is written nobody sweeps it, whatever the number of its process; afterwards nothing is left of it.
    #[test]
    fn a_file_that_is_being_written_is_locked() {
        let folder = std::env::temp_dir().join(format!("tove-locked-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.txt");
        write_file(&path, WriteOptions::default(), |out| {
            let inside: Vec<PathBuf> = fs::read_dir(&folder)?.map(|entry| entry.unwrap().path()).collect();
            assert_eq!(inside.len(), 1);
            assert!(matches!(File::open(&inside[0])?.try_lock(), Err(TryLockError::WouldBlock)));
            out.write_all(b"whole")
        })
        .unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }
}
