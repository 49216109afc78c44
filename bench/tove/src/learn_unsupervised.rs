//! W26: nearest neighbors. W27: k-means. W28: Gaussian mixture. W29: PCA. W39: HDBSCAN and DBSCAN. W41: k-d tree. Quality: accuracy
//! (W26), inertia per sample (W27), mean log-likelihood (W28), explained variance (W29), adjusted Rand index (W39), mean distance (W41).

use std::hint::black_box;

use serde_json::Value;
use tove_learn::cluster::{Dbscan, Hdbscan, KMeans};
use tove_learn::decomposition::Pca;
use tove_learn::mixture::GaussianMixture;
use tove_learn::neighbors::NearestNeighbors;
use tove_learn::{Fit, KNeighborsClassifier, Predict};
use tove_metrics::adjusted_rand_score;
use tove_tensor::{DType, Tensor};

use crate::data;
use crate::learn_margins::pictures;
use crate::workload::{Workload, number};

/// The type a case names; double precision for W39 and W41, whose cases name none.
fn dtype(parameters: &Value) -> DType {
    if parameters["dtype"] == "f32" { DType::F32 } else { DType::F64 }
}

struct Votes {
    train: (Tensor, Tensor),
    tests: (Tensor, Tensor),
    settings: KNeighborsClassifier,
}

impl Workload for Votes {
    fn step(&mut self) {
        let model = self.settings.fit(&self.train.0, &self.train.1);
        black_box(model.and_then(|model| model.predict(&self.tests.0)).ok());
    }

    fn quality(&mut self) -> f64 {
        let model = self.settings.fit(&self.train.0, &self.train.1);
        model.and_then(|model| model.score(&self.tests.0, &self.tests.1)).map_or(f64::NAN, |score| score.value)
    }
}

/// W26: classes of images by their nearest ones.
pub fn make_votes(parameters: &Value) -> Result<Box<dyn Workload>, String> {
    let (train, tests) = pictures(number(parameters, "rows")?, number(parameters, "tests")?, dtype(parameters))?;
    let settings = KNeighborsClassifier::default().n_neighbors(number(parameters, "neighbors")?);
    Ok(Box::new(Votes { train, tests, settings }))
}

struct Clusters {
    x: Tensor,
    settings: KMeans,
}

impl Workload for Clusters {
    fn step(&mut self) {
        black_box(tove_learn::quietly(|| self.settings.fit(&self.x, None)).map(|model| model.inertia()).unwrap_or(0.0));
    }

    fn quality(&mut self) -> f64 {
        let model = tove_learn::quietly(|| self.settings.fit(&self.x, None));
        model.map_or(f64::NAN, |model| model.inertia() / self.x.dims()[0] as f64)
    }
}

/// W27: a fixed number of iterations from the first rows as centers, so that both sides do the same work.
pub fn make_clusters(parameters: &Value) -> Result<Box<dyn Workload>, String> {
    let (k, dtype) = (number(parameters, "clusters")?, dtype(parameters));
    let ((x, _), _) = pictures(number(parameters, "rows")?, 1, dtype)?;
    let start = x.narrow(0, 0, k).to_f64_vec().chunks_exact(x.dims()[1]).map(<[f64]>::to_vec).collect();
    let settings = KMeans::default().n_clusters(k).max_iter(number(parameters, "iterations")?).tol(0.0);
    Ok(Box::new(Clusters { x, settings: settings.initial_centers(Some(start)) }))
}

struct Mixture {
    x: Tensor,
    settings: GaussianMixture,
}

impl Workload for Mixture {
    fn step(&mut self) {
        let model = tove_learn::quietly(|| self.settings.fit(&self.x, None));
        black_box(model.map(|model| model.lower_bound()).unwrap_or(0.0));
    }

    fn quality(&mut self) -> f64 {
        tove_learn::quietly(|| self.settings.fit(&self.x, None)).map_or(f64::NAN, |model| model.lower_bound())
    }
}

/// Noise around a point per component, with correlated features.
fn blobs(n: usize, d: usize, k: usize) -> Vec<f64> {
    let (centers, mut x) = (data::fill_f64(7, k * d, 2.0), data::fill_f64(8, n * d, 1.0));
    for (i, row) in x.chunks_exact_mut(d).enumerate() {
        for j in 1..d {
            row[j] += 0.3 * row[j - 1];
        }
        row.iter_mut().zip(&centers[i % k * d..][..d]).for_each(|(x, center)| *x += center);
    }
    x
}

/// W28: a fixed number of iterations from given means.
pub fn make_mixture(parameters: &Value) -> Result<Box<dyn Workload>, String> {
    let (n, d, k) = (number(parameters, "rows")?, number(parameters, "columns")?, number(parameters, "components")?);
    let x = blobs(n, d, k);
    let start = x[..k * d].chunks_exact(d).map(<[f64]>::to_vec).collect();
    let settings = GaussianMixture::default().n_components(k).tol(0.0).max_iter(number(parameters, "iterations")?);
    let x = Tensor::from_vec(x, [n, d]).to_dtype(dtype(parameters));
    Ok(Box::new(Mixture { x, settings: settings.means_init(Some(start)) }))
}

struct Components {
    x: Tensor,
    settings: Pca,
}

impl Workload for Components {
    fn step(&mut self) {
        black_box(self.settings.fit(&self.x, None).ok());
    }

    fn quality(&mut self) -> f64 {
        let model = self.settings.fit(&self.x, None);
        model.map_or(f64::NAN, |model| model.explained_variance().to_f64_vec().iter().sum())
    }
}

/// W29: principal components of images.
pub fn make_components(parameters: &Value) -> Result<Box<dyn Workload>, String> {
    let ((x, _), _) = pictures(number(parameters, "rows")?, 1, dtype(parameters))?;
    Ok(Box::new(Components { x, settings: Pca::default().n_components(number(parameters, "components")?.into()) }))
}

struct Regions {
    x: Tensor,
    truth: Tensor,
    /// The distance of DBSCAN; HDBSCAN if there is none.
    eps: Option<f64>,
}

impl Regions {
    fn labels(&self) -> Option<Vec<i64>> {
        match self.eps {
            Some(eps) => Some(Dbscan::default().eps(eps).min_samples(10).fit(&self.x, None).ok()?.labels().to_vec()),
            None => {
                let settings = Hdbscan::default().min_cluster_size(25).min_samples(Some(10));
                Some(settings.fit(&self.x, None).ok()?.labels().to_vec())
            }
        }
    }
}

impl Workload for Regions {
    fn step(&mut self) {
        black_box(self.labels());
    }

    fn quality(&mut self) -> f64 {
        let labels = self.labels().map(|labels| Tensor::from_slice(&labels));
        labels.and_then(|labels| adjusted_rand_score(&self.truth, &labels).ok()).map_or(f64::NAN, |score| score.value)
    }
}

/// W39: 20 blobs, and one row in ten anywhere.
pub fn make_regions(parameters: &Value) -> Result<Box<dyn Workload>, String> {
    const BLOBS: usize = 20;
    let (n, d) = (number(parameters, "rows")?, number(parameters, "columns")?);
    let (centers, noise) = (data::fill_f64(7, BLOBS * d, 10.0), data::fill_f64(11, n * d, 12.0));
    let parts: Vec<Vec<f64>> = (8..11).map(|seed| data::fill_f64(seed, n * d, 1.0)).collect();
    let (mut x, mut truth) = (Vec::with_capacity(n * d), Vec::with_capacity(n));
    for i in 0..n {
        let blob = i / 10 % BLOBS;
        let outlier = i % 10 == 9;
        truth.push(if outlier { -1 } else { blob as i64 });
        let value = |place: usize, j: usize| centers[blob * d + j] + parts.iter().map(|part| part[place]).sum::<f64>();
        x.extend((0..d).map(|j| if outlier { noise[i * d + j] } else { value(i * d + j, j) }));
    }
    let x = Tensor::from_vec(x, [n, d]).to_dtype(dtype(parameters));
    Ok(Box::new(Regions { x, truth: Tensor::from_slice(&truth), eps: parameters["eps"].as_f64() }))
}

struct Points {
    x: Tensor,
    queries: Tensor,
    k: usize,
}

impl Points {
    fn mean(&self) -> Option<f64> {
        let index = NearestNeighbors::default().fit(&self.x, None).ok()?;
        let distances = index.kneighbors(&self.queries, self.k).ok()?.distances.to_f64_vec();
        Some(distances.iter().sum::<f64>() / distances.len() as f64)
    }
}

impl Workload for Points {
    fn step(&mut self) {
        black_box(self.mean());
    }

    fn quality(&mut self) -> f64 {
        self.mean().unwrap_or(f64::NAN)
    }
}

/// W41: points in a cube; the tree is built and asked.
pub fn make_points(parameters: &Value) -> Result<Box<dyn Workload>, String> {
    let (n, m, d) = (number(parameters, "rows")?, number(parameters, "queries")?, number(parameters, "columns")?);
    let fill =
        |seed, rows| Tensor::from_vec(data::fill_f64(seed, rows * d, 1.0), [rows, d]).to_dtype(dtype(parameters));
    let (x, queries) = (fill(1, n), fill(2, m));
    Ok(Box::new(Points { x, queries, k: number(parameters, "neighbors")? }))
}
