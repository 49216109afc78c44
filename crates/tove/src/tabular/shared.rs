//! Encoded rows that several candidates share.

use std::cell::OnceCell;

use tove_data::table::{Encoded, Table, TableEncoder, Target};
use tove_learn::{Csr, Estimator, Rows, Samples};

use super::Result;
use super::data::{Data, Parts, add_counts};
use super::model::encoded;

/// Rows to fit and rows to judge, encoded by what the first ones showed, for any number of estimators.
pub(super) struct Shared<'d> {
    data: &'d Data<'d>,
    pub encoder: TableEncoder,
    pub rows: Vec<usize>,
    judge: Vec<usize>,
    /// The rows to fit, unencoded.
    table: Table,
    /// Training rows, dense and sparse, made when they are first needed.
    train: [OnceCell<Encoded<Rows>>; 2],
    judged: [OnceCell<Encoded<Rows>>; 2],
}

/// The value of a cell, made when it is first needed.
fn made<T>(cell: &OnceCell<T>, make: impl FnOnce() -> Result<T>) -> Result<&T> {
    if let Some(value) = cell.get() {
        return Ok(value);
    }
    let value = make()?;
    Ok(cell.get_or_init(|| value))
}

impl<'d> Shared<'d> {
    /// Fits an encoder to the first rows.
    pub fn new(data: &'d Data<'d>, rows: Vec<usize>, judge: Vec<usize>) -> Result<Shared<'d>> {
        let table = data.table.take(&rows)?;
        let train = [OnceCell::new(), OnceCell::new()];
        let (schema, encoding) = (data.schema, &data.plan.encoding);
        // Without mean targets the rows can be encoded when they are needed, and never densely if nobody needs them so.
        let encoder = match TableEncoder::fit_chosen(&table, schema, encoding) {
            Ok(encoder) => encoder,
            Err(_) => {
                let target = Target::encode(table.column(&data.plan.target)?, Some(data.target.task().kind()))?;
                let (encoder, dense) = TableEncoder::fit_encode_chosen(&table, schema, encoding, &target)?;
                let Encoded { x, unseen, imputed } = dense;
                if encoder.prefers_sparse() {
                    let x = Csr::from_dense(&x)?.into();
                    let sparse = Encoded { x, unseen: unseen.clone(), imputed: imputed.clone() };
                    train[1].get_or_init(|| sparse);
                }
                train[0].get_or_init(|| Encoded { x: x.into(), unseen, imputed });
                encoder
            }
        };
        Ok(Shared { data, encoder, rows, judge, table, train, judged: [OnceCell::new(), OnceCell::new()] })
    }

    fn is_sparse(&self, estimator: &dyn Estimator) -> bool {
        estimator.capabilities().sparse && self.encoder.prefers_sparse()
    }

    fn encoded_train(&self, estimator: &dyn Estimator) -> Result<&Encoded<Rows>> {
        let sparse = self.is_sparse(estimator);
        made(&self.train[usize::from(sparse)], || encoded(&self.encoder, &self.table, sparse))
    }

    /// The rows to fit, as this estimator takes them.
    pub fn train(&self, estimator: &dyn Estimator) -> Result<Samples> {
        let x = self.encoded_train(estimator)?.x.clone();
        self.data.part(&self.rows, x, estimator.capabilities().weights, self.data.plan.class_weights.as_ref())
    }

    fn encoded_test(&self, estimator: &dyn Estimator) -> Result<&Encoded<Rows>> {
        let sparse = self.is_sparse(estimator);
        made(&self.judged[usize::from(sparse)], || encoded(&self.encoder, &self.data.table.take(&self.judge)?, sparse))
    }

    /// The rows to judge by, as this estimator takes them.
    pub fn test(&self, estimator: &dyn Estimator) -> Result<Samples> {
        let x = self.encoded_test(estimator)?.x.clone();
        self.data.part(&self.judge, x, estimator.capabilities().weights, None)
    }

    /// Everything, for one estimator.
    pub fn parts(self, estimator: &dyn Estimator) -> Result<Parts> {
        let (train, test) = (self.train(estimator)?, self.test(estimator)?);
        let mut imputed = self.encoded_train(estimator)?.imputed.clone();
        let judged = self.encoded_test(estimator)?;
        let unseen = judged.unseen.clone();
        add_counts(&mut imputed, &judged.imputed);
        Ok(Parts { encoder: self.encoder, train, test, imputed, unseen })
    }
}
