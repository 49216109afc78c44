//! Mutations of model files: bytes, lengths and parts, and values inside the header with the lengths put right, so that
//! what is behind the first checks is reached too.

use serde_json::Value;

/// A small generator of its own, so that the mutations never change under us.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

/// The file in layout 1, which has no checksum: what is behind that check is reached, and who means harm computes it anew.
pub fn unsealed(file: &[u8]) -> Vec<u8> {
    let length = u64::from_le_bytes(file[..8].try_into().expect("eight bytes")) as usize;
    let mut header: Value = serde_json::from_slice(&file[8..8 + length]).expect("a header");
    let metadata = header["__metadata__"].as_object_mut().expect("metadata");
    assert!(metadata.remove("checksum").is_some(), "a file without a checksum");
    metadata.insert("tove".to_owned(), Value::from("1"));
    with_header(&header, &file[8 + length..])
}

/// A file of a header and data.
fn with_header(header: &Value, data: &[u8]) -> Vec<u8> {
    let mut text = header.to_string().into_bytes();
    text.resize(text.len().next_multiple_of(8), b' ');
    [&(text.len() as u64).to_le_bytes()[..], &text, data].concat()
}

/// One of the files, changed in one to three places.
pub fn mutate(random: &mut Random, files: &[Vec<u8>]) -> Vec<u8> {
    let mut file = files[random.below(files.len())].clone();
    for _ in 0..1 + random.below(3) {
        let changed = if random.below(3) == 0 { raw(random, &file, files) } else { inside(random, &file) };
        file = changed.unwrap_or(file);
    }
    file
}

/// Changes bytes without a thought for what they mean.
fn raw(random: &mut Random, file: &[u8], files: &[Vec<u8>]) -> Option<Vec<u8>> {
    let mut file = file.to_vec();
    let at = random.below(file.len().max(1));
    match random.below(6) {
        0 => *file.get_mut(at)? ^= 1 << random.below(8),
        1 => file.truncate(at),
        2 => {
            let number = [0, 1, u64::MAX, 1 << 63, 1 << 31, 0xFFFF, random.next()][random.below(7)];
            file.get_mut(..8)?.copy_from_slice(&number.to_le_bytes());
        }
        3 => {
            // Two parts of the same length change places.
            let length = 1 + random.below(64.min(file.len() / 2));
            let (a, b) = (random.below(file.len() - length), random.below(file.len() - length));
            let (first, second) = (file[a..a + length].to_vec(), file[b..b + length].to_vec());
            file[a..a + length].copy_from_slice(&second);
            file[b..b + length].copy_from_slice(&first);
        }
        4 => {
            // The beginning of one file, the end of another.
            let other = &files[random.below(files.len())];
            file.truncate(at);
            file.extend(&other[at.min(other.len())..]);
        }
        _ => {
            let tail = 1 + random.below(32);
            file.extend((0..tail).map(|_| random.next() as u8));
        }
    }
    Some(file)
}

/// Changes a value of the header, or of the header inside its metadata, and puts the lengths right.
fn inside(random: &mut Random, file: &[u8]) -> Option<Vec<u8>> {
    let length = usize::try_from(u64::from_le_bytes(file.get(..8)?.try_into().ok()?)).ok()?;
    let (text, data) = file.get(8..)?.split_at_checked(length)?;
    let mut outer: Value = serde_json::from_slice(text).ok()?;
    if random.below(4) == 0 {
        change(random, &mut outer);
    } else {
        let mut inner: Value = serde_json::from_str(outer["__metadata__"]["header"].as_str()?).ok()?;
        change(random, &mut inner);
        outer["__metadata__"]["header"] = Value::from(inner.to_string());
    }
    Some(with_header(&outer, data))
}

/// Replaces, removes, repeats or swaps nodes of a document.
fn change(random: &mut Random, document: &mut Value) {
    let mut places = Vec::new();
    walk(document, String::new(), &mut places);
    let place = places[random.below(places.len())].clone();
    let other = document.pointer(&places[random.below(places.len())]).cloned().unwrap_or_default();
    let Some(node) = document.pointer_mut(&place) else { return };
    match (random.below(5), node) {
        (0, Value::Object(object)) if !object.is_empty() => {
            let name = object.keys().nth(random.below(object.len())).cloned().unwrap_or_default();
            object.remove(&name);
        }
        (0, Value::Array(list)) if !list.is_empty() => {
            list.remove(random.below(list.len()));
        }
        (1, Value::Array(list)) if !list.is_empty() => {
            let again = list[random.below(list.len())].clone();
            list.push(again);
        }
        (2, node) => *node = other,
        (_, node) => *node = odd(random, node),
    }
}

/// Something that should not be there, often of the same type.
fn odd(random: &mut Random, node: &Value) -> Value {
    let numbers =
        ["0", "1", "-1", "2", "7", "1.5", "1e308", "-0.0", "4294967296", "1152921504606846976", "18446744073709551615"];
    match (node, random.below(3)) {
        (Value::Number(_), 0 | 1) => serde_json::from_str(numbers[random.below(numbers.len())]).unwrap_or_default(),
        (Value::String(text), 0) => Value::from(format!("{text}x")),
        (Value::String(_), 1) => {
            Value::from(["", "a", "Ridge", "SVC", "F32", "I64", "NaN", "float", "\u{0}"][random.below(9)])
        }
        _ => {
            let all = ["null", "true", "[]", "{}", "\"\"", "-1", "1e308", "[[]]", "[0]", "18446744073709551615"];
            serde_json::from_str(all[random.below(all.len())]).unwrap_or_default()
        }
    }
}

/// Pointers to all nodes.
fn walk(node: &Value, place: String, places: &mut Vec<String>) {
    match node {
        Value::Object(object) => {
            for (name, child) in object {
                walk(child, format!("{place}/{}", name.replace('~', "~0").replace('/', "~1")), places);
            }
        }
        Value::Array(list) => {
            for (number, child) in list.iter().enumerate().take(40) {
                walk(child, format!("{place}/{number}"), places);
            }
        }
        _ => {}
    }
    places.push(place);
}
