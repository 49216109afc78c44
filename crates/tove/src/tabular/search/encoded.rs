//! Encoded rows that several candidates share.

use std::cell::OnceCell;

use tove_data::table::encode::EncoderFit;
use tove_data::table::{Encoded, TableEncoder};
use tove_learn::linear::LinearMoments;
use tove_learn::{Csr, Estimator, Model, Rows, Samples};

use super::folds::KnownFold;
use crate::tabular::Result;
use crate::tabular::model::encoded;
use crate::tabular::prepared::{Parts, Prepared, add_counts};

/// Training and evaluation rows, encoded by an encoder that was fitted to the former, for any number of estimators.
pub(super) struct EncodedRows<'d> {
    data: &'d Prepared<'d>,
    pub encoder: TableEncoder,
    pub rows: Vec<usize>,
    test_rows: Vec<usize>,
    /// Training rows, dense and sparse, made when they are first needed.
    train: [OnceCell<Encoded<Rows>>; 2],
    test: [OnceCell<Encoded<Rows>>; 2],
    /// The moments of the training rows; `None` if they are not the cheaper way.
    moments: OnceCell<Option<LinearMoments>>,
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
        let train = [OnceCell::new(), OnceCell::new()];
        let (schema, encoding) = (&data.schema, &data.plan.encoding);
        // Without target means the rows are encoded when they are first needed, and never densely if no estimator needs that.
        let mut fit = EncoderFit::of(&data.table, schema, encoding)?;
        let encoder = match fit.see_rows(&data.table, &rows).and_then(|()| fit.finish()) {
            Ok(encoder) => encoder,
            Err(_) => {
                let table = data.table.take(&rows)?;
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
        let test = [OnceCell::new(), OnceCell::new()];
        Ok(EncodedRows { data, encoder, rows, test_rows, train, test, moments: OnceCell::new() })
    }

    /// With what is known of the training rows of a fold.
    pub fn of_fold(
        data: &'d Prepared<'d>,
        known: KnownFold,
        rows: Vec<usize>,
        test_rows: Vec<usize>,
    ) -> EncodedRows<'d> {
        let cells = || [OnceCell::new(), OnceCell::new()];
        let moments = known.moments.map_or_else(OnceCell::new, |moments| OnceCell::from(Some(moments)));
        EncodedRows { data, encoder: known.encoder, rows, test_rows, train: cells(), test: cells(), moments }
    }

    /// A model fitted to the moments of the training rows, which all candidates share; `None` if the estimator needs the rows.
    fn fit_moments(&self, estimator: &dyn Estimator) -> Result<Option<Box<dyn Model>>> {
        if !estimator.capabilities().moments {
            return Ok(None);
        }
        let moments = made(&self.moments, || {
            let train = self.train(estimator)?;
            Ok(if LinearMoments::suit(&train, 1) { LinearMoments::of(&train).ok() } else { None })
        })?;
        Ok(moments.as_ref().map_or(Ok(None), |moments| estimator.fit_moments(moments))?)
    }

    fn is_sparse(&self, estimator: &dyn Estimator) -> bool {
        estimator.capabilities().sparse && self.encoder.prefers_sparse()
    }

    fn encoded_train(&self, estimator: &dyn Estimator) -> Result<&Encoded<Rows>> {
        let sparse = self.is_sparse(estimator);
        made(&self.train[usize::from(sparse)], || encoded(&self.encoder, &self.data.table, Some(&self.rows), sparse))
    }

    /// The rows to fit, as this estimator takes them.
    pub fn train(&self, estimator: &dyn Estimator) -> Result<Samples> {
        let x = self.encoded_train(estimator)?.x.clone();
        self.data.samples(&self.rows, x, estimator.capabilities().weights, self.data.plan.class_weights.as_ref())
    }

    fn encoded_test(&self, estimator: &dyn Estimator) -> Result<&Encoded<Rows>> {
        let sparse = self.is_sparse(estimator);
        made(&self.test[usize::from(sparse)], || {
            encoded(&self.encoder, &self.data.table, Some(&self.test_rows), sparse)
        })
    }

    /// Encodes the rows to fit, unless their moments are known already and the estimator takes them.
    pub fn prepare(&self, estimator: &dyn Estimator) -> Result<()> {
        let known = estimator.capabilities().moments && self.moments.get().is_some_and(Option::is_some);
        if known { Ok(()) } else { self.encoded_train(estimator).map(drop) }
    }

    /// A model fitted to the training rows, or to their moments.
    pub fn fit(&self, estimator: &dyn Estimator) -> Result<Box<dyn Model>> {
        match self.fit_moments(estimator)? {
            Some(model) => Ok(model),
            None => Ok(estimator.fit_boxed(&self.train(estimator)?)?),
        }
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
