//! TensorBoard event files: records of length, checksum, protocol buffer, checksum.
//!
//! An event has a wall time (field 1), a step (2), and either a version text (3) or a summary (5) whose values have a
//! tag (1) and a number (2).

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Writes scalars.
pub(super) struct EventFile {
    out: BufWriter<File>,
}

/// TensorBoard's checksum: CRC-32C, rotated and shifted so that checksums of checksums differ.
fn masked(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A field of bytes.
fn bytes(field: u8, content: &[u8], out: &mut Vec<u8>) {
    out.push(field << 3 | 2);
    varint(content.len() as u64, out);
    out.extend_from_slice(content);
}

fn seconds() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}

fn event(step: u64, field: u8, content: &[u8]) -> Vec<u8> {
    let mut event = vec![1 << 3 | 1];
    event.extend_from_slice(&seconds().to_le_bytes());
    event.push(2 << 3);
    varint(step, &mut event);
    bytes(field, content, &mut event);
    event
}

impl EventFile {
    /// A new file in `folder`, which is made if it is not there.
    pub(super) fn create(folder: &Path) -> io::Result<EventFile> {
        std::fs::create_dir_all(folder)?;
        let name = format!("events.out.tfevents.{:010}.tove.{}", seconds() as u64, std::process::id());
        let mut file = EventFile { out: BufWriter::new(File::create(folder.join(name))?) };
        file.record(&event(0, 3, b"brain.Event:2"))?;
        Ok(file)
    }

    fn record(&mut self, event: &[u8]) -> io::Result<()> {
        let length = (event.len() as u64).to_le_bytes();
        self.out.write_all(&length)?;
        self.out.write_all(&masked(&length).to_le_bytes())?;
        self.out.write_all(event)?;
        self.out.write_all(&masked(event).to_le_bytes())
    }

    /// One number of a curve.
    pub(super) fn scalar(&mut self, tag: &str, step: u64, number: f64) -> io::Result<()> {
        let (mut value, mut summary) = (Vec::new(), Vec::new());
        bytes(1, tag.as_bytes(), &mut value);
        value.push(2 << 3 | 5);
        value.extend_from_slice(&(number as f32).to_le_bytes());
        bytes(1, &value, &mut summary);
        self.record(&event(step, 5, &summary))
    }

    /// Puts everything on the disk.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_and_numbers_have_their_known_forms() {
        // "123456789" is the check text of CRC-32C: 0xe3069283.
        assert_eq!(crc32c::crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(masked(b"123456789"), 0xe306_9283_u32.rotate_right(15).wrapping_add(0xa282_ead8));
        let mut out = Vec::new();
        varint(300, &mut out);
        assert_eq!(out, [0xac, 0x02]);
    }
}
