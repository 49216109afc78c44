//! Printing as numpy does.
//!
//! `{}` gives numpy's `str`: columns aligned, at most eight digits behind the point and no more than the numbers need,
//! scientific notation for numbers of very different or extreme size, `...` in place of the middle of tensors with more
//! than 1000 elements, lines broken at 75 characters. `{:.3}` sets the digits behind the point. `{:?}` gives shape, type
//! and the values shortened to a line.
//!
//! The text is numpy's own for every element type and shape that the fixtures cover. A tensor of rank 0 is written with
//! all the digits it needs (`0.30000000000000004`), unless a precision is asked for.
//!
//! ```
//! use tove_tensor::Tensor;
//! let x = Tensor::from([[1.0, 2.5], [-3.25, 4.0]]);
//! assert_eq!(x.to_string(), "[[ 1.    2.5 ]\n [-3.25  4.  ]]");
//! assert_eq!(format!("{:.1}", Tensor::from([0.125, 2.0])), "[0.1 2. ]");
//! assert_eq!(format!("{:?}", Tensor::from([1i64, 2])), "Tensor(shape=(2,), dtype=i64, [1 2])");
//! ```

use std::fmt::{self, Write};

use super::Tensor;
use crate::{DType, Element, Shape};

mod number;

/// Elements above which the middle is left out.
const THRESHOLD: usize = 1000;
/// Characters in a line.
const WIDTH: usize = 75;

struct Options {
    precision: usize,
    threshold: usize,
    /// Elements shown at both ends of a shortened axis.
    edge: usize,
    width: usize,
}

impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let precision = f.precision().unwrap_or(8);
        if self.rank() == 0 && f.precision().is_none() && !self.is_batched() {
            match self.dtype() {
                DType::F32 => return f.write_str(&number::scalar(self.try_item::<f32>().unwrap_or_default())),
                DType::F64 => return f.write_str(&number::scalar(self.try_item::<f64>().unwrap_or_default())),
                _ => {}
            }
        }
        write_values(self, &Options { precision, threshold: THRESHOLD, edge: 3, width: WIDTH }, f)
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor(shape={}, dtype={}, ", self.shape(), self.dtype())?;
        let mut text = String::new();
        let precision = f.precision().unwrap_or(4);
        write_values(self, &Options { precision, threshold: 8, edge: 2, width: usize::MAX }, &mut text)?;
        // One line: what stood at the start of a line follows after one space.
        let lines: Vec<&str> = text.split('\n').map(str::trim).filter(|line| !line.is_empty()).collect();
        write!(f, "{})", lines.join(" "))
    }
}

fn write_values(x: &Tensor, options: &Options, out: &mut impl Write) -> fmt::Result {
    if x.is_batched() {
        return out.write_str("<values inside vmap>");
    }
    if x.numel() == 0 {
        return out.write_str("[]");
    }
    let shortened = x.numel() > options.threshold;
    let shown: Vec<Vec<Option<usize>>> =
        x.dims().iter().map(|&size| positions(size, options.edge, shortened)).collect();
    let words = words(x, &shown, options.precision);
    let mut printer = Printer { shown: &shown, words: words.iter(), width: options.width };
    out.write_str(&printer.text(0, 1, options.width))
}

/// The positions of an axis that are printed; `None` stands for the ones left out.
fn positions(size: usize, edge: usize, shortened: bool) -> Vec<Option<usize>> {
    if shortened && size > 2 * edge {
        (0..edge).map(Some).chain([None]).chain((size - edge..size).map(Some)).collect()
    } else {
        (0..size).map(Some).collect()
    }
}

/// The printed elements in row-major order, all of one width.
fn words(x: &Tensor, shown: &[Vec<Option<usize>>], precision: usize) -> Vec<String> {
    let kept: Vec<Vec<usize>> = shown.iter().map(|axis| axis.iter().flatten().copied().collect()).collect();
    let sizes: Shape = kept.iter().map(Vec::len).collect();
    let strides = sizes.row_major();
    let along = |axis: usize, i: usize| kept[axis][i / strides[axis] as usize % sizes[axis]];
    let place = |i: usize| -> Vec<usize> { (0..sizes.rank()).map(|axis| along(axis, i)).collect() };
    let places = (0..sizes.numel()).map(place);
    match x.dtype() {
        DType::F32 => number::floats::<f32>(&read(x, places), precision),
        DType::F64 => number::floats::<f64>(&read(x, places), precision),
        DType::I64 => number::aligned(read::<i64>(x, places).iter().map(i64::to_string).collect()),
        DType::U8 => number::aligned(read::<u8>(x, places).iter().map(u8::to_string).collect()),
        DType::Bool => {
            let name = |&value: &bool| if value { "True" } else { "False" }.to_string();
            let names: Vec<String> = read::<bool>(x, places).iter().map(name).collect();
            // numpy keeps room for the longer word even if it does not occur.
            if x.rank() == 0 { names } else { names.iter().map(|name| format!("{name:>5}")).collect() }
        }
    }
}

/// The elements at these positions.
fn read<T: Element>(x: &Tensor, places: impl Iterator<Item = Vec<usize>>) -> Vec<T> {
    places.map(|place| x.try_at(&place).unwrap_or_default()).collect()
}

/// Puts words between brackets.
struct Printer<'a> {
    shown: &'a [Vec<Option<usize>>],
    words: std::slice::Iter<'a, String>,
    width: usize,
}

impl Printer<'_> {
    fn word(&mut self) -> &str {
        self.words.next().map_or("", String::as_str)
    }

    /// The text of everything below `axis`. Continuation lines begin with `indent` spaces; `width` shrinks by the
    /// closing bracket of each level.
    fn text(&mut self, axis: usize, indent: usize, width: usize) -> String {
        let Some(entries) = self.shown.get(axis) else { return self.word().to_string() };
        if axis + 1 == self.shown.len() {
            return self.row(entries, indent, width.saturating_sub(1));
        }
        let separator = "\n".repeat(self.shown.len() - axis - 1) + &" ".repeat(indent);
        let part = |entry: &Option<usize>| match entry {
            Some(_) => self.text(axis + 1, indent + 1, width.saturating_sub(1)),
            None => "...".to_string(),
        };
        let parts: Vec<String> = entries.iter().map(part).collect();
        format!("[{}]", parts.join(&separator))
    }

    fn row(&mut self, entries: &[Option<usize>], indent: usize, width: usize) -> String {
        debug_assert!(width <= self.width);
        let mut text = String::from("[");
        let mut column = indent;
        for (i, entry) in entries.iter().enumerate() {
            let word = if entry.is_some() { self.word() } else { "..." };
            let gap = usize::from(i > 0);
            if i > 0 && column + gap + word.chars().count() > width {
                text.truncate(text.trim_end().len());
                text.push('\n');
                text.push_str(&" ".repeat(indent));
                column = indent;
            } else if i > 0 {
                text.push(' ');
                column += gap;
            }
            text.push_str(word);
            column += word.chars().count();
        }
        text + "]"
    }
}
