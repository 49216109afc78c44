//! Coordinates to start the layout from.

use tove_tensor::{DType, Key, Tensor};

use super::fuzzy::{Graph, components, part};
use super::spectral::eigenvectors;
use super::umap::UmapInit;
use crate::{Fit, Pca, Result, Rows, Transform};

/// Size of the box of the first coordinates, and of the noise that separates equal ones.
const SIDE: f64 = 10.0;
const NOISE: f64 = 1e-4;

/// First coordinates (n, dim) of samples (n, d), between 0 and 10. `None` if the process was interrupted.
pub(super) fn start(init: UmapInit, x: &Tensor, graph: &Graph, dim: usize, key: Key) -> Result<Option<Vec<f32>>> {
    let n = graph.len();
    let mut at = match init {
        UmapInit::Random => key.fold(0).try_uniform([n, dim], DType::F64)?.to_f64_vec(),
        UmapInit::Pca => principal(x, dim)?,
        UmapInit::Spectral => match spectral(x, graph, dim, key)? {
            Some(at) => at,
            None => return Ok(None),
        },
    };
    let largest = at.iter().fold(0.0f64, |most, x| most.max(x.abs()));
    let factor = if largest > 0.0 { SIDE / largest } else { 0.0 };
    let noise = key.fold(1).try_normal([n, dim], DType::F64)?.to_f64_vec();
    at.iter_mut().zip(noise).for_each(|(x, noise)| *x = *x * factor + NOISE * noise);
    for d in 0..dim {
        let own = || at.iter().skip(d).step_by(dim);
        let (low, high) = own().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(*x), high.max(*x)));
        let factor = if high > low { SIDE / (high - low) } else { 0.0 };
        at.iter_mut().skip(d).step_by(dim).for_each(|x| *x = (*x - low) * factor);
    }
    Ok(Some(at.into_iter().map(|x| x as f32).collect()))
}

/// The first principal components; 0 beyond those there are.
fn principal(x: &Tensor, dim: usize) -> Result<Vec<f64>> {
    let (n, count) = (x.dims()[0], dim.min(x.dims()[0]).min(x.dims()[1]));
    let found = Pca::default().n_components(count.into()).fit(x, None)?.transform(Rows::from(x))?.to_f64_vec();
    let mut at = vec![0.0; n * dim];
    for (to, from) in at.chunks_exact_mut(dim).zip(found.chunks_exact(count)) {
        to[..count].copy_from_slice(from);
    }
    Ok(at)
}

/// Eigenvectors of the Laplacian of every connected part, around the place of the part.
fn spectral(x: &Tensor, graph: &Graph, dim: usize, key: Key) -> Result<Option<Vec<f64>>> {
    let parts = components(graph);
    if let [_] = parts[..] {
        return lay_out_part(graph, dim, key);
    }
    let (n, d, rows) = (graph.len(), x.dims()[1], x.to_f64_vec());
    let mean = |part: &Vec<usize>| {
        let mut mean = vec![0.0; d];
        for &sample in part {
            let row = &rows[sample * d..(sample + 1) * d];
            mean.iter_mut().zip(row).for_each(|(mean, x)| *mean += x / part.len() as f64);
        }
        mean
    };
    let means: Vec<f64> = parts.iter().flat_map(mean).collect();
    let mut centers = principal(&Tensor::try_from_vec(means, [parts.len(), d])?, dim)?;
    let largest = centers.iter().fold(0.0f64, |most, x| most.max(x.abs()));
    if largest > 0.0 {
        centers.iter_mut().for_each(|x| *x /= largest);
    }
    // Parts reach half way to the next one, or fill their share of the box.
    let least = 0.25 * (parts.len() as f64).powf(-1.0 / dim as f64);
    let center = |place: usize| &centers[place * dim..(place + 1) * dim];
    let mut at = vec![0.0; n * dim];
    for (place, samples) in parts.iter().enumerate() {
        if tove_optim::interrupted() {
            return Ok(None);
        }
        let away = |other: usize| crate::distance::squared(center(place), center(other)).sqrt();
        let nearest = (0..parts.len()).filter(|&other| other != place).map(away).fold(f64::INFINITY, f64::min);
        let radius = least.max(0.5 * nearest);
        let Some(own) = lay_out_part(&part(graph, samples), dim, key.fold(place as u64))? else { return Ok(None) };
        for (&sample, own) in samples.iter().zip(own.chunks_exact(dim)) {
            let to = &mut at[sample * dim..(sample + 1) * dim];
            to.iter_mut().zip(own).zip(center(place)).for_each(|((to, x), center)| *to = center + radius * x);
        }
    }
    Ok(Some(at))
}

/// A connected part, with coordinates up to 1; at random if it has too few samples.
fn lay_out_part(graph: &Graph, dim: usize, key: Key) -> Result<Option<Vec<f64>>> {
    let n = graph.len();
    if n < dim + 2 {
        let random = key.fold(2).try_uniform([n, dim], DType::F64)?.to_f64_vec();
        return Ok(Some(random.into_iter().map(|x| 2.0 * x - 1.0).collect()));
    }
    let Some(vectors) = eigenvectors(graph, dim, key.fold(3))? else { return Ok(None) };
    let largest = vectors.iter().flatten().fold(0.0f64, |most, x| most.max(x.abs()));
    Ok(Some((0..n).flat_map(|i| vectors.iter().map(move |vector| vector[i] / largest)).collect()))
}
