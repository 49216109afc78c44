//! Passes over the columns of dense and sparse rows.

// Loops over columns index several arrays with one counter; iterators would be harder to read.
#![allow(clippy::needless_range_loop)]

use std::sync::{Mutex, PoisonError};

use tove_tensor::Tensor;
use tove_tensor::kernels::simd::{Kernel, dispatch};
use tove_tensor::pool::parallel_for;

use crate::{About, Csr, LearnError, Real, Result, Rows, with_real};

/// Values per task.
const BLOCK: usize = 1 << 15;

/// Applies `change(column, value)` to every value; for sparse rows, to stored values only.
pub(super) fn map(x: &Rows, change: impl Fn(usize, f64) -> f64 + Sync) -> Result<Rows> {
    let width = x.width().max(1);
    match x {
        Rows::Dense(x) => with_real!(x.dtype(), T => {
            let values = x.as_slice::<T>()?;
            let mut out = Tensor::try_zeros(x.dims().to_vec(), x.dtype())?;
            by_rows(out.as_mut_slice::<T>()?, width, |first, part| {
                for (out, row) in part.chunks_mut(width).zip(values[first * width..].chunks(width)) {
                    for (column, (out, &value)) in out.iter_mut().zip(row).enumerate() {
                        *out = T::of(change(column, value.f64()));
                    }
                }
            });
            Ok(Rows::Dense(out))
        }),
        Rows::Sparse(x) => with_real!(x.dtype(), T => {
            let values = x.values().as_slice::<T>()?.iter().zip(x.indices());
            let out: Vec<T> = values.map(|(&value, &column)| T::of(change(column as usize, value.f64()))).collect();
            let entries = out.len();
            let values = Tensor::try_from_vec(out, [entries])?;
            Ok(Rows::Sparse(Csr::new(x.indptr().to_vec(), x.indices().to_vec(), values, x.columns())?))
        }),
    }
}

/// Writes chunks of the rows of `out` in parallel; `write` gets the index of the first row.
pub(crate) fn by_rows<T: Real>(out: &mut [T], width: usize, write: impl Fn(usize, &mut [T]) + Sync) {
    let rows = (BLOCK / width.max(1)).max(1);
    let parts: Vec<Mutex<&mut [T]>> = out.chunks_mut(rows * width.max(1)).map(Mutex::new).collect();
    parallel_for(parts.len(), &|task| {
        write(task * rows, &mut parts[task].lock().unwrap_or_else(PoisonError::into_inner));
    });
}

/// Direction of an affine transformation of a value x in a column with center c and scale s.
#[derive(Clone, Copy)]
pub(super) enum Direction {
    /// (x − c)/s.
    Forward,
    /// x s + c.
    Back,
}

/// Applies an affine transformation to every column; for sparse rows, to stored values only.
pub(super) fn affine(x: &Rows, center: &[f64], scale: &[f64], direction: Direction) -> Result<Rows> {
    let Rows::Dense(dense) = x else {
        return map(x, |column, value| match direction {
            Direction::Forward => (value - center[column]) / scale[column],
            Direction::Back => value * scale[column] + center[column],
        });
    };
    let width = center.len();
    with_real!(dense.dtype(), T => {
        let values = dense.as_slice::<T>()?;
        let mut out = Tensor::try_zeros(dense.dims().to_vec(), dense.dtype())?;
        by_rows(out.as_mut_slice::<T>()?, width, |first, out| {
            let x = &values[first * width..][..out.len()];
            dispatch(Affine { x, out, center, scale, direction });
        });
        Ok(Rows::Dense(out))
    })
}

struct Affine<'a, T> {
    x: &'a [T],
    out: &'a mut [T],
    center: &'a [f64],
    scale: &'a [f64],
    direction: Direction,
}

impl<T: Real> Kernel for Affine<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let width = self.center.len().max(1);
        let rows = self.out.chunks_exact_mut(width).zip(self.x.chunks_exact(width));
        match self.direction {
            Direction::Forward => {
                rows.for_each(|(out, x)| change(out, x, self.center, self.scale, |x, c, s| (x - c) / s))
            }
            Direction::Back => rows.for_each(|(out, x)| change(out, x, self.center, self.scale, |x, c, s| x * s + c)),
        }
    }
}

#[inline(always)]
fn change<T: Real>(out: &mut [T], x: &[T], center: &[f64], scale: &[f64], of: impl Fn(f64, f64, f64) -> f64) {
    let width = out.len();
    let (x, center, scale) = (&x[..width], &center[..width], &scale[..width]);
    for c in 0..width {
        out[c] = T::of(of(x[c].f64(), center[c], scale[c]));
    }
}

/// Calls `see` with row, column and value of every stored value, row by row.
pub(super) fn each(x: &Rows, mut see: impl FnMut(usize, usize, f64)) -> Result<()> {
    match x {
        Rows::Dense(x) => {
            let width = x.dims()[1].max(1);
            with_real!(x.dtype(), T => {
                for (row, values) in x.as_slice::<T>()?.chunks(width).enumerate() {
                    values.iter().enumerate().for_each(|(column, &value)| see(row, column, value.f64()));
                }
            });
        }
        Rows::Sparse(x) => with_real!(x.dtype(), T => {
            let values = x.values().as_slice::<T>()?;
            for (row, two) in x.indptr().windows(2).enumerate() {
                (two[0]..two[1]).for_each(|index| see(row, x.indices()[index] as usize, values[index].f64()));
            }
        }),
    }
    Ok(())
}

/// Calls `see` with the values of each column in ascending order without NaN, including the zeros of sparse rows.
pub(super) fn sorted(x: &Rows, mut see: impl FnMut(usize, &[f64])) -> Result<()> {
    let (rows, width) = (x.len(), x.width());
    match x {
        Rows::Dense(x) => with_real!(x.dtype(), T => {
            let values = x.as_slice::<T>()?;
            let mut column_values = Vec::with_capacity(rows);
            for column in 0..width {
                column_values.clear();
                let numbers = values.iter().skip(column).step_by(width).map(|value| value.f64());
                column_values.extend(numbers.filter(|value| !value.is_nan()));
                column_values.sort_unstable_by(f64::total_cmp);
                see(column, &column_values);
            }
        }),
        Rows::Sparse(_) => {
            let (mut lists, mut stored) = (vec![Vec::new(); width], vec![0; width]);
            each(x, |_, column, value| {
                stored[column] += 1;
                if !value.is_nan() {
                    lists[column].push(value);
                }
            })?;
            for (column, mut list) in lists.into_iter().enumerate() {
                list.resize(list.len() + rows - stored[column], 0.0);
                list.sort_unstable_by(f64::total_cmp);
                see(column, &list);
            }
        }
    }
    Ok(())
}

/// Minimum and maximum of each column without NaN, including the zeros of sparse rows.
pub(super) fn extremes(x: &Rows) -> Result<(Vec<f64>, Vec<f64>)> {
    let width = x.width();
    let (mut low, mut high, mut stored) = (vec![f64::NAN; width], vec![f64::NAN; width], vec![0; width]);
    each(x, |_, column, value| {
        low[column] = low[column].min(value); // the minimum of a number and NaN is the number
        high[column] = high[column].max(value);
        stored[column] += 1;
    })?;
    for ((low, high), _) in low.iter_mut().zip(&mut high).zip(&stored).filter(|(_, stored)| **stored < x.len()) {
        (*low, *high) = (low.min(0.0), high.max(0.0)); // a zero that is not stored
    }
    Ok((low, high))
}

/// Checks that no value is infinite.
pub(super) fn without_infinite(x: &Rows) -> Result<()> {
    let mut first = None;
    each(x, |row, column, value| {
        if value.is_infinite() && first.is_none() {
            first = Some((row, column, value));
        }
    })?;
    match first {
        None => Ok(()),
        Some((row, column, value)) => {
            let fix = "remove the row, or use NaN for missing values";
            Err(LearnError::NotFinite { what: "the feature", row, column: Some(column), value, fix })
        }
    }
}

/// Returns an error if sparse rows would be centered.
pub(super) fn reject_centering(who: &'static str, x: &Rows, centered: bool, field: &str) -> Result<()> {
    match x {
        Rows::Sparse(_) if centered => {
            let what = "cannot center sparse rows, since that would make them dense";
            Err(LearnError::unsupported(who, what, format!("set `{field}` to false")))
        }
        _ => Ok(()),
    }
}

/// Replaces a scale of 0 (within rounding) by 1, so that constant columns stay finite.
pub(super) fn without_zeros(scale: &mut [f64]) {
    for scale in scale {
        if *scale < 10.0 * f64::EPSILON {
            *scale = 1.0;
        }
    }
}

/// [`Model`](crate::Model) for a transformation that changes each number by its column alone.
macro_rules! by_column {
    ($fitted:ident) => {
        impl $crate::Model for $fitted {
            $crate::fitted_methods!();

            fn output_names(&self, inputs: &[String]) -> Vec<String> {
                inputs.to_vec()
            }

            fn transform_rows(&self, x: &$crate::Rows) -> $crate::Result<$crate::Rows> {
                self.admit(x)?;
                self.change(x, $crate::features::columns::Direction::Forward)
            }

            fn inverse_rows(&self, x: &$crate::Rows) -> $crate::Result<$crate::Rows> {
                self.admit(x)?;
                self.change(x, $crate::features::columns::Direction::Back)
            }
        }
    };
}
pub(super) use by_column;

/// The hyperparameters that a transformation was fitted with.
pub(super) fn settings_of<S: tove_optim::settings::Hyperparameters + Default>(about: &About) -> Result<S> {
    let mut settings = S::default();
    settings.load_json(&about.settings)?;
    Ok(settings)
}

/// Returns transformed rows after checking that no value became infinite.
pub(super) fn without_overflow(who: &'static str, x: Rows) -> Result<Rows> {
    let mut first = None;
    each(&x, |row, column, value| {
        if value.is_infinite() && first.is_none() {
            first = Some((row, column));
        }
    })?;
    match first {
        None => Ok(x),
        Some((row, column)) => {
            let problem = format!("the transformed feature in row {row}, column {column}, overflows");
            Err(LearnError::data(who, problem, "scale the features, for example with `StandardScaler`"))
        }
    }
}

/// A column of dense rows.
pub(super) fn column(values: &[f64], width: usize, index: usize) -> Vec<f64> {
    values.iter().skip(index).step_by(width.max(1)).copied().collect()
}
