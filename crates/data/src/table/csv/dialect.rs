//! Which character separates the fields.

use super::tokens::{Dialect, Form, QUOTE, Span, Until, tokenise};

/// The candidates, the likeliest first.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];
/// How much of the file is looked at.
const SAMPLE: usize = 1 << 16;

/// The newline of a file: `\r` only where there is no `\n`.
pub(super) fn newline(bytes: &[u8]) -> u8 {
    let sample = &bytes[..bytes.len().min(SAMPLE)];
    let no_newline = memchr::memchr(b'\n', sample).is_none() && memchr::memchr(b'\n', bytes).is_none();
    if no_newline && memchr::memchr(b'\r', sample).is_some() { b'\r' } else { b'\n' }
}

/// The delimiter that cuts most records of the sample into the same number of fields, more than one; of equals, the one
/// that gives more fields. A comma if none does.
pub(super) fn delimiter(bytes: &[u8], newline: u8, trim: bool) -> u8 {
    let sample = &bytes[..bytes.len().min(SAMPLE)];
    let score = |delimiter: u8| {
        let dialect = Dialect { delimiter, newline, trim };
        let counts = widths(sample, &dialect, sample.len() == bytes.len());
        let width = counts.first().copied().unwrap_or(0);
        let alike = counts.iter().filter(|&&count| count == width).count();
        // Tenths: a few ragged rows should not decide against a delimiter that cuts finer.
        if width < 2 { (0, 0) } else { (10 * alike / counts.len(), width) }
    };
    let mut best = (b',', (0, 0));
    for delimiter in DELIMITERS {
        let found = score(delimiter);
        if found > best.1 {
            best = (delimiter, found);
        }
    }
    best.0
}

/// Numbers of fields of the first records.
fn widths(sample: &[u8], dialect: &Dialect, last: bool) -> Vec<usize> {
    let (mut counts, mut at) = (Vec::new(), 0);
    while counts.len() < 200 && at < sample.len() {
        let one = tokenise(&sample[at..], 0, dialect, Until { byte: 1, rows: 1, fields: usize::MAX, last });
        if one.found.consumed == 0 {
            break;
        }
        let blank = one.spans.len() == 1 && one.spans[0].start() == one.spans[0].end();
        // A quote inside a field tells that the field was cut by the wrong delimiter.
        let cut = |span: &Span| {
            span.form() == Form::Odd
                || span.form() == Form::Plain
                    && memchr::memchr(QUOTE, &sample[at + span.start()..at + span.end()]).is_some()
        };
        if !blank {
            counts.push(if one.spans.iter().any(cut) { 0 } else { one.spans.len() });
        }
        at += one.found.consumed;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delimiters_are_found() {
        let sniff = |text: &str| delimiter(text.as_bytes(), b'\n', true) as char;
        assert_eq!(sniff("a,b\n1,2\n"), ',');
        assert_eq!(sniff("a;b;c\n1,5;2,5;3,5\n"), ';');
        assert_eq!(sniff("a\tb\nx, y\tz\n"), '\t');
        assert_eq!(sniff("a|b|c\n1|2|3"), '|');
        assert_eq!(sniff("name\nAda\n"), ',');
        assert_eq!(sniff("a,\"b;c;d\"\n1,\"2;3;4\"\n"), ',');
        assert_eq!((newline(b"a,b\r1,2\r"), newline(b"a\r\nb")), (b'\r', b'\n'));
    }
}
