//! Stochastic gradient descent on rows of tables, in parallel and with the same result for any number of threads.
//!
//! The data are cut into blocks of a fixed size, [`ROUND`] of which make a round. Each block of a round starts from the tables at
//! the start of the round and trains copies of the rows it uses, one step after another. At the end of the round the changes that
//! the blocks made to a row are added in the order of the blocks. Which thread runs a block makes no difference.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tove_tensor::kernels::simd::{Isa, Kernel, dispatch, isa};
use tove_tensor::pool::parallel_for;

use super::step::{LANES, Step, add};

/// Blocks of a round.
pub(super) const ROUND: usize = 8;
/// Parts of a table, which are updated in parallel.
const SHARDS: usize = 16;
/// Fraction of the gap to a minimum that a pair closes, per unit of the step size: a typical curvature of the loss. Values from 0.03 to
/// 0.3 gave equally good vectors; without any limit frequent rows diverge.
const CURVATURE: f32 = 0.1;
/// Marks a row that a block has not used.
const UNUSED: u32 = u32::MAX;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Rows of numbers, padded to whole vector registers. Row r is row r / SHARDS of part r % SHARDS.
pub(super) struct Table {
    pub rows: usize,
    /// Numbers of a row, and with padding.
    pub dimension: usize,
    pub width: usize,
    shards: Vec<Vec<f32>>,
}

impl Table {
    /// A table of zeros. The size must have been checked.
    pub fn new(rows: usize, dimension: usize) -> Table {
        let width = dimension.next_multiple_of(LANES);
        let shards = (0..SHARDS).map(|shard| vec![0.0; (rows + SHARDS - 1 - shard) / SHARDS * width]).collect();
        Table { rows, dimension, width, shards }
    }

    /// Bytes of a table and the memory that blocks need for it.
    pub fn bytes(rows: usize, dimension: usize) -> u64 {
        let padded = (dimension as u64).saturating_add(LANES as u64);
        (rows as u64).saturating_mul(padded.saturating_mul(8).saturating_add(4 * ROUND as u64))
    }

    #[inline(always)]
    pub fn row(&self, row: usize) -> &[f32] {
        let at = row / SHARDS * self.width;
        &self.shards[row % SHARDS][at..at + self.width]
    }

    pub fn row_mut(&mut self, row: usize) -> &mut [f32] {
        let at = row / SHARDS * self.width;
        &mut self.shards[row % SHARDS][at..at + self.width]
    }

    /// All rows without padding.
    pub fn to_vec(&self, rows: std::ops::Range<usize>) -> Vec<f32> {
        rows.flat_map(|row| &self.row(row)[..self.dimension]).copied().collect()
    }
}

/// The rows of a table that a block trains.
pub(super) struct Copies {
    /// The copy of each row, or [`UNUSED`].
    slots: Vec<u32>,
    values: Vec<f32>,
    /// Pairs that changed each copy.
    pairs: Vec<u32>,
    /// Row and copy, by part of the table.
    used: Vec<Vec<(u32, u32)>>,
    count: u32,
    width: usize,
}

impl Copies {
    fn new(table: &Table) -> Copies {
        let used = vec![Vec::new(); SHARDS];
        Copies {
            slots: vec![UNUSED; table.rows],
            values: Vec::new(),
            pairs: Vec::new(),
            used,
            count: 0,
            width: table.width,
        }
    }

    /// The copy of a row, made if there is none.
    #[inline(always)]
    pub fn slot(&mut self, table: &Table, row: u32) -> u32 {
        let slot = self.slots[row as usize];
        if slot != UNUSED {
            return slot;
        }
        let slot = self.count;
        self.count += 1;
        self.slots[row as usize] = slot;
        self.used[row as usize % SHARDS].push((row, slot));
        self.values.extend_from_slice(table.row(row as usize));
        self.pairs.push(0);
        slot
    }

    #[inline(always)]
    pub fn get(&self, slot: u32) -> &[f32] {
        let at = slot as usize * self.width;
        &self.values[at..at + self.width]
    }

    /// All copies, one after another.
    #[inline(always)]
    pub fn rows_mut(&mut self) -> &mut [f32] {
        &mut self.values
    }

    /// Counts pairs that changed each of these copies.
    #[inline(always)]
    pub fn count(&mut self, slots: &[u32], pairs: u32) {
        for &slot in slots {
            self.pairs[slot as usize] += pairs;
        }
    }

    #[inline(always)]
    pub fn add(&mut self, slot: u32, change: &[f32], pairs: u32) {
        self.pairs[slot as usize] += pairs;
        let at = slot as usize * self.width;
        add(&mut self.values[at..at + self.width], change);
    }

    fn clear(&mut self) {
        for (row, _) in self.used.iter_mut().flat_map(|used| used.drain(..)) {
            self.slots[row as usize] = UNUSED;
        }
        self.values.clear();
        self.pairs.clear();
        self.count = 0;
    }
}

/// What a block works with.
pub(super) struct Worker {
    pub input: Copies,
    pub output: Copies,
    pub step: Step,
    /// Sum of losses, and how many.
    pub loss: f64,
    pub pairs: u64,
}

/// Trains one block.
pub(super) trait Block: Sync {
    /// The step size at the start of a block.
    fn rate(&self, epoch: usize, index: usize) -> f32;
    /// Trains block `index` of epoch `epoch` on the copies of the worker. Must be `#[inline(always)]`. `FUSED` says that the instruction
    /// set multiplies and adds at once.
    fn train<const FUSED: bool>(&self, epoch: usize, index: usize, tables: &Tables, worker: &mut Worker);
}

/// The vectors of the input and of the output.
pub(super) struct Tables {
    pub input: Table,
    pub output: Table,
}

struct Run<'a, B: Block, const FUSED: bool> {
    block: &'a B,
    epoch: usize,
    index: usize,
    tables: &'a Tables,
    worker: &'a mut Worker,
}

impl<B: Block, const FUSED: bool> Kernel for Run<'_, B, FUSED> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.block.train::<FUSED>(self.epoch, self.index, self.tables, self.worker);
    }
}

/// Told from time to time which share of a training is done, from 0 to 1.
pub type Watch<'a> = &'a mut dyn FnMut(f64);

/// Trains for a number of epochs of `blocks` blocks. Returns the mean loss of each, and whether it was not interrupted.
pub(super) fn train(
    tables: &mut Tables,
    blocks: usize,
    epochs: usize,
    block: &impl Block,
    watch: Watch<'_>,
) -> (Vec<f64>, bool) {
    let workers: Vec<Mutex<Worker>> = (0..ROUND.min(blocks))
        .map(|_| Worker {
            input: Copies::new(&tables.input),
            output: Copies::new(&tables.output),
            step: Step::default(),
            loss: 0.0,
            pairs: 0,
        })
        .map(Mutex::new)
        .collect();
    let mut curve = Vec::new();
    for epoch in 0..epochs {
        let (mut loss, mut pairs, mut finished) = (0.0, 0, true);
        for first in (0..blocks).step_by(ROUND) {
            if tove_optim::interrupted() {
                finished = false;
                break;
            }
            if (first / ROUND).is_multiple_of(64) {
                watch((epoch as f64 + first as f64 / blocks as f64) / epochs as f64);
            }
            let fraction = CURVATURE * block.rate(epoch, first);
            let count = ROUND.min(blocks - first);
            parallel_for(count, &|task| {
                let mut worker = lock(&workers[task]);
                let (index, tables, worker) = (first + task, &*tables, &mut *worker);
                match isa() {
                    Isa::Baseline => dispatch(Run::<_, false> { block, epoch, index, tables, worker }),
                    _ => dispatch(Run::<_, true> { block, epoch, index, tables, worker }),
                }
            });
            let mut held: Vec<MutexGuard<'_, Worker>> = workers[..count].iter().map(lock).collect();
            apply(&mut tables.input, &held.iter().map(|worker| &worker.input).collect::<Vec<_>>(), fraction);
            apply(&mut tables.output, &held.iter().map(|worker| &worker.output).collect::<Vec<_>>(), fraction);
            for worker in &mut held {
                worker.input.clear();
                worker.output.clear();
                loss += std::mem::take(&mut worker.loss);
                pairs += std::mem::take(&mut worker.pairs);
            }
        }
        if pairs > 0 {
            curve.push(loss / pairs as f64);
        }
        if !finished {
            return (curve, false);
        }
    }
    (curve, true)
}

/// Adds the changes of all copies to a table.
///
/// Many steps on a row bring it near to a minimum, and the sum of what several blocks did would go far beyond it. If each pair closes a
/// fraction a of the gap, a block with n pairs closes 1 − e^(−an) of it, and one after another they would close 1 − e^(−aΣn). The sum
/// of the changes is scaled by the quotient: it is left as it is for rare rows, and is a mean for frequent ones.
fn apply(table: &mut Table, copies: &[&Copies], fraction: f32) {
    let width = table.width;
    let closed = |pairs: u32| 1.0 - (-fraction * pairs as f32).exp();
    let shards: Vec<Mutex<&mut Vec<f32>>> = table.shards.iter_mut().map(Mutex::new).collect();
    parallel_for(SHARDS, &|shard| {
        let mut rows = lock(&shards[shard]);
        let mut sum = vec![0.0; width];
        for (first, own) in copies.iter().enumerate() {
            for &(row, slot) in &own.used[shard] {
                let of = |other: &Copies| other.slots[row as usize];
                if copies[..first].iter().any(|other| of(other) != UNUSED) {
                    continue; // Done with that one.
                }
                let at = row as usize / SHARDS * width;
                let start = &mut rows[at..at + width];
                if copies[first + 1..].iter().all(|other| of(other) == UNUSED) {
                    start.copy_from_slice(own.get(slot));
                    continue;
                }
                sum.fill(0.0);
                let (mut pairs, mut parts) = (0, 0.0);
                for other in copies[first..].iter().filter(|other| of(other) != UNUSED) {
                    let changed = other.get(of(other)).iter().zip(&*start);
                    sum.iter_mut().zip(changed).for_each(|(sum, (new, old))| *sum += new - old);
                    pairs += other.pairs[of(other) as usize];
                    parts += closed(other.pairs[of(other) as usize]);
                }
                let scale = if parts > 0.0 { closed(pairs) / parts } else { 1.0 };
                start.iter_mut().zip(&sum).for_each(|(x, change)| *x += scale * change);
            }
        }
    });
}
