//! A file mapped read-only into memory.
//!
//! This is the one place of the io room with unsafe code. Mapping a file is unsafe because another process may change
//! or truncate it while it is mapped; then values change under a shared reference, or the system sends SIGBUS. That is
//! outside the contract of this crate, as it is for numpy's `mmap_mode` and for every safetensors loader: leave a
//! mapped file alone. Writers of this crate never write into an existing file, they put a new one in its place, so
//! saving over a file that is mapped is fine. Where a file may change, read it into memory instead.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ops::Deref;

/// The bytes of a file, mapped read-only.
#[derive(Debug)]
pub struct FileMap(memmap2::Mmap);

impl FileMap {
    /// Maps the whole file. The file must not be changed while the map lives: readers of this crate that map say so, and
    /// each has a twin that copies.
    pub(crate) fn new(file: &File) -> io::Result<FileMap> {
        // SAFETY: the map is read-only and private to this type, which gives out shared slices only. That nobody
        // changes the file underneath is the documented contract of every function that maps.
        unsafe { memmap2::Mmap::map(file) }.map(FileMap)
    }
}

impl Deref for FileMap {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}
