//! The header of an `.npy` file.
//!
//! ```text
//! \x93NUMPY  major minor  length(u16 or u32, little-endian)  {'descr': '<f8', 'fortran_order': False, 'shape': (3,), }
//! ```
//! The dict is parsed by a small parser of its own that knows strings, True, False and tuples of integers: nothing
//! in it is evaluated.

use crate::io::error::{Failure, Parsed, quote};
use crate::io::{Endian, MAX_RANK, RawDType, Values};
use std::io::Read;

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Longest header read. Plain arrays need about a hundred bytes; only records have long headers.
const LONGEST: usize = 1 << 16;
const ALIGNMENT: usize = 64;

/// A parsed header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Header {
    pub dtype: RawDType,
    pub endian: Endian,
    pub fortran_order: bool,
    pub shape: Vec<usize>,
    /// Bytes from the start of the file to the first element.
    pub length: usize,
}

impl Header {
    /// Reads the header and leaves the reader at the first element.
    pub(crate) fn read(reader: &mut impl Read) -> Parsed<Header> {
        let [m0, m1, m2, m3, m4, m5, major, minor] = bytes::<8>(reader, 0)?;
        if [m0, m1, m2, m3, m4, m5] != *MAGIC {
            return Err(not_npy([m0, m1, m2, m3, m4, m5]).offset(0));
        }
        let (start, length) = match (major, minor) {
            (1, 0) => (10, usize::from(u16::from_le_bytes(bytes(reader, 8)?))),
            (2 | 3, 0) => (12, u32::from_le_bytes(bytes(reader, 8)?) as usize),
            _ => {
                return Err(Failure::unsupported(
                    format!("npy version {major}.{minor}"),
                    "versions 1.0, 2.0 and 3.0 are read; save the array again with a current numpy",
                )
                .offset(6));
            }
        };
        if length > LONGEST {
            return Err(Failure::too_large(
                format!("a header of {length} bytes (limit {LONGEST})"),
                "plain arrays have headers of about 100 bytes; save the columns of a record array one by one",
            )
            .offset(8));
        }
        let mut text = vec![0; length];
        let filled = super::read_up_to(reader, &mut text)?;
        if filled != length {
            return Err(Failure::malformed(format!("a header of {length} bytes, of which {filled} are there"))
                .offset(start as u64));
        }
        let text = decode_text(text, major).map_err(|failure| failure.offset(start as u64))?;
        let mut parser = Parser { text: text.as_bytes(), at: 0 };
        let (dtype, endian, fortran_order, shape) =
            parser.header().map_err(|failure| failure.offset((start + parser.at) as u64))?;
        Ok(Header { dtype, endian, fortran_order, shape, length: start + length })
    }
}

fn bytes<const N: usize>(reader: &mut impl Read, offset: u64) -> Parsed<[u8; N]> {
    let mut buffer = [0; N];
    let filled = super::read_up_to(reader, &mut buffer)?;
    if filled == N { Ok(buffer) } else { Err(Failure::malformed("the file ends inside the npy header").offset(offset)) }
}

fn not_npy(start: [u8; 6]) -> Failure {
    if start.starts_with(b"PK") {
        return Failure::unsupported("this is a zip archive, not an npy file", "read it as .npz");
    }
    Failure::malformed(format!(
        "an npy file starts with \\x93NUMPY, this one with {:?}",
        start.escape_ascii().to_string()
    ))
}

/// Versions 1 and 2 are Latin-1, version 3 is UTF-8.
fn decode_text(bytes: Vec<u8>, major: u8) -> Parsed<String> {
    if major < 3 {
        return Ok(bytes.into_iter().map(char::from).collect());
    }
    String::from_utf8(bytes).map_err(|error| {
        Failure::malformed("the header of an npy version 3.0 file is not UTF-8")
            .offset(12 + error.utf8_error().valid_up_to() as u64)
    })
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

type Fields = (RawDType, Endian, bool, Vec<usize>);

impl Parser<'_> {
    fn header(&mut self) -> Parsed<Fields> {
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        self.expect(b'{')?;
        while !self.accept(b'}') {
            let key = self.string()?;
            self.expect(b':')?;
            let repeated = match key.as_str() {
                "descr" => descr.replace(self.descr()?).is_some(),
                "fortran_order" => fortran_order.replace(self.boolean()?).is_some(),
                "shape" => shape.replace(self.shape()?).is_some(),
                _ => return Err(Failure::malformed(format!("unknown header key {}", quote(&key)))),
            };
            if repeated {
                return Err(Failure::malformed(format!("header key {} given twice", quote(&key))));
            }
            if !self.accept(b',') {
                self.expect(b'}')?;
                break;
            }
        }
        self.skip_space();
        if self.at != self.text.len() {
            return Err(Failure::malformed("text after the header's closing brace"));
        }
        let missing = |key| Failure::malformed(format!("the header lacks '{key}'"));
        let (dtype, endian) = descr.ok_or_else(|| missing("descr"))?;
        let fortran_order = fortran_order.ok_or_else(|| missing("fortran_order"))?;
        Ok((dtype, endian, fortran_order, shape.ok_or_else(|| missing("shape"))?))
    }

    fn descr(&mut self) -> Parsed<(RawDType, Endian)> {
        self.skip_space();
        if self.text.get(self.at) == Some(&b'[') {
            return Err(Failure::unsupported(
                "a record array (structured dtype)",
                "save each field as an array of its own, for example with np.savez",
            ));
        }
        let text = self.string()?;
        parse_descr(&text)
    }

    fn skip_space(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn accept(&mut self, byte: u8) -> bool {
        self.skip_space();
        let found = self.text.get(self.at) == Some(&byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Parsed<()> {
        if self.accept(byte) {
            return Ok(());
        }
        let found = match self.text.get(self.at) {
            Some(&other) => format!("'{}'", other.escape_ascii()),
            None => "the end".to_owned(),
        };
        Err(Failure::malformed(format!("the header should have '{}' here, found {found}", char::from(byte))))
    }

    /// A quoted string. No type name or key holds an escape, so a backslash is an error.
    fn string(&mut self) -> Parsed<String> {
        let quote = if self.accept(b'"') { b'"' } else { b'\'' };
        if quote == b'\'' {
            self.expect(b'\'')?;
        }
        let rest = &self.text[self.at..];
        let length = rest.iter().position(|&byte| byte == quote || byte == b'\\');
        let Some(length) = length.filter(|&length| rest[length] == quote) else {
            return Err(Failure::malformed("a string in the header does not end"));
        };
        self.at += length + 1;
        Ok(String::from_utf8_lossy(&rest[..length]).into_owned())
    }

    fn boolean(&mut self) -> Parsed<bool> {
        self.skip_space();
        for (word, value) in [("True", true), ("False", false)] {
            if self.text[self.at..].starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(Failure::malformed("'fortran_order' must be True or False"))
    }

    fn shape(&mut self) -> Parsed<Vec<usize>> {
        let mut shape = Vec::new();
        self.expect(b'(')?;
        while !self.accept(b')') {
            if shape.len() == MAX_RANK {
                return Err(Failure::too_large(
                    format!("more than {MAX_RANK} axes"),
                    "reshape the array to fewer axes before saving",
                ));
            }
            shape.push(self.extent()?);
            if !self.accept(b',') {
                self.expect(b')')?;
                break;
            }
        }
        Ok(shape)
    }

    fn extent(&mut self) -> Parsed<usize> {
        self.skip_space();
        let start = self.at;
        if self.text.get(start) == Some(&b'-') {
            return Err(Failure::malformed("a negative extent in the shape"));
        }
        let mut value = 0usize;
        while let Some(digit) = self.text.get(self.at).filter(|byte| byte.is_ascii_digit()) {
            let next = value.checked_mul(10).and_then(|tens| tens.checked_add(usize::from(digit - b'0')));
            value = next.ok_or_else(|| Failure::malformed("an extent in the shape that is too large to address"))?;
            self.at += 1;
        }
        if self.at == start {
            return Err(Failure::malformed("the shape must be a tuple of integers"));
        }
        // Python 2 wrote its long integers with a suffix
        self.at += usize::from(self.text.get(self.at) == Some(&b'L'));
        Ok(value)
    }
}

/// A type name such as `<f8`: byte order, kind, bytes.
fn parse_descr(text: &str) -> Parsed<(RawDType, Endian)> {
    let (endian, name) = match text.as_bytes().first() {
        Some(b'<') => (Some(Endian::Little), &text[1..]),
        Some(b'>') => (Some(Endian::Big), &text[1..]),
        Some(b'=') => (Some(Endian::NATIVE), &text[1..]),
        Some(b'|') => (None, &text[1..]),
        _ => (Some(Endian::NATIVE), text),
    };
    let dtype = match name {
        "f2" => RawDType::F16,
        "f4" => RawDType::F32,
        "f8" => RawDType::F64,
        "i1" => RawDType::I8,
        "i2" => RawDType::I16,
        "i4" => RawDType::I32,
        "i8" => RawDType::I64,
        "u1" => RawDType::U8,
        "u2" => RawDType::U16,
        "u4" => RawDType::U32,
        "u8" => RawDType::U64,
        "b1" | "?" => RawDType::Bool,
        _ => return Err(unsupported_descr(text, name)),
    };
    match endian {
        Some(endian) => Ok((dtype, endian)),
        None if dtype.size() == 1 => Ok((dtype, Endian::NATIVE)),
        None => Err(Failure::malformed(format!("type {} needs a byte order, '<' or '>'", quote(text)))),
    }
}

fn unsupported_descr(text: &str, name: &str) -> Failure {
    let problem = format!("elements of type {}", quote(text));
    let advice = match name.as_bytes().first() {
        Some(b'O') => "object arrays are Python pickles, which run code when loaded; save numbers instead",
        Some(b'U' | b'S' | b'a') => "text is not read; save category numbers instead",
        Some(b'c') => "complex numbers are not read; save real and imaginary part as two arrays",
        Some(b'M' | b'm') => "dates are not read; save them as i64 with .astype('int64')",
        Some(b'V') => "raw bytes (also bfloat16 from JAX) are not read; save with .astype('float32')",
        Some(b'f') => "f2, f4 and f8 are read; save with .astype('float64')",
        _ => "f2, f4, f8, i1 to i8, u1 to u8 and b1 are read; convert with .astype before saving",
    };
    Failure::unsupported(problem, advice)
}

/// A version 1.0 header whose elements start at a multiple of 64 bytes.
pub(crate) fn encode(values: Values<'_>, shape: &[usize]) -> Vec<u8> {
    let descr = match values {
        Values::F32(_) => "<f4",
        Values::F64(_) => "<f8",
        Values::I64(_) => "<i8",
        Values::U8(_) => "|u1",
        Values::Bool(_) => "|b1",
    };
    let mut extents: String = shape.iter().map(|extent| format!("{extent}, ")).collect();
    if shape.len() == 1 {
        extents.pop(); // (3,)
    } else {
        extents.truncate(extents.len().saturating_sub(2)); // (3, 4) and ()
    }
    let dict = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({extents}), }}");
    let total = (MAGIC.len() + 4 + dict.len() + 1).next_multiple_of(ALIGNMENT);
    let mut header = Vec::with_capacity(total);
    header.extend(MAGIC);
    header.extend([1, 0]);
    // a shape has at most 64 extents of 20 digits, far below 65,536
    header.extend(((total - 10) as u16).to_le_bytes());
    header.extend(dict.as_bytes());
    header.resize(total - 1, b' ');
    header.push(b'\n');
    header
}
