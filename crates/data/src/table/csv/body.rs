//! The bytes after the header of a file, in memory or on disk, cut into blocks at record boundaries.
//!
//! A file on disk is read block by block into a buffer that its thread uses again, so that its bytes are parsed while they are in
//! the cache, and memory holds the columns alone.
//!
//! Whether a block begins inside quotes is the parity of the quotes before it. Each block counts its own and says so before it waits
//! for those before it, which were started earlier, so there is no deadlock.

use std::cell::Cell;
use std::fs::File;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, Ordering};

use super::tokens::{Dialect, QUOTE, Tokens, Until, tokenise};

/// Bytes of a block; fixed, so that nothing depends on the number of threads. Block and fields together stay in a core's own cache.
pub(super) const BLOCK: usize = 1 << 18;
/// Bytes behind a block in which its last record should end.
const SLACK: usize = 1 << 12;

pub(super) enum Body<'a> {
    Memory(&'a [u8]),
    /// So many bytes of a file from a place on.
    Disk {
        file: &'a File,
        at: u64,
        length: usize,
    },
}

/// Bytes that were looked at by all reads of the process.
#[cfg(test)]
static LOOKED_AT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

thread_local! {
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

impl Body<'_> {
    pub fn len(&self) -> usize {
        match self {
            Body::Memory(bytes) => bytes.len(),
            Body::Disk { length, .. } => *length,
        }
    }

    /// Gives the bytes from `from` up to `to` or the end; `None` if they cannot be read.
    fn bytes<R>(&self, from: usize, to: usize, take: impl FnOnce(&[u8]) -> R) -> Option<R> {
        let to = to.min(self.len());
        let from = from.min(to);
        #[cfg(test)]
        LOOKED_AT.fetch_add((to - from) as u64, Ordering::Relaxed);
        match self {
            Body::Memory(bytes) => Some(take(bytes.get(from..to)?)),
            Body::Disk { file, at, .. } => {
                let mut buffer = BUFFER.take();
                if buffer.len() < to - from {
                    buffer.resize(to - from, 0);
                }
                let read = read_at(file, &mut buffer[..to - from], at + from as u64);
                let taken = read.map(|()| take(&buffer[..to - from]));
                BUFFER.set(buffer);
                taken
            }
        }
    }

    /// The records that begin from `start` on and before `end`, with their text; `None` if they cannot be read or are not UTF-8.
    pub fn records<R>(&self, (start, end): (usize, usize), cutter: Cutter<'_>, take: impl Take<R>) -> Option<R> {
        let (mut slack, mut take) = (SLACK, Some(take));
        loop {
            // A record before may have swallowed the whole block.
            let to = end.max(start).saturating_add(slack);
            let (byte, last) = (end.saturating_sub(start), to >= self.len());
            let until = Until { byte, rows: usize::MAX, fields: usize::MAX, last };
            match self.bytes(start, to, |bytes| cutter.cut(start, bytes, until, &mut take))? {
                Cut::Done(taken) => return taken,
                Cut::More => slack *= 4,
            }
        }
    }
}

/// Takes where a block begins, its text and its fields.
pub(super) trait Take<R>: FnOnce(usize, &str, &Tokens) -> R {}

impl<R, F: FnOnce(usize, &str, &Tokens) -> R> Take<R> for F {}

/// How records are cut into fields.
#[derive(Clone, Copy)]
pub(super) struct Cutter<'a> {
    pub columns: usize,
    pub dialect: &'a Dialect,
}

enum Cut<R> {
    Done(Option<R>),
    /// The last record does not end within the bytes.
    More,
}

impl Cutter<'_> {
    fn cut<R>(self, start: usize, bytes: &[u8], until: Until, take: &mut Option<impl Take<R>>) -> Cut<R> {
        let mut tokens = tokenise(bytes, self.columns, self.dialect, until);
        let done = until.last || tokens.found.consumed >= until.byte;
        let taken = done.then(|| {
            let length = if tokens.found.open.is_some() { bytes.len() } else { tokens.found.consumed };
            let text = std::str::from_utf8(&bytes[..length]).ok()?;
            Some(take.take()?(start, text, &tokens))
        });
        // The spans are as large as the block; only what they showed is kept.
        tokens.recycle();
        taken.map_or(Cut::More, Cut::Done)
    }
}

#[cfg(unix)]
pub(super) fn read_at(file: &File, buffer: &mut [u8], at: u64) -> Option<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, at).ok()
}

/// Without a way to read at a place that several threads can use, files are read into memory.
#[cfg(not(unix))]
pub(super) fn read_at(_: &File, _: &mut [u8], _: u64) -> Option<()> {
    None
}

/// Where blocks begin.
pub(super) struct Cuts<'a> {
    body: &'a Body<'a>,
    newline: u8,
    /// For each block: 0 while nothing is known; `OWN` and the parity of its quotes; `ALL` and that of its and all before.
    parities: Vec<AtomicU8>,
    /// A stretch in which no record begins but at its end: found once, it is not looked through again for each of its blocks.
    barren: Mutex<(usize, usize)>,
}

const OWN: u8 = 2;
const ALL: u8 = 4;

impl<'a> Cuts<'a> {
    pub fn new(body: &'a Body<'a>, newline: u8) -> Self {
        let parities = (0..body.len().div_ceil(BLOCK)).map(|_| AtomicU8::new(0)).collect();
        Self { body, newline, parities, barren: Mutex::new((0, 0)) }
    }

    pub fn count(&self) -> usize {
        self.parities.len()
    }

    /// The records of a block, if quotes are only used to quote. Blocks must be asked for in order, by any thread. `None` if they
    /// cannot be read or are not UTF-8.
    pub fn block<R>(&self, number: usize, cutter: Cutter<'_>, take: impl Take<R>) -> Option<R> {
        let (nominal, end) = (number * BLOCK, (number + 1) * BLOCK);
        let (from, to) = (nominal.saturating_sub(1), end + SLACK);
        let (mut inside, mut take) = (None, Some(take));
        let cut = self.body.bytes(from, to, |bytes| {
            let bytes_of_block = &bytes[nominal - from..bytes.len().min(end - from)];
            let inside = *inside.insert(self.publish(number, memchr::memchr_iter(QUOTE, bytes_of_block).count()));
            let found = if number == 0 { Some(0) } else { record_start(bytes, inside, self.newline) };
            let Some(at) = found else { return Cut::More };
            let (byte, last) = ((end - from).saturating_sub(at), to >= self.body.len());
            let until = Until { byte, rows: usize::MAX, fields: usize::MAX, last };
            cutter.cut(from + at, &bytes[at..], until, &mut take)
        });
        if inside.is_none() {
            // Whoever waits for this block's quotes would wait for ever.
            self.publish(number, 0);
        }
        match cut? {
            Cut::Done(taken) => taken,
            Cut::More => self.body.records((self.start(nominal, inside?)?, end), cutter, take?),
        }
    }

    /// Says how many quotes a block has; whether the block begins inside quotes.
    fn publish(&self, number: usize, quotes: usize) -> bool {
        let odd = (quotes % 2) as u8;
        self.parities[number].store(OWN | odd, Ordering::Release);
        let before = self.before(number);
        self.parities[number].store(ALL | (before ^ odd), Ordering::Release);
        before == 1
    }

    /// The first record at or behind a place that lies inside quotes or not.
    fn start(&self, nominal: usize, inside: bool) -> Option<usize> {
        if nominal == 0 {
            return Some(0);
        }
        let known = *self.barren.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if known.0 < nominal && nominal <= known.1 {
            return Some(known.1);
        }
        let found = self.look_for_start(nominal, inside)?;
        let mut known = self.barren.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if found > known.1 {
            *known = (nominal, found);
        }
        Some(found)
    }

    /// The same, by looking, in pieces: the parity of quotes goes on from one to the next.
    fn look_for_start(&self, nominal: usize, mut inside: bool) -> Option<usize> {
        let mut from = nominal - 1;
        while from + 1 < self.body.len() {
            let looked = self.body.bytes(from, from + BLOCK, |bytes| {
                let quotes = memchr::memchr_iter(QUOTE, bytes.get(1..).unwrap_or_default()).count();
                (record_start(bytes, inside, self.newline), quotes, bytes.len())
            })?;
            match looked {
                (Some(at), ..) => return Some(from + at),
                // The last byte of a piece is the first of the next one, where it is only looked at for a newline.
                (None, quotes, length) => {
                    inside ^= quotes % 2 == 1;
                    from += length - 1;
                    if length < 2 {
                        break;
                    }
                }
            }
        }
        Some(self.body.len())
    }

    /// The parity of all quotes before a block.
    fn before(&self, number: usize) -> u8 {
        let (mut parity, mut at) = (0, number);
        while at > 0 {
            let known = self.parities[at - 1].load(Ordering::Acquire);
            match known {
                0 => std::thread::yield_now(),
                known => {
                    (parity, at) = (parity ^ (known & 1), at - 1);
                    if known & ALL != 0 {
                        break;
                    }
                }
            }
        }
        parity
    }
}

/// The first record that begins behind the first byte, which lies inside quotes or not.
fn record_start(bytes: &[u8], mut inside: bool, newline: u8) -> Option<usize> {
    if !inside && bytes.first() == Some(&newline) {
        return Some(1);
    }
    for at in memchr::memchr2_iter(newline, QUOTE, bytes.get(1..)?) {
        if bytes[at + 1] == QUOTE {
            inside = !inside;
        } else if !inside {
            return Some(at + 2);
        }
    }
    None
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::table::CsvOptions;

    /// If each block of a field looked through all of it, bytes would be looked at 64 times in the mean. What other tests read
    /// meanwhile is little beside this field.
    #[test]
    fn a_field_of_many_blocks_is_looked_at_a_few_times() {
        let path = std::env::temp_dir().join(format!("tove-long-field-{}.csv", std::process::id()));
        for (quote, filling) in [("", "wxyz"), ("\"", "xy,\n")] {
            let text = format!("a,b\n1,{quote}{}{quote}\n2,z\n", filling.repeat(128 * BLOCK / 4));
            std::fs::write(&path, &text).unwrap();
            for on_disk in [false, true] {
                let before = LOOKED_AT.load(Ordering::Relaxed);
                let read =
                    if on_disk { CsvOptions::new().read(&path) } else { CsvOptions::new().read_bytes(text.as_bytes()) };
                assert_eq!(read.unwrap().0.n_rows(), 2);
                let times = (LOOKED_AT.load(Ordering::Relaxed) - before) as f64 / text.len() as f64;
                assert!((1.0..16.0).contains(&times), "{quote}{filling}, on disk {on_disk}: {times} times");
            }
        }
        std::fs::remove_file(&path).unwrap();
    }
}
