//! Passes over the columns of dense and sparse rows.

// Loops over columns index several arrays with one counter; iterators would hide which.
#![allow(clippy::needless_range_loop)]

use std::sync::{Mutex, PoisonError};

use tove_tensor::Tensor;
use tove_tensor::kernels::simd::{Kernel, dispatch};
use tove_tensor::pool::parallel_for;

use crate::{About, Csr, LearnError, Real, Result, Rows, with_real};

/// Numbers handled by one task.
const BLOCK: usize = 1 << 15;

/// Every number of the rows through `change(column, number)`; of sparse rows, those that are stored.
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

/// Has parts of the rows of `out` written, given the number of the first row; parts run in parallel.
pub(crate) fn by_rows<T: Real>(out: &mut [T], width: usize, write: impl Fn(usize, &mut [T]) + Sync) {
    let rows = (BLOCK / width.max(1)).max(1);
    let parts: Vec<Mutex<&mut [T]>> = out.chunks_mut(rows * width.max(1)).map(Mutex::new).collect();
    parallel_for(parts.len(), &|task| {
        write(task * rows, &mut parts[task].lock().unwrap_or_else(PoisonError::into_inner));
    });
}

/// What an affine change does to a number x of a column with centre c and scale s.
#[derive(Clone, Copy)]
pub(super) enum Way {
    /// (x − c)/s.
    Forward,
    /// x s + c.
    Back,
}

/// An affine change of every column; of sparse rows, of the numbers that are stored.
pub(super) fn affine(x: &Rows, centre: &[f64], scale: &[f64], way: Way) -> Result<Rows> {
    let Rows::Dense(dense) = x else {
        return map(x, |column, value| match way {
            Way::Forward => (value - centre[column]) / scale[column],
            Way::Back => value * scale[column] + centre[column],
        });
    };
    let width = centre.len();
    with_real!(dense.dtype(), T => {
        let values = dense.as_slice::<T>()?;
        let mut out = Tensor::try_zeros(dense.dims().to_vec(), dense.dtype())?;
        by_rows(out.as_mut_slice::<T>()?, width, |first, out| {
            let x = &values[first * width..][..out.len()];
            dispatch(Affine { x, out, centre, scale, way });
        });
        Ok(Rows::Dense(out))
    })
}

struct Affine<'a, T> {
    x: &'a [T],
    out: &'a mut [T],
    centre: &'a [f64],
    scale: &'a [f64],
    way: Way,
}

impl<T: Real> Kernel for Affine<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let width = self.centre.len().max(1);
        let rows = self.out.chunks_exact_mut(width).zip(self.x.chunks_exact(width));
        match self.way {
            Way::Forward => rows.for_each(|(out, x)| change(out, x, self.centre, self.scale, |x, c, s| (x - c) / s)),
            Way::Back => rows.for_each(|(out, x)| change(out, x, self.centre, self.scale, |x, c, s| x * s + c)),
        }
    }
}

#[inline(always)]
fn change<T: Real>(out: &mut [T], x: &[T], centre: &[f64], scale: &[f64], of: impl Fn(f64, f64, f64) -> f64) {
    let width = out.len();
    let (x, centre, scale) = (&x[..width], &centre[..width], &scale[..width]);
    for c in 0..width {
        out[c] = T::of(of(x[c].f64(), centre[c], scale[c]));
    }
}

/// Every stored number with its row and column, row after row.
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
                (two[0]..two[1]).for_each(|place| see(row, x.indices()[place] as usize, values[place].f64()));
            }
        }),
    }
    Ok(())
}

/// The numbers of each column in ascending order without NaN; the zeros of sparse rows too.
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

/// Smallest and largest number of each column without NaN; the zeros of sparse rows count.
pub(super) fn extremes(x: &Rows) -> Result<(Vec<f64>, Vec<f64>)> {
    let width = x.width();
    let (mut low, mut high, mut stored) = (vec![f64::NAN; width], vec![f64::NAN; width], vec![0; width]);
    each(x, |_, column, value| {
        low[column] = low[column].min(value); // the smaller of a number and NaN is the number
        high[column] = high[column].max(value);
        stored[column] += 1;
    })?;
    for ((low, high), _) in low.iter_mut().zip(&mut high).zip(&stored).filter(|(_, stored)| **stored < x.len()) {
        (*low, *high) = (low.min(0.0), high.max(0.0)); // a zero that is not stored
    }
    Ok((low, high))
}

/// That there is no infinite number.
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
            let fix = "remove the row, or give NaN for what is missing";
            Err(LearnError::NotFinite { what: "the feature", row, column: Some(column), value, fix })
        }
    }
}

/// That sparse rows are not to be centred.
pub(super) fn refuse_centring(who: &'static str, x: &Rows, centred: bool, field: &str) -> Result<()> {
    match x {
        Rows::Sparse(_) if centred => {
            let what = "cannot centre sparse rows, since all zeros would become numbers";
            Err(LearnError::unsupported(who, what, format!("set `{field}` to false")))
        }
        _ => Ok(()),
    }
}

/// A spread of 0 (or within rounding of it) becomes 1, so that a constant column stays finite.
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
                self.change(x, $crate::features::columns::Way::Forward)
            }

            fn inverse_rows(&self, x: &$crate::Rows) -> $crate::Result<$crate::Rows> {
                self.admit(x)?;
                self.change(x, $crate::features::columns::Way::Back)
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

/// Transformed rows, after checking that no number has become infinite.
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
            Err(LearnError::data(who, problem, "scale the features, for instance with `StandardScaler`"))
        }
    }
}

/// A column of dense rows.
pub(super) fn column(values: &[f64], width: usize, place: usize) -> Vec<f64> {
    values.iter().skip(place).step_by(width.max(1)).copied().collect()
}
