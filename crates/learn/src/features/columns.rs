//! Passes over the columns of dense and sparse rows.

use std::sync::{Mutex, PoisonError};

use tove_tensor::Tensor;
use tove_tensor::pool::parallel_for;

use crate::{Csr, LearnError, Real, Result, Rows, with_real};

/// Numbers handled by one task.
const BLOCK: usize = 1 << 15;

/// Every number of the rows through `change(column, number)`; of sparse rows, those that are stored.
pub(super) fn map(x: &Rows, change: impl Fn(usize, f64) -> f64 + Sync) -> Result<Rows> {
    let width = x.width().max(1);
    match x {
        Rows::Dense(x) => with_real!(x.dtype(), T => {
            let values = x.as_slice::<T>()?;
            let mut out = vec![<T as Real>::ZERO; values.len()];
            let step = (BLOCK / width).max(1) * width; // whole rows
            let parts: Vec<Mutex<&mut [T]>> = out.chunks_mut(step).map(Mutex::new).collect();
            parallel_for(parts.len(), &|task| {
                let mut part = parts[task].lock().unwrap_or_else(PoisonError::into_inner);
                for (out, row) in part.chunks_mut(width).zip(values[task * step..].chunks(width)) {
                    for (column, (out, &value)) in out.iter_mut().zip(row).enumerate() {
                        *out = T::of(change(column, value.f64()));
                    }
                }
            });
            drop(parts);
            Ok(Rows::Dense(Tensor::try_from_vec(out, x.dims().to_vec())?))
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

/// That there is a row, and no infinite number.
pub(super) fn admit(who: &'static str, x: &Rows) -> Result<()> {
    if x.is_empty() {
        let fix = "give rows to learn from".to_owned();
        return Err(LearnError::TooFew { who, found: 0, needed: 1, fix });
    }
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

/// `Transform` and `RestoreTransform` for a transformation that changes each number by its column alone.
macro_rules! by_column {
    ($fitted:ident, $settings:ident, [$($vector:ident),*], forward = $forward:ident, inverse = $inverse:ident) => {
        impl $crate::Transform for $fitted {
            fn name(&self) -> &'static str {
                <$settings as $crate::FitTransform>::NAME
            }

            fn width(&self) -> usize {
                self.width
            }

            fn outputs(&self) -> usize {
                self.width
            }

            fn takes_missing(&self) -> bool {
                true
            }

            fn output_names(&self, inputs: &[String]) -> Vec<String> {
                inputs.to_vec()
            }

            fn transform_rows(&self, x: &$crate::Rows) -> $crate::Result<$crate::Rows> {
                self.admit(x)?;
                $crate::features::columns::map(x, |column, value| self.$forward(column, value))
            }

            fn inverse_rows(&self, x: &$crate::Rows) -> $crate::Result<$crate::Rows> {
                self.admit(x)?;
                $crate::features::columns::map(x, |column, value| self.$inverse(column, value))
            }

            fn record(&self) -> $crate::Record {
                let mut record = $crate::Record::new(self.name(), 1);
                record.put("settings", self.settings.to_json());
                record.put("width", self.width);
                $(record.put_tensor(stringify!($vector), &tove_tensor::Tensor::from_slice(&self.$vector));)*
                record
            }
        }

        impl $crate::RestoreTransform for $fitted {
            fn restore(record: &$crate::Record) -> $crate::Result<$fitted> {
                let settings: $settings = record.settings(<$settings as $crate::FitTransform>::NAME, 1)?;
                let width = record.count("width")?;
                $(record.shaped(stringify!($vector), &[width])?;)*
                Ok($fitted { settings, width, $($vector: record.vector(stringify!($vector))?,)* })
            }
        }
    };
}
pub(super) use by_column;
