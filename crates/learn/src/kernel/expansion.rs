//! Functions f(x) = Σⱼ k(x, zⱼ) cⱼ: what every kernel method ends with.

use tove_tensor::{DType, Tensor, TryOps};

use super::matrix::{TILE, product};
use super::{Features, KernelFunction};
use crate::{Record, Result};

/// Points with coefficients.
#[derive(Clone, Debug)]
pub(crate) struct Expansion {
    points: Features,     // (m, d)
    coefficients: Tensor, // (m, k)
}

impl Expansion {
    /// Points (m, d) with coefficients (m, k).
    pub(crate) fn new(function: KernelFunction, points: &Tensor, coefficients: &Tensor) -> Result<Expansion> {
        let coefficients = coefficients.to_dtype(points.dtype()).try_contiguous()?;
        Ok(Expansion { points: Features::new(points, function)?, coefficients })
    }

    /// The features at these places with coefficients (m, k).
    pub(crate) fn of(features: &Features, places: &[usize], coefficients: &Tensor) -> Result<Expansion> {
        let function = features.function().clone();
        if let KernelFunction::Precomputed { .. } = function {
            let coefficients = coefficients.to_dtype(features.dtype()).try_contiguous()?;
            let points = Features::named(places.to_vec(), function, features.dtype())?;
            return Ok(Expansion { points, coefficients });
        }
        Expansion::new(function, &crate::rows::take(features.rows(), places)?, coefficients)
    }

    /// f at rows (n, d): (n, k).
    pub(crate) fn at(&self, x: &Tensor) -> Result<Tensor> {
        let (m, outputs) = (self.points.len(), self.coefficients.dims()[1]);
        let (mut parts, mut coefficients) = (Vec::new(), Vec::new());
        // No more than a matrix product adds up in one go: longer sums are cut or not by the number of rows.
        for start in (0..m).step_by(2 * TILE) {
            let end = (start + 2 * TILE).min(m);
            parts.push(self.points.part(start..end)?);
            coefficients.push(self.coefficients.try_narrow(0, start, end - start)?);
        }
        product(&self.points.beside(x)?, &parts, &coefficients, outputs)
    }

    /// The points.
    pub(crate) fn points(&self) -> &Tensor {
        self.points.rows()
    }

    /// The coefficients (m, k).
    pub(crate) fn coefficients(&self) -> &Tensor {
        &self.coefficients
    }

    /// The kernel.
    pub(crate) fn function(&self) -> &KernelFunction {
        self.points.function()
    }

    /// Number of features.
    pub(crate) fn width(&self) -> usize {
        match self.function() {
            KernelFunction::Precomputed { samples } => *samples,
            _ => self.points().dims()[1],
        }
    }

    /// Type of the numbers.
    pub(crate) fn dtype(&self) -> DType {
        self.points.dtype()
    }

    /// Writes everything into a record.
    pub(crate) fn write(&self, record: &mut Record) {
        self.function().write(record);
        match self.points.columns() {
            Some(columns) => {
                let columns: Vec<i64> = columns.iter().map(|&column| column as i64).collect();
                record.put_tensor("columns", &Tensor::from_slice(&columns));
            }
            None => record.put_tensor("points", self.points()),
        }
        record.put_tensor("coefficients", &self.coefficients);
    }

    /// Reads what [`Expansion::write`] wrote.
    pub(crate) fn read(record: &Record, custom: Option<&KernelFunction>) -> Result<Expansion> {
        let coefficients = record.tensor("coefficients")?;
        let function = KernelFunction::read(record, custom)?;
        if let KernelFunction::Precomputed { samples } = function {
            let inside = |column: i64| usize::try_from(column).ok().filter(|&column| column < samples);
            let columns: Option<Vec<usize>> = record.integers("columns")?.into_iter().map(inside).collect();
            let columns = columns.filter(|columns| coefficients.rank() == 2 && coefficients.dims()[0] == columns.len());
            let columns = columns.ok_or_else(|| record.wrong("columns", "a training sample per coefficient"))?;
            if !coefficients.dtype().is_float() {
                return Err(record.wrong("coefficients", "a matrix of numbers"));
            }
            let points = Features::named(columns, function, coefficients.dtype())?;
            return Ok(Expansion { points, coefficients: coefficients.try_contiguous()? });
        }
        let points = record.tensor("points")?;
        let fits = points.rank() == 2 && coefficients.rank() == 2 && points.dims()[0] == coefficients.dims()[0];
        if !fits || !points.dtype().is_float() || points.dtype() != coefficients.dtype() {
            return Err(record.wrong("coefficients", "a matrix with a row per point"));
        }
        for (name, tensor) in [("points", points), ("coefficients", coefficients)] {
            if !tensor.to_f64_vec().iter().all(|value| value.is_finite()) {
                return Err(record.wrong(name, "a matrix of finite numbers"));
            }
        }
        Expansion::new(function, points, coefficients)
    }
}
