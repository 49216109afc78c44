//! Functions f(x) = Σⱼ k(x, zⱼ) cⱼ, the prediction of every kernel method.

use tove_tensor::{DType, Tensor, TryOps};

use super::matrix::{TILE, product};
use super::{Features, KernelFunction};
use crate::{AttributeGroup, Attributes, Csr, Reading, Record, Result, Rows};

/// Points with coefficients.
#[derive(Clone, Debug)]
pub(crate) struct Expansion {
    points: Features,     // (m, d)
    coefficients: Tensor, // (m, k)
}

impl Expansion {
    /// Creates an expansion from points (m, d) and coefficients (m, k).
    pub(crate) fn new(function: KernelFunction, points: impl Into<Rows>, coefficients: &Tensor) -> Result<Expansion> {
        let points = points.into();
        let coefficients = coefficients.to_dtype(points.dtype()).try_contiguous()?;
        Ok(Expansion { points: Features::as_stored(points, function)?, coefficients })
    }

    /// Creates an expansion from the features at these indices and coefficients (m, k).
    pub(crate) fn of(features: &Features, positions: &[usize], coefficients: &Tensor) -> Result<Expansion> {
        let function = features.function().clone();
        if let KernelFunction::Precomputed { .. } = function {
            let coefficients = coefficients.to_dtype(features.dtype()).try_contiguous()?;
            let points = Features::named(positions.to_vec(), function, features.dtype())?;
            return Ok(Expansion { points, coefficients });
        }
        Expansion::new(function, features.rows().take(positions)?, coefficients)
    }

    /// Evaluates f at rows (n, d): (n, k).
    pub(crate) fn at(&self, x: &Rows) -> Result<Tensor> {
        let (m, outputs) = (self.points.len(), self.coefficients.dims()[1]);
        let (mut parts, mut coefficients) = (Vec::new(), Vec::new());
        // Sums no longer than a matrix product adds at once: longer sums may be split depending on the number of rows.
        for start in (0..m).step_by(2 * TILE) {
            let end = (start + 2 * TILE).min(m);
            parts.push(self.points.part(start..end)?);
            coefficients.push(self.coefficients.try_narrow(0, start, end - start)?);
        }
        product(&self.points.with_same_center(x)?, &parts, &coefficients, outputs)
    }

    /// The points.
    pub(crate) fn points(&self) -> &Rows {
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
            _ => self.points().width(),
        }
    }

    /// Type of the values.
    pub(crate) fn dtype(&self) -> DType {
        self.points.dtype()
    }

    /// That there are so many points with so many coefficients each.
    pub(crate) fn require_rows(&self, record: &Record, points: usize, columns: usize) -> Result<()> {
        if self.coefficients.dims() == [points, columns] {
            return Ok(());
        }
        Err(record.wrong("coefficients", "a row per point and a column per machine"))
    }

    /// The points as an attribute of this name; a precomputed kernel has none.
    pub(crate) fn named_points(&self, name: &'static str) -> Attributes {
        self.points().to_dense().ok().map(|points| (name, points)).into_iter().collect()
    }
}

impl AttributeGroup for Expansion {
    fn write(&self, record: &mut Record) {
        self.function().write(record);
        match self.points.columns() {
            Some(columns) => {
                let columns: Vec<i64> = columns.iter().map(|&column| column as i64).collect();
                record.put_tensor("columns", &Tensor::from_slice(&columns));
            }
            None => match self.points() {
                Rows::Dense(points) => record.put_tensor("points", points),
                Rows::Sparse(points) => write_sparse(points, record),
            },
        }
        record.put_tensor("coefficients", &self.coefficients);
    }

    fn read(reading: &mut Reading<'_>) -> Result<Expansion> {
        let expansion = read(reading.record(), reading.own_kernel())?;
        reading.agree("points", "features", expansion.width())?;
        reading.check_precision("coefficients", expansion.dtype())?;
        Ok(expansion)
    }

    /// Models name the points and the coefficients as scikit-learn does.
    fn attributes(&self, _all: &mut Attributes) {}
}

fn read(record: &Record, custom: Option<&KernelFunction>) -> Result<Expansion> {
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
    if record.get("points_columns").is_ok() {
        let points = read_sparse(record)?;
        let fits = coefficients.rank() == 2 && points.rows() == coefficients.dims()[0];
        if !fits || points.dtype() != coefficients.dtype() {
            return Err(record.wrong("coefficients", "a matrix with a row per point"));
        }
        require_finite(record, &[("points_values", points.values()), ("coefficients", coefficients)])?;
        return Expansion::new(function, points, coefficients);
    }
    let points = record.tensor("points")?;
    let fits = points.rank() == 2 && coefficients.rank() == 2 && points.dims()[0] == coefficients.dims()[0];
    if !fits || !points.dtype().is_float() || points.dtype() != coefficients.dtype() {
        return Err(record.wrong("coefficients", "a matrix with a row per point"));
    }
    require_finite(record, &[("points", points), ("coefficients", coefficients)])?;
    Expansion::new(function, points, coefficients)
}

fn require_finite(record: &Record, tensors: &[(&str, &Tensor)]) -> Result<()> {
    let broken = |tensor: &Tensor| !tensor.to_f64_vec().iter().all(|value| value.is_finite());
    match tensors.iter().find(|(_, tensor)| broken(tensor)) {
        Some((name, _)) => Err(record.wrong(name, "a matrix of finite numbers")),
        None => Ok(()),
    }
}

/// Writes sparse points as the three arrays of a CSR matrix.
fn write_sparse(points: &Csr, record: &mut Record) {
    let starts: Vec<i64> = points.indptr().iter().map(|&start| start as i64).collect();
    let indices: Vec<i64> = points.indices().iter().map(|&column| i64::from(column)).collect();
    record.put("points_columns", points.columns());
    record.put_tensor("points_indptr", &Tensor::from_slice(&starts));
    record.put_tensor("points_indices", &Tensor::from_slice(&indices));
    record.put_tensor("points_values", points.values());
}

fn read_sparse(record: &Record) -> Result<Csr> {
    let wrong = |name: &str| record.wrong(name, "an array of compressed sparse rows");
    let starts = record.integers("points_indptr")?.into_iter().map(usize::try_from).collect::<Result<_, _>>();
    let indices = record.integers("points_indices")?.into_iter().map(u32::try_from).collect::<Result<_, _>>();
    let (starts, indices) =
        (starts.map_err(|_| wrong("points_indptr"))?, indices.map_err(|_| wrong("points_indices"))?);
    let values = record.tensor("points_values")?.clone();
    Csr::new(starts, indices, values, record.count("points_columns")?).map_err(|_| wrong("points_indptr"))
}
