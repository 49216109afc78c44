//! Encoded rows that several candidates share.

use std::cell::OnceCell;

use tove_data::table::{Encoded, Table, TableEncoder};
use tove_learn::{Csr, Estimator, Rows, Samples};

use crate::tabular::Result;
use crate::tabular::model::encoded;
use crate::tabular::prepared::{Parts, Prepared, add_counts};

/// Training and evaluation rows, encoded by an encoder that was fitted to the former, for any number of estimators.
pub(super) struct EncodedRows<'d> {
    data: &'d Prepared<'d>,
    pub encoder: TableEncoder,
    pub rows: Vec<usize>,
    test_rows: Vec<usize>,
    /// The rows to fit, unencoded.
    table: Table,
    /// Training rows, dense and sparse, made when they are first needed.
    train: [OnceCell<Encoded<Rows>>; 2],
    test: [OnceCell<Encoded<Rows>>; 2],
}

/// The value of a cell, made when it is first needed.
fn made<T>(cell: &OnceCell<T>, make: impl FnOnce() -> Result<T>) -> Result<&T> {
    if let Some(value) = cell.get() {
        return Ok(value);
    }
    let value = make()?;
    Ok(cell.get_or_init(|| value))
}

impl<'d> EncodedRows<'d> {
    /// Fits an encoder to the first rows.
    pub fn new(data: &'d Prepared<'d>, rows: Vec<usize>, test_rows: Vec<usize>) -> Result<EncodedRows<'d>> {
        let table = data.table.take(&rows)?;
        let train = [OnceCell::new(), OnceCell::new()];
        let (schema, encoding) = (&data.schema, &data.plan.encoding);
        // Without target means the rows are encoded when they are first needed, and never densely if no estimator needs that.
        let encoder = match TableEncoder::fit_chosen(&table, schema, encoding) {
            Ok(encoder) => encoder,
            Err(_) => {
                let target = data.target.take(&rows)?;
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
        Ok(EncodedRows { data, encoder, rows, test_rows, table, train, test: [OnceCell::new(), OnceCell::new()] })
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
        self.data.samples(&self.rows, x, estimator.capabilities().weights, self.data.plan.class_weights.as_ref())
    }

    fn encoded_test(&self, estimator: &dyn Estimator) -> Result<&Encoded<Rows>> {
        let sparse = self.is_sparse(estimator);
        made(&self.test[usize::from(sparse)], || {
            encoded(&self.encoder, &self.data.table.take(&self.test_rows)?, sparse)
        })
    }

    /// The rows to evaluate on, as this estimator takes them.
    pub fn test(&self, estimator: &dyn Estimator) -> Result<Samples> {
        let x = self.encoded_test(estimator)?.x.clone();
        self.data.samples(&self.test_rows, x, estimator.capabilities().weights, None)
    }

    /// Everything, for one estimator.
    pub fn parts(self, estimator: &dyn Estimator) -> Result<Parts> {
        let (train, test) = (self.train(estimator)?, self.test(estimator)?);
        let mut imputed = self.encoded_train(estimator)?.imputed.clone();
        let test_rows = self.encoded_test(estimator)?;
        let unseen = test_rows.unseen.clone();
        add_counts(&mut imputed, &test_rows.imputed);
        Ok(Parts { encoder: self.encoder, train, test, imputed, unseen })
    }
}
