//! Answers that do not depend on what else is asked.
//!
//! A matrix product takes another way for a row or a few than for many, sums in another order on it, and so may give another
//! last bit. A model of a table must not: a row has the same answer alone, among ten others and among ten thousand, or
//! requests could not be answered together. Three things make it so. Fewer rows than [`BLOCK`] are filled up to that many:
//! from there on every way through the products sums an element in an order that the number of rows has no part in.
//! Models with sums of [`LONG`] terms or more, which are cut by the size of the result, see blocks of exactly [`BLOCK`] rows.
//! Sparse rows are multiplied one by one as it is.

use tove_learn::calibration::CalibrationCheck;
use tove_learn::neighbors::{Neighbors, RadiusNeighbors};
use tove_learn::{About, Model, Record, Result, Rows, Summary};
use tove_tensor::{DType, Tensor, TryOps};

/// Rows that a model sees at least. Products of up to four rows are taken as dot products; beyond, nothing changes with the
/// number of rows but the cut of long sums.
const BLOCK: usize = 16;
/// Terms from which on sums may be cut by the size of the result.
const LONG: usize = 4096;
/// Rows up to which all are copied to fill up the last block; of more, only those of the last block are.
const COPIED: usize = 1024;

/// A model whose answer for a row has the same bits whatever the other rows are.
pub(super) struct BatchInvariant(Box<dyn Model>);

impl BatchInvariant {
    pub(super) fn new(model: Box<dyn Model>) -> BatchInvariant {
        BatchInvariant(model)
    }

    /// The answers to rows, asked for in blocks that do not matter.
    fn ask(&self, rows: &Rows, ask: impl Fn(&Rows) -> Result<Tensor>) -> Result<Tensor> {
        let Rows::Dense(x) = rows else { return ask(rows) };
        let n = rows.len();
        let ask = |x: Tensor| ask(&Rows::Dense(x));
        if self.0.longest_sum() >= LONG {
            let blocks = (0..n).step_by(BLOCK).map(|start| {
                let count = BLOCK.min(n - start);
                first(&ask(filled(&x.try_narrow(0, start, count)?.try_contiguous()?)?)?, count)
            });
            let blocks = blocks.collect::<Result<Vec<Tensor>>>()?;
            return Ok(Tensor::try_concat(&blocks.iter().collect::<Vec<_>>(), 0)?);
        }
        if n.is_multiple_of(BLOCK) {
            return ask(x.clone());
        }
        if n <= COPIED {
            return first(&ask(filled(x)?)?, n);
        }
        let whole = n / BLOCK * BLOCK;
        let body = ask(x.try_narrow(0, 0, whole)?)?;
        let rest = first(&ask(filled(&x.try_narrow(0, whole, n - whole)?)?)?, n - whole)?;
        Ok(Tensor::try_concat(&[&body, &rest], 0)?)
    }
}

/// Rows with zeros below, up to a multiple of the block.
fn filled(x: &Tensor) -> Result<Tensor> {
    let (n, width) = (x.dims()[0], x.dims()[1]);
    let lacking = n.next_multiple_of(BLOCK) - n;
    if lacking == 0 {
        return Ok(x.clone());
    }
    Ok(Tensor::try_concat(&[x, &Tensor::try_zeros([lacking, width], x.dtype())?], 0)?)
}

/// The first so many entries.
fn first(answers: &Tensor, count: usize) -> Result<Tensor> {
    Ok(answers.try_narrow(0, 0, count)?.try_contiguous()?)
}

impl Model for BatchInvariant {
    fn about(&self) -> &About {
        self.0.about()
    }

    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn width(&self) -> usize {
        self.0.width()
    }

    fn dtype(&self) -> DType {
        self.0.dtype()
    }

    fn summary(&self) -> &Summary {
        self.0.summary()
    }

    fn settings(&self) -> serde_json::Value {
        self.0.settings()
    }

    fn classes(&self) -> &[i64] {
        self.0.classes()
    }

    fn attributes(&self) -> Vec<(&'static str, Tensor)> {
        self.0.attributes()
    }

    fn longest_sum(&self) -> usize {
        self.0.longest_sum()
    }

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        self.ask(x, |x| self.0.predict_rows(x))
    }

    fn decision_rows(&self, x: &Rows) -> Result<Tensor> {
        self.ask(x, |x| self.0.decision_rows(x))
    }

    fn proba_rows(&self, x: &Rows) -> Result<Tensor> {
        self.ask(x, |x| self.0.proba_rows(x))
    }

    fn calibration(&self) -> Option<&CalibrationCheck> {
        self.0.calibration()
    }

    fn score_rows(&self, x: &Rows) -> Result<Tensor> {
        self.ask(x, |x| self.0.score_rows(x))
    }

    // Distances are computed pair by pair, so that blocks do not matter.
    fn neighbor_rows(&self, x: &Rows, k: usize) -> Result<Neighbors> {
        self.0.neighbor_rows(x, k)
    }

    fn radius_rows(&self, x: &Rows, radius: f64) -> Result<RadiusNeighbors> {
        self.0.radius_rows(x, radius)
    }

    fn coefficients(&self) -> Option<&Tensor> {
        self.0.coefficients()
    }

    fn record(&self) -> Record {
        self.0.record()
    }
}
