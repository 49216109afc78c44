//! Samples stored for neighbor queries, with whatever makes them fast.

use tove_tensor::linalg::Triangle;
use tove_tensor::{DType, Tensor, TryLinalg, TryOps};

use super::brute::{Gather, Known, Shadow, Want};
use super::kd_tree::{Collect, KdTree};
use super::metric::{Metric, NeighborAlgorithm, NeighborSettings};
use super::result::{Found, Neighbors, RadiusNeighbors};
use crate::distance::{absolute, angular, square_norm, squared};
use crate::selection::in_parallel;
use crate::{LearnError, Real, Record, Result, Rows, Samples, memory, with_real};

/// Dimensions up to which a k-d tree may pay.
pub(crate) const LOW: usize = 15;
/// Rows that a fit asks for between two looks at whether it is interrupted.
const AT_ONCE: usize = 2048;
/// Queries of one task that goes through a tree.
const QUERIES: usize = 64;

/// Samples that answer neighbor queries.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    who: &'static str,
    metric: Metric,
    x: Tensor, // (n, d), as given
    /// Rows that are compared by differences: those given, or whitened ones.
    points: Tensor,
    /// L of the covariance matrix L Lᵀ, for the Mahalanobis distance.
    factor: Option<Tensor>,
    /// 1/‖x‖ of every row, for the cosine distance; 0 for rows of zeros.
    inverses: Vec<f64>,
    search: Search,
}

#[derive(Clone, Debug)]
enum Search {
    Tree(KdTree),
    /// By blocks of products, with the mean that is taken off.
    Products(Shadow, Vec<f64>),
    Pairs,
}

impl Index {
    /// An index over the features of samples.
    pub(crate) fn new(who: &'static str, settings: &NeighborSettings, samples: &Samples) -> Result<Index> {
        samples.require_moderate(who, true)?;
        let x = samples.x().dense(who)?;
        let factor = match settings.metric {
            Metric::Mahalanobis => Some(factor(who, settings, x)?),
            _ => None,
        };
        Index::build(who, settings, x.try_contiguous()?, factor)
    }

    fn build(who: &'static str, settings: &NeighborSettings, x: Tensor, factor: Option<Tensor>) -> Result<Index> {
        let (n, d, metric) = (x.dims()[0], x.dims()[1], settings.metric);
        if u32::try_from(n).is_err() {
            let problem = format!("{n} samples; at most {} can be stored", u32::MAX);
            return Err(LearnError::parameter(who, problem));
        }
        let points = match &factor {
            Some(factor) => whiten(&x, factor)?,
            None => x.clone(),
        };
        let inverses = match metric {
            Metric::Cosine => {
                with_real!(x.dtype(), T => points.as_slice::<T>()?.chunks_exact(d).map(inverse_norm).collect())
            }
            _ => Vec::new(),
        };
        let tree = match settings.algorithm {
            NeighborAlgorithm::KdTree if metric == Metric::Cosine => {
                let problem = "a k-d tree cannot search by the cosine distance; choose `algorithm` auto or brute";
                return Err(LearnError::parameter(who, problem));
            }
            NeighborAlgorithm::KdTree => true,
            NeighborAlgorithm::Auto => metric != Metric::Cosine && d <= LOW && n >> (d + 3) > 0,
            NeighborAlgorithm::Brute => false,
        };
        let search = match metric {
            _ if tree => Search::Tree(KdTree::new(points.to_f64_vec(), d, metric)),
            Metric::Manhattan => Search::Pairs,
            _ => products(&points, metric)?,
        };
        Ok(Index { who, metric, x, points, factor, inverses, search })
    }

    /// Writes the samples into a record.
    pub(crate) fn write(&self, record: &mut Record) {
        record.put_tensor("fit_x", &self.x);
        if let Some(factor) = &self.factor {
            record.put_tensor("covariance_factor", factor);
        }
    }

    /// Reads what was written.
    pub(crate) fn read(who: &'static str, settings: &NeighborSettings, record: &Record) -> Result<Index> {
        let read = |name: &str| -> Result<Tensor> {
            let tensor = record.tensor(name)?.try_contiguous()?;
            let whole = tensor.rank() == 2 && tensor.numel() > 0 && tensor.dtype().is_float();
            let finite = || with_real!(tensor.dtype(), T => Ok(crate::rows::first_not_finite(tensor.as_slice::<T>()?).is_none()));
            if whole && finite().map_err(|error: tove_tensor::Error| LearnError::from(error))? {
                Ok(tensor)
            } else {
                Err(record.wrong(name, "a matrix of finite numbers"))
            }
        };
        let x = read("fit_x")?;
        let d = x.dims()[1];
        let factor = match settings.metric {
            Metric::Mahalanobis => Some(read("covariance_factor")?),
            _ => None,
        };
        if let Some(factor) = &factor {
            let numbers = factor.to_f64_vec();
            let positive = || (0..d).all(|i| numbers[i * d + i] > 0.0);
            if factor.dims() != [d, d] || factor.dtype() != DType::F64 || !positive() {
                return Err(record.wrong("covariance_factor", "the factor of a covariance matrix"));
            }
        }
        Index::build(who, settings, x, factor)
    }

    /// Number of samples.
    pub(crate) fn len(&self) -> usize {
        self.x.dims()[0]
    }

    /// Number of features.
    pub(crate) fn width(&self) -> usize {
        self.x.dims()[1]
    }

    /// Type of the numbers.
    pub(crate) fn dtype(&self) -> DType {
        self.x.dtype()
    }

    /// The k nearest samples of each row, with their distances, in order.
    pub(crate) fn nearest(&self, x: &Rows, k: usize) -> Result<Vec<(f64, u32)>> {
        let n = self.len();
        if k == 0 || k > n {
            let problem = format!("{k} neighbors of {n} samples; give a number from 1 to {n}");
            return Err(LearnError::parameter(self.who, problem));
        }
        let what = || format!("{k} neighbors of each of {} rows", x.len());
        let bytes = memory::matrix(x.len(), k, 40);
        memory::require_with(self.who, what, bytes, "ask for fewer rows at a time, or for fewer neighbors")?;
        Ok(self.ask(x, Want::Nearest(k))?.into_iter().flatten().collect())
    }

    /// As [`Index::nearest`], for a fit: an interruption ends it.
    pub(crate) fn nearest_in_fit(&self, x: &Rows, k: usize) -> Result<Vec<(f64, u32)>> {
        let mut found = Vec::new();
        for first in (0..x.len()).step_by(AT_ONCE) {
            if tove_optim::interrupted() {
                return Err(LearnError::Interrupted { who: self.who });
            }
            let rows: Vec<usize> = (first..(first + AT_ONCE).min(x.len())).collect();
            found.extend(self.nearest(&x.take(&rows)?, k)?);
        }
        Ok(found)
    }

    /// As [`Index::nearest`], as tensors.
    pub(crate) fn kneighbors(&self, x: &Rows, k: usize) -> Result<Neighbors> {
        Neighbors::of(&self.nearest(x, k)?, k, self.dtype())
    }

    /// All samples within a radius of each row, in order.
    pub(crate) fn within(&self, x: &Rows, radius: f64) -> Result<RadiusNeighbors> {
        if !(radius >= 0.0 && radius.is_finite()) {
            let problem = format!("a radius of {radius}; give a finite number of at least 0");
            return Err(LearnError::parameter(self.who, problem));
        }
        Ok(RadiusNeighbors { rows: self.ask(x, Want::Within(radius, self.metric))? })
    }

    /// Numbers of all samples within a radius of each row, in any order that does not depend on threads.
    pub(crate) fn around(&self, x: &Rows, radius: f64) -> Result<Vec<Vec<u32>>> {
        self.ask_as(x, Want::Around(radius, self.metric), |found| found.iter().map(|found| found.sample).collect())
    }

    /// What every row wants, with distances.
    fn ask(&self, x: &Rows, want: Want) -> Result<Vec<Vec<(f64, u32)>>> {
        let pair = |found: &Found| (self.metric.distance(found.key), found.sample);
        self.ask_as(x, want, |found| found.iter().map(pair).collect())
    }

    /// What every row wants, in some form.
    fn ask_as<A: Send>(&self, x: &Rows, want: Want, form: impl Fn(&[Found]) -> A + Sync) -> Result<Vec<A>> {
        let x = x.dense(self.who)?;
        let queries = match &self.factor {
            Some(factor) => whiten(x, factor)?,
            None => x.try_contiguous()?,
        };
        let m = queries.dims()[0];
        let block = match &self.search {
            Search::Tree(_) => QUERIES,
            Search::Pairs => 8,
            Search::Products(..) => m.div_ceil(8).clamp(64, 512),
        };
        let blocks = in_parallel(m.div_ceil(block), |task| -> Result<Vec<A>> {
            let (first, count) = (task * block, block.min(m - task * block));
            let part = queries.try_narrow(0, first, count)?;
            let found = with_real!(queries.dtype(), T => self.ask_block::<T>(&part, want)?);
            let formed = found.iter().enumerate().map(|(place, found)| {
                if found.iter().any(|found| !found.key.is_finite()) {
                    let problem = format!("the distances of row {} overflow", first + place);
                    return Err(crate::model::overflow(self.who, &problem));
                }
                Ok(form(found))
            });
            formed.collect()
        });
        let mut rows = Vec::with_capacity(m);
        for block in blocks {
            rows.extend(block?);
        }
        Ok(rows)
    }

    fn ask_block<T: Real>(&self, queries: &Tensor, want: Want) -> Result<Vec<Vec<Found>>> {
        let (d, points) = (self.width(), self.points.as_slice::<T>()?);
        let rows = queries.as_slice::<T>()?;
        let inverse = |row: &[T]| if self.metric == Metric::Cosine { inverse_norm(row) } else { 0.0 };
        let exact = |row: &[T], inverse: f64, sample: u32| {
            let point = &points[sample as usize * d..(sample as usize + 1) * d];
            match self.metric {
                Metric::Manhattan => absolute(row, point),
                Metric::Cosine => {
                    let other = self.inverses[sample as usize];
                    // Rows of zeros have no direction.
                    if inverse == 0.0 || other == 0.0 { 2.0 } else { angular(row, point, inverse, other) }
                }
                _ => squared(row, point),
            }
        };
        let all_pairs = |row: &[T]| {
            let (mut known, inverse) = (Known::new(want), inverse(row));
            for sample in 0..self.len() as u32 {
                let key = exact(row, inverse, sample);
                if key <= known.limit() || key.is_nan() {
                    known.take(Found { key, sample });
                }
            }
            known.finish()
        };
        match &self.search {
            Search::Tree(tree) => Ok(rows
                .chunks_exact(d)
                .map(|row| {
                    let mut known = Known::new(want);
                    tree.search(&row.iter().map(|x| x.f64()).collect::<Vec<f64>>(), &mut known);
                    known.finish()
                })
                .collect()),
            Search::Pairs => Ok(rows.chunks_exact(d).map(all_pairs).collect()),
            Search::Products(shadow, center) => {
                let (turned, squares) = shade::<T>(rows, d, self.metric, center);
                let most = squares.iter().fold(0.0f64, |most, square| most.max(*square)).sqrt() + shadow.largest();
                // Squares that leave the range of the precision say nothing.
                if most.is_nan() || most * most * 16.0 >= T::MAX {
                    return Ok(rows.chunks_exact(d).map(all_pairs).collect());
                }
                let (exact, inverse) = (&exact, &inverse);
                let gather = |row| {
                    let own = inverse(row);
                    Gather::new(want, move |sample| exact(row, own, sample))
                };
                let mut collectors: Vec<_> = rows.chunks_exact(d).map(gather).collect();
                shadow.scan::<T>(&Tensor::try_from_vec(turned, [squares.len(), d])?, &squares, &mut collectors)?;
                Ok(collectors.into_iter().map(Gather::finish).collect())
            }
        }
    }
}

/// 1/‖x‖, without overflow; 0 for a row of zeros.
fn inverse_norm<T: Real>(row: &[T]) -> f64 {
    let square = square_norm(row);
    if square > 1e-290 && square < 1e290 {
        return 1.0 / square.sqrt();
    }
    let largest = row.iter().fold(0.0f64, |most, x| most.max(x.f64().abs()));
    if largest == 0.0 {
        return 0.0;
    }
    let scaled: f64 = row.iter().map(|x| (x.f64() / largest) * (x.f64() / largest)).sum();
    1.0 / (largest * scaled.sqrt())
}

/// Rows as products take them, and their squared norms: without the center, or of length 1.
fn shade<T: Real>(rows: &[T], d: usize, metric: Metric, center: &[f64]) -> (Vec<T>, Vec<f64>) {
    let mut turned = Vec::with_capacity(rows.len());
    if metric == Metric::Cosine {
        for row in rows.chunks_exact(d) {
            let inverse = inverse_norm(row);
            turned.extend(row.iter().map(|x| T::of(x.f64() * inverse)));
        }
        return (turned, vec![1.0; rows.len() / d]);
    }
    for row in rows.chunks_exact(d) {
        turned.extend(row.iter().zip(center).map(|(x, center)| T::of(x.f64() - center)));
    }
    let squares = turned.chunks_exact(d).map(square_norm).collect();
    (turned, squares)
}

/// Samples prepared for products.
fn products(points: &Tensor, metric: Metric) -> Result<Search> {
    let (n, d) = (points.dims()[0], points.dims()[1]);
    with_real!(points.dtype(), T => {
        let rows = points.as_slice::<T>()?;
        let mut center = vec![0.0; d];
        for row in rows.chunks_exact(d) {
            center.iter_mut().zip(row).for_each(|(sum, x)| *sum += x.f64() / n as f64);
        }
        // Taken off in the precision of the rows, so that rounding is that of one subtraction.
        let center: Vec<f64> = center.into_iter().map(|center| <T as Real>::of(center).f64()).collect();
        let (turned, squares) = shade::<T>(rows, d, metric, &center);
        Ok(Search::Products(Shadow::new(Tensor::try_from_vec(turned, [n, d])?, squares), center))
    })
}

/// L of the covariance matrix L Lᵀ that is given, or of the samples.
fn factor(who: &'static str, settings: &NeighborSettings, x: &Tensor) -> Result<Tensor> {
    let (n, d) = (x.dims()[0], x.dims()[1]);
    let matrix = match &settings.covariance {
        Some(rows) => {
            let symmetric = || (0..d).all(|i| (0..i).all(|j| rows[i][j] == rows[j][i]));
            if rows.len() != d || rows.iter().any(|row| row.len() != d) || !symmetric() {
                let problem = format!("`covariance` is not a symmetric matrix of {d} x {d} numbers");
                return Err(LearnError::parameter(who, problem));
            }
            Tensor::try_from_vec(rows.concat(), [d, d])?
        }
        None if n < 2 => {
            let fix = "give at least two samples, or the matrix as `covariance`".to_owned();
            return Err(LearnError::TooFew { who, found: n, needed: 2, fix });
        }
        None => {
            let x = x.to_dtype(DType::F64);
            let centered = x.try_sub(&x.try_mean_axes(&[0], false)?)?;
            centered.try_t()?.try_matmul(&centered)? * (1.0 / (n as f64 - 1.0))
        }
    };
    let singular = || {
        let fix =
            "leave out features that are constant or sums of others, reduce them with `Pca`, or give `covariance`";
        LearnError::data(who, "the covariance matrix is singular, so it has no inverse", fix)
    };
    let factor = match matrix.try_cholesky() {
        Ok(factor) => factor.try_contiguous()?,
        Err(error) if error.is_data() => return Err(singular()),
        Err(error) => return Err(error.into()),
    };
    // What is left of a diagonal entry after the columns before it must be more than rounding.
    let (whole, rest) = (matrix.to_f64_vec(), factor.to_f64_vec());
    let clear = |i: usize| rest[i * d + i].powi(2) > 1e-13 * whole[i * d + i];
    if (0..d).all(clear) { Ok(factor) } else { Err(singular()) }
}

/// L⁻¹ x for every row, in double precision.
fn whiten(x: &Tensor, factor: &Tensor) -> Result<Tensor> {
    let columns = x.to_dtype(DType::F64).try_t()?.try_contiguous()?;
    Ok(factor.try_triangular_solve(&columns, Triangle::LOWER)?.try_t()?.try_contiguous()?)
}
