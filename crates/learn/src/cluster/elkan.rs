//! Bounds of the distances of every sample to every center (Elkan 2003).
//!
//! Each lower bound falls by what its center moves. A sample is compared with the centers alone whose bounds are not above the distance
//! to its own center; samples with many of these go through a matrix product together. Bounds are rounded outwards and comparisons that
//! rounding could decide are made exactly, so that labels are those of plain iterations.

use std::sync::{Mutex, PoisonError};

use tove_tensor::kernels::simd::{Kernel, dispatch};
use tove_tensor::{Tensor, TryOps};

use super::assign::{Assigned, BLOCK, Centers, IN, OUT, Points, score};
use crate::selection::in_parallel;
use crate::{Real, Result};

/// Rounds down, more than the operations on bounds round up.
const SHRINK: f32 = 1.0 - 1.0 / (1 << 22) as f32;
/// Bounds below this are 0, so that they keep their relative precision.
const LEAST: f32 = 1e-30;
/// Numbers that are looked at together.
const GROUP: usize = 16;
/// Centers that a row is compared with at a time.
const FOUR: usize = 4;

fn down(x: f64) -> f32 {
    let x = (x.min(3e38) as f32) * SHRINK;
    if x < LEAST { 0.0 } else { x }
}

fn up(x: f64) -> f32 {
    if x == 0.0 { 0.0 } else { ((x * (1.0 + 1e-6)) as f32).max(LEAST) }
}

/// Lower bounds of distances (n, k).
pub(super) struct Bounds {
    lower: Vec<f32>,
}

impl Bounds {
    /// The nearest center of each sample, and bounds of all distances.
    pub(super) fn new<T: Real>(points: &Points<'_, T>, centers: &[f64]) -> Result<(Bounds, Vec<Assigned>)> {
        let (n, k) = (points.len(), centers.len() / points.d);
        let centers = points.prepare(centers);
        let turned = centers.turned()?;
        let blocks = in_parallel(n.div_ceil(BLOCK), |block| -> Result<_> {
            let first = block * BLOCK;
            let rows: Vec<usize> = (first..(first + BLOCK).min(n)).collect();
            let mut lower = vec![0.0; rows.len() * k];
            let block = points.shadow().try_narrow(0, first, rows.len())?;
            let assigned = compare(points, &centers, &turned, &block, &rows, lower.chunks_exact_mut(k))?;
            Ok((assigned, lower))
        });
        let (mut all, mut lower) = (Vec::with_capacity(n), Vec::with_capacity(n * k));
        for block in blocks {
            let (assigned, own) = block?;
            all.extend(assigned);
            lower.extend(own);
        }
        Ok((Bounds { lower }, all))
    }

    /// Brings labels and bounds up to date after centers have moved by these squared distances; whether a label has changed.
    pub(super) fn reassign<T: Real>(
        &mut self,
        points: &Points<'_, T>,
        centers: &[f64],
        moves: &[f64],
        assigned: &mut [Assigned],
    ) -> Result<bool> {
        let k = moves.len();
        let moves: Vec<f64> = moves.iter().map(|square| square.sqrt() * OUT).collect();
        let moves_up: Vec<f32> = moves.iter().map(|&x| up(x)).collect();
        let centers = points.prepare(centers);
        let (turned, shadow, d) = (centers.turned()?, points.shadow_slice()?, points.d);
        let parts: Vec<_> = assigned.chunks_mut(BLOCK).zip(self.lower.chunks_mut(BLOCK * k)).map(Mutex::new).collect();
        let changed = in_parallel(parts.len(), |part| -> Result<bool> {
            let mut own = parts[part].lock().unwrap_or_else(PoisonError::into_inner);
            let (assigned, lower) = &mut *own;
            let (mut open, mut near, mut changed) = (Vec::new(), Vec::with_capacity(k), false);
            let mut scratch = Scratch { list: Vec::with_capacity(k + 1), products: Vec::with_capacity(k + 1) };
            for (offset, (state, lower)) in assigned.iter_mut().zip(lower.chunks_exact_mut(k)).enumerate() {
                let before = state.label;
                state.upper = (state.upper + moves[before as usize]) * OUT;
                near.clear();
                dispatch(Fall { lower, moves: &moves_up, limit: up(state.upper), near: &mut near });
                near.retain(|&j| j != before);
                if near.is_empty() {
                    continue;
                }
                if 3 * near.len() > k || !centers.sound(points.norm(part * BLOCK + offset)) {
                    open.push(offset);
                    continue;
                }
                let row = part * BLOCK + offset;
                scratch.look(points, &centers, (row, &shadow[row * d..(row + 1) * d]), state, lower, &near);
                changed |= state.label != before;
            }
            if !open.is_empty() {
                let rows: Vec<usize> = open.iter().map(|offset| part * BLOCK + offset).collect();
                let block = points.gather(&rows)?;
                let mut wanted = open.iter().copied().peekable();
                let own = lower.chunks_exact_mut(k).enumerate();
                let lower = own.filter_map(|(offset, lower)| wanted.next_if_eq(&offset).map(|_| lower));
                let found = compare(points, &centers, &turned, &block, &rows, lower)?;
                for (&offset, found) in open.iter().zip(found) {
                    changed |= assigned[offset].label != found.label;
                    assigned[offset] = found;
                }
            }
            Ok(changed)
        });
        let mut any = false;
        for own in changed {
            any |= own?;
        }
        Ok(any)
    }
}

/// Compares a block of rows with all centers.
fn compare<'b, T: Real>(
    points: &Points<'_, T>,
    centers: &Centers<'_, T>,
    turned: &Tensor,
    block: &Tensor,
    rows: &[usize],
    lower: impl Iterator<Item = &'b mut [f32]>,
) -> Result<Vec<Assigned>> {
    let products = block.try_matmul(turned)?.try_contiguous()?;
    let all = products.as_slice::<T>()?.chunks_exact(centers.count()).zip(rows).zip(lower);
    Ok(all
        .map(|((products, &row), lower)| {
            let norm = points.norm(row);
            match centers.sound(norm) {
                true => {
                    dispatch(First { products, squares: &centers.squares, norm, error: centers.error(norm), lower })
                }
                false => lower.fill(0.0),
            }
            points.decide(row, products, centers)
        })
        .collect())
}

/// Memory that is used again from row to row.
struct Scratch<T> {
    list: Vec<u32>,
    products: Vec<T>,
}

impl<T: Real> Scratch<T> {
    /// Compares a row, given by its number and without the origin, with its own center and those nearby.
    fn look(
        &mut self,
        points: &Points<'_, T>,
        centers: &Centers<'_, T>,
        (row, x): (usize, &[T]),
        state: &mut Assigned,
        lower: &mut [f32],
        near: &[u32],
    ) {
        let (norm, label) = (points.norm(row), state.label);
        let error = centers.error(norm);
        let Scratch { list, products } = self;
        let ask = |list: &[u32], products: &mut Vec<T>| {
            products.clear();
            dispatch(Dots { row: x, centers: &centers.shadow, list, products });
        };
        let scored = |j: u32, product: T| score(product, centers.squares[j as usize]).f64();
        let root = |square: f64| (square + norm * norm).max(0.0).sqrt();
        ask(&[label], products);
        let own = scored(label, products[0]);
        state.upper = root(own + error) * OUT;
        lower[label as usize] = down(root(own - error) * IN);
        let limit = up(state.upper);
        list.clear();
        list.extend(near.iter().copied().filter(|&j| lower[j as usize] <= limit));
        if list.is_empty() {
            return;
        }
        ask(list, products);
        let (mut best, mut least) = (label, own);
        for (&j, &product) in list.iter().zip(&*products) {
            let score = scored(j, product);
            lower[j as usize] = down(root(score - error) * IN);
            if score < least {
                (best, least) = (j, score);
            }
        }
        // Where rounding could decide, from differences, of equally near ones the first.
        let close = least + 2.0 * error;
        let others =
            list.iter().zip(&*products).filter(|&(&j, &product)| scored(j, product) <= close).map(|own| *own.0);
        let mut candidates: Vec<u32> = others.chain((own <= close).then_some(label)).collect();
        state.upper = root(least + error) * OUT;
        if candidates.len() > 1 {
            candidates.sort_unstable();
            let mut nearest = f64::INFINITY;
            for j in candidates {
                let exact = points.exact(row, j as usize, centers.exact);
                if exact < nearest {
                    (best, nearest) = (j, exact);
                }
            }
            state.upper = nearest.sqrt() * OUT;
        }
        state.label = best;
    }
}

/// Lower bounds fall by what centers move; those that do not stay above the limit are listed.
struct Fall<'a> {
    lower: &'a mut [f32],
    moves: &'a [f32],
    limit: f32,
    near: &'a mut Vec<u32>,
}

impl Kernel for Fall<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Fall { lower, moves, limit, near } = self;
        for (group, (lower, moves)) in lower.chunks_mut(GROUP).zip(moves.chunks(GROUP)).enumerate() {
            let mut least = f32::INFINITY;
            for (lower, &moved) in lower.iter_mut().zip(moves) {
                let fallen = (*lower - moved) * SHRINK;
                *lower = if fallen < LEAST { 0.0 } else { fallen };
                least = if *lower < least { *lower } else { least };
            }
            if least <= limit {
                let places = lower.iter().enumerate().filter(|&(_, &lower)| lower <= limit);
                near.extend(places.map(|(place, _)| (group * GROUP + place) as u32));
            }
        }
    }
}

/// Lower bounds from products.
struct First<'a, T> {
    products: &'a [T],
    squares: &'a [T],
    norm: f64,
    error: f64,
    lower: &'a mut [f32],
}

impl<T: Real> Kernel for First<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (size, least) = (self.norm * self.norm - self.error, f64::from(LEAST));
        for ((lower, &product), &square) in self.lower.iter_mut().zip(self.products).zip(self.squares) {
            let root = (score(product, square).f64() + size).max(0.0).sqrt() * IN;
            let root = if root < 3e38 { root } else { 3e38 };
            *lower = if root < 2.0 * least { 0.0 } else { root as f32 * SHRINK };
        }
    }
}

/// Products of a row with some of the centers.
struct Dots<'a, T> {
    row: &'a [T],
    centers: &'a [T],
    list: &'a [u32],
    products: &'a mut Vec<T>,
}

impl<T: Real> Kernel for Dots<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let d = self.row.len();
        let center = |j: u32| &self.centers[j as usize * d..(j as usize + 1) * d];
        let (fours, rest) = self.list.as_chunks::<FOUR>();
        for four in fours {
            self.products.extend(dots(self.row, four.map(center)));
        }
        for &j in rest {
            self.products.extend(dots(self.row, [center(j)]));
        }
    }
}

#[inline(always)]
fn dots<T: Real, const N: usize>(row: &[T], centers: [&[T]; N]) -> [T; N] {
    let mut sums = [[T::ZERO; GROUP]; N];
    let (groups, rest) = row.as_chunks::<GROUP>();
    let columns = centers.map(|center| center.as_chunks::<GROUP>());
    for (place, x) in groups.iter().enumerate() {
        for (sums, (center, _)) in sums.iter_mut().zip(&columns) {
            for ((sum, &x), &y) in sums.iter_mut().zip(x).zip(&center[place]) {
                *sum += x * y;
            }
        }
    }
    let mut all = [T::ZERO; N];
    for ((all, sums), (_, last)) in all.iter_mut().zip(sums).zip(&columns) {
        let tail: T = rest.iter().zip(*last).map(|(&x, &y)| x * y).sum();
        *all = sums.into_iter().sum::<T>() + tail;
    }
    all
}
