//! k-means on batches that come again in every pass, for data larger than memory.
//!
//! The first pass counts the rows and keeps a random sample of them, on which [`KMeans`] finds the centers to begin with (unless
//! `initial_centers` are given). Each further pass is one of Lloyd's iterations over all rows; the last one measures the inertia.
//! Labels are exact and sums are added in the order of an in-memory fit, so that the centers are those of an in-memory fit from the
//! same first centers, bit for bit, for any batch size. Labels are not kept: where the one of the pass before is not certain from
//! bounds, it is found again from the centers of that pass. Held are the sample (16,384 rows, or four per cluster), a few sums per
//! cluster and two rows per cluster.

use tove_optim::settings::{Hyperparameters, Named};
use tove_tensor::{DType, Tensor};

use super::assign::{Assigned, IN, OUT, Points, Which};
use super::kmeans::{FittedKMeans, KMeans, enough, given};
use super::lloyd::{AGE, PART, Run, divide, is_idle, many, objective, refill, rows_of_a_sum};
use crate::distance::{add_scaled, squared};
use crate::row_sample::RowSample;
use crate::{Fit, LearnError, Learner, PartialFit, Real, Result, Samples, Stop, quietly, with_real};

/// Rows that first centers are found from; at least four per cluster.
const SAMPLE: usize = 16_384;

/// The state of [`KMeans`] on batches in passes.
#[derive(Clone, Debug)]
pub struct KMeansLearner {
    settings: KMeans,
    dtype: DType,
    stage: Stage,
    /// Rows, after the first pass.
    rows: usize,
    /// Movement at which to stop.
    tolerance: f64,
    /// Σ w ‖x − o‖², and o, the weighted mean of all rows.
    spread: (f64, Vec<f64>),
    /// Whether all weights are 1.
    plain: bool,
    run: Progress,
}

#[derive(Clone, Debug)]
enum Stage {
    /// Before the first row.
    New,
    /// The first pass.
    Scan(Scan),
    /// A pass with these centers; the last one measures only.
    Assign { sums: Sums, last: Option<Stop> },
    /// The fit has ended.
    Done(Stop),
}

/// What has been reached so far.
#[derive(Clone, Debug, Default)]
struct Progress {
    centers: Vec<f64>, // (k, d)
    /// Of the pass before.
    former: Option<Former>,
    /// Of the last whole pass.
    inertia: Option<f64>,
    /// The clusters that had rows then.
    used: Vec<bool>,
    iterations: usize,
    shift: f64,
    curve: Vec<f64>,
}

/// What a pass leaves to the next one.
#[derive(Clone, Debug)]
struct Former {
    centers: Vec<f64>,
    /// Sums and weights of the clusters of these centers.
    sums: (Vec<f64>, Vec<f64>),
    /// Passes since the sums were last taken over all rows.
    age: usize,
}

/// The first pass: a sample, and sums around the first row.
#[derive(Clone, Debug)]
struct Scan {
    sample: RowSample,
    origin: Vec<f64>,
    sums: Vec<f64>,
    squares: f64,
    /// The same with weights, and the sum of these.
    weighted: (Vec<f64>, f64, f64),
    /// Whether all weights are 1.
    plain: bool,
}

impl Scan {
    fn new(settings: &KMeans, origin: Vec<f64>) -> Scan {
        let most = SAMPLE.max(4usize.saturating_mul(settings.n_clusters));
        let (sample, sums) = (RowSample::new(most, settings.seed, origin.len()), vec![0.0; origin.len()]);
        let weighted = (sums.clone(), 0.0, 0.0);
        Scan { sample, origin, sums, squares: 0.0, weighted, plain: true }
    }

    fn add<T: Real>(&mut self, rows: &[T], weights: &[f64]) {
        let d = self.origin.len();
        let mut row = vec![0.0; d];
        for (own, weight) in rows.chunks_exact(d).zip(weights) {
            row.iter_mut().zip(own).for_each(|(x, own)| *x = own.f64());
            self.sample.add(&row, *weight);
            self.plain &= *weight == 1.0;
            let (weighted, squares, total) = &mut self.weighted;
            *total += weight;
            for (((sum, weighted), x), origin) in self.sums.iter_mut().zip(weighted).zip(&row).zip(&self.origin) {
                let gap = x - origin;
                *sum += gap;
                self.squares += gap * gap;
                *weighted += weight * gap;
                *squares += weight * gap * gap;
            }
        }
    }

    /// Σ w ‖x − o‖², and the weighted mean o.
    fn spread(&self) -> (f64, Vec<f64>) {
        let (sums, squares, total) = &self.weighted;
        if *total <= 0.0 {
            return (0.0, self.origin.clone());
        }
        let mean = sums.iter().zip(&self.origin).map(|(sum, origin)| origin + sum / total).collect();
        ((squares - sums.iter().map(|sum| sum * sum).sum::<f64>() / total).max(0.0), mean)
    }

    /// The mean variance of the features.
    fn variance(&self) -> f64 {
        let n = self.sample.seen() as f64;
        let means: f64 = self.sums.iter().map(|sum| (sum / n).powi(2)).sum();
        (self.squares / n - means).max(0.0) / self.origin.len() as f64
    }
}

/// A row that may become the center of an empty cluster.
#[derive(Clone, Debug)]
struct Far {
    distance: f64,
    label: usize,
    weight: f64,
    row: Vec<f64>,
}

/// The sums of a pass.
#[derive(Clone, Debug)]
struct Sums {
    /// Of all finished parts, and of the part that is being added up.
    whole: Option<(Vec<f64>, Vec<f64>)>,
    part: (Vec<f64>, Vec<f64>),
    /// The sums of the pass before, from which rows are taken and to which they are added when they change their cluster.
    changed: Option<(Vec<f64>, Vec<f64>)>,
    /// Rows that have changed their cluster.
    moved: usize,
    /// Σ w ‖x − μ‖², in parts too.
    inertia: (f64, f64),
    row: usize,
    /// Clusters that have rows, and how many with a weight.
    used: Vec<bool>,
    members: Vec<usize>,
    /// The farthest rows, farthest first.
    far: Vec<Far>,
}

impl Sums {
    /// For a pass after this one.
    fn new(k: usize, d: usize, former: Option<&Former>) -> Sums {
        let (part, inertia) = ((vec![0.0; k * d], vec![0.0; k]), (0.0, 0.0));
        let (used, members, changed) = (vec![false; k], vec![0; k], former.map(|former| former.sums.clone()));
        Sums { whole: None, part, changed, moved: 0, inertia, row: 0, used, members, far: Vec::new() }
    }

    fn add<T: Real>(&mut self, points: &Points<'_, T>, weights: &[f64], run: &Progress, size: usize) -> Result<()> {
        let (d, k, centers) = (points.d, self.members.len(), &run.centers);
        let all = points.nearest(centers, Which::All)?;
        if let (Some(former), Some((sums, totals))) = (&run.former, &mut self.changed) {
            for (row, before) in changes(points, &all, centers, &former.centers)? {
                self.moved += 1;
                for (label, factor) in [(before as usize, -1.0), (all[row as usize].label as usize, 1.0)] {
                    add_scaled(&mut sums[label * d..(label + 1) * d], points.row(row as usize), factor);
                    totals[label] += factor;
                }
            }
        }
        for (i, assigned) in all.into_iter().enumerate() {
            if self.row > 0 && self.row.is_multiple_of(size) {
                self.end_part(k, d);
            }
            if self.row > 0 && self.row.is_multiple_of(PART) {
                self.inertia = (self.inertia.0 + self.inertia.1, 0.0);
            }
            let (label, weight) = (assigned.label as usize, weights[i]);
            self.part.1[label] += weight;
            self.used[label] = true;
            add_scaled(&mut self.part.0[label * d..(label + 1) * d], points.row(i), weight);
            let distance = points.exact(i, label, centers);
            self.inertia.1 += weight * distance;
            if weight > 0.0 {
                self.members[label] += 1;
                self.consider(distance, label, weight, || points.row(i).iter().map(|x| x.f64()).collect());
            }
            self.row += 1;
        }
        Ok(())
    }

    /// Keeps a row if it is among the two per cluster that are farthest: at most one per cluster has to stay where it is.
    fn consider(&mut self, distance: f64, label: usize, weight: f64, row: impl FnOnce() -> Vec<f64>) {
        let most = 2 * self.members.len();
        if self.far.len() == most && self.far.last().is_some_and(|last| last.distance >= distance) {
            return;
        }
        let place = self.far.partition_point(|other| other.distance >= distance);
        self.far.insert(place, Far { distance, label, weight, row: row() });
        self.far.truncate(most);
    }

    fn end_part(&mut self, k: usize, d: usize) {
        let own = std::mem::replace(&mut self.part, (vec![0.0; k * d], vec![0.0; k]));
        match &mut self.whole {
            None => self.whole = Some(own),
            Some((sums, totals)) => {
                sums.iter_mut().zip(own.0).for_each(|(sum, more)| *sum += more);
                totals.iter_mut().zip(own.1).for_each(|(total, more)| *total += more);
            }
        }
    }

    /// Ends the pass: what the next one needs, and the means of the clusters. `plain` says that all weights are 1.
    fn finish(mut self, run: &Progress, plain: bool) -> (Former, Moved) {
        let (k, centers) = (self.members.len(), run.centers.clone());
        let d = centers.len() / k;
        self.end_part(k, d);
        let age = run.former.as_ref().map_or(AGE, |former| former.age);
        // As in memory, where sums are brought up to date if few rows have changed their cluster.
        let (sums, age) = match self.changed {
            Some((mut sums, totals)) if plain && age < AGE && !many(self.moved, self.row) => {
                for (own, total) in sums.chunks_exact_mut(d).zip(&totals) {
                    if *total == 0.0 {
                        own.fill(0.0);
                    }
                }
                ((sums, totals), age + 1)
            }
            _ => (self.whole.unwrap_or_default(), 0),
        };
        let (mut means, mut totals) = sums.clone();
        let relocated = totals.iter().any(|total| *total <= 0.0);
        if relocated {
            let far = self.far.iter().map(|far| (far.label, far.weight, far.row.as_slice()));
            refill(&mut means, &mut totals, &mut self.members, far);
        }
        divide(&mut means, &totals, &centers);
        (Former { centers, sums, age }, Moved { means, totals, relocated })
    }
}

/// The centers after a pass.
struct Moved {
    means: Vec<f64>,
    /// Weight of each cluster.
    totals: Vec<f64>,
    /// Whether rows were put into empty clusters.
    relocated: bool,
}

/// The rows that have changed their cluster since the centers were at `former`, and the clusters they had.
fn changes<T: Real>(
    points: &Points<'_, T>,
    assigned: &[Assigned],
    centers: &[f64],
    former: &[f64],
) -> Result<Vec<(u32, u32)>> {
    let each = centers.chunks_exact(points.d).zip(former.chunks_exact(points.d));
    let moves: Vec<f64> = each.map(|(a, b)| squared(a, b).sqrt() * OUT).collect();
    let most = moves.iter().fold(0.0f64, |most, own| most.max(*own));
    let unsure = |own: &Assigned| {
        let (upper, lower) = ((own.upper + moves[own.label as usize]) * OUT, (own.lower - most) * IN);
        upper.is_nan() || upper >= lower
    };
    let rows: Vec<u32> = (0..).zip(assigned).filter(|(_, own)| unsure(own)).map(|(row, _)| row).collect();
    let before = points.nearest(former, Which::These(&rows))?;
    let pairs = rows.into_iter().zip(before).map(|(row, before)| (row, before.label));
    Ok(pairs.filter(|&(row, before)| assigned[row as usize].label != before).collect())
}

impl PartialFit for KMeans {
    type Learner = KMeansLearner;

    /// A learner for several passes; see [`fit_passes`](crate::fit_passes).
    fn learner(&self, _classes: &[i64]) -> Result<KMeansLearner> {
        self.validate()?;
        let (settings, run) = (self.clone(), Progress { shift: f64::INFINITY, ..Progress::default() });
        Ok(KMeansLearner {
            settings,
            dtype: DType::F64,
            stage: Stage::New,
            rows: 0,
            tolerance: 0.0,
            spread: (0.0, Vec::new()),
            plain: true,
            run,
        })
    }
}

impl KMeansLearner {
    /// The number of features, once it is known.
    fn width(&self) -> Option<usize> {
        match &self.stage {
            Stage::New => None,
            Stage::Scan(scan) => Some(scan.origin.len()),
            _ => Some(self.run.centers.len() / self.settings.n_clusters),
        }
    }

    /// First centers, after the first pass.
    fn start(&mut self, scan: &Scan) -> Result<()> {
        let (settings, k, d) = (&self.settings, self.settings.n_clusters, scan.origin.len());
        self.rows = scan.sample.seen();
        (self.tolerance, self.spread, self.plain) = (settings.tol * scan.variance(), scan.spread(), scan.plain);
        enough(KMeans::NAME, k, self.rows)?;
        self.run.centers = match &settings.initial_centers {
            Some(rows) => given(KMeans::NAME, "initial_centers", rows, k, d)?,
            None => {
                let (x, weights) = scan.sample.finish(self.dtype)?;
                let samples = Samples::unlabeled(x)?;
                let samples = match weights.iter().all(|weight| *weight == 1.0) {
                    true => samples,
                    false => samples.weighted(&Tensor::from(weights))?,
                };
                quietly(|| settings.fit_samples(&samples))?.cluster_centers().to_f64_vec()
            }
        };
        Ok(())
    }

    /// Moves the centers at the end of a pass; the reason to stop, if there is one.
    fn advance(&mut self, sums: Sums) -> Option<Stop> {
        let (settings, run) = (&self.settings, &mut self.run);
        let (former, Moved { means, totals, relocated }) = sums.finish(run, self.plain);
        let (spread, origin) = &self.spread;
        let objective = objective(*spread, &means, &totals, origin);
        let idle = is_idle(relocated, run.curve.last(), objective, *spread);
        run.iterations += 1;
        run.curve.push(objective);
        let each = means.chunks_exact(origin.len()).zip(run.centers.chunks_exact(origin.len()));
        run.shift = each.map(|(a, b)| squared(a, b)).sum();
        (run.centers, run.former) = (means, Some(former));
        match run.shift <= self.tolerance {
            _ if idle => Some(Stop::Unchanged),
            true => Some(Stop::Tolerance),
            false => (run.iterations >= settings.max_iter).then_some(Stop::MaxIter),
        }
    }
}

impl Learner for KMeansLearner {
    type Fitted = FittedKMeans;

    fn learn(&mut self, samples: &Samples) -> Result<()> {
        let samples = crate::estimator::admit(&self.settings, samples)?;
        samples.require_moderate(KMeans::NAME, true)?;
        match self.width() {
            Some(width) => samples.x().check_width(KMeans::NAME, width)?,
            None => self.dtype = samples.x().dtype(),
        }
        let weights = samples.weights().map_or_else(|| vec![1.0; samples.len()], Tensor::to_f64_vec);
        let (x, d) = (samples.x().to_dtype(self.dtype), samples.width());
        let x = x.dense(KMeans::NAME)?;
        with_real!(self.dtype, T => {
            let rows = x.as_slice::<T>()?;
            if let Stage::New = self.stage {
                self.stage = Stage::Scan(Scan::new(&self.settings, rows[..d].iter().map(|x| x.f64()).collect()));
            }
            match &mut self.stage {
                Stage::Scan(scan) => scan.add(rows, &weights),
                Stage::Assign { sums, .. } => {
                    let size = rows_of_a_sum(self.rows, self.settings.n_clusters);
                    sums.add(&Points::new(rows, d)?, &weights, &self.run, size)?;
                }
                _ => {
                    let fix = "create another learner";
                    return Err(LearnError::unsupported(KMeans::NAME, "has ended its passes", fix));
                }
            }
        });
        Ok(())
    }

    fn end_pass(&mut self) -> Result<bool> {
        let (k, stage) = (self.settings.n_clusters, std::mem::replace(&mut self.stage, Stage::New));
        let last = match stage {
            Stage::New => return Err(none(0)),
            Stage::Done(stop) => {
                self.stage = Stage::Done(stop);
                return Ok(false);
            }
            Stage::Scan(scan) => {
                self.start(&scan)?;
                None
            }
            Stage::Assign { sums, .. } if sums.row != self.rows => {
                let problem = format!("a pass had {} rows and the first one {}", sums.row, self.rows);
                return Err(LearnError::data(KMeans::NAME, problem, "give the same batches in every pass"));
            }
            Stage::Assign { sums, last } => {
                self.run.inertia = Some(sums.inertia.0 + sums.inertia.1);
                self.run.used.clone_from(&sums.used);
                // The labels of the pass before have come again.
                let settled = self.run.former.is_some() && sums.moved == 0;
                if let Some(stop) = if settled { Some(Stop::Unchanged) } else { last } {
                    self.stage = Stage::Done(stop);
                    return Ok(false);
                }
                self.advance(sums)
            }
        };
        let d = self.run.centers.len() / k;
        self.stage = Stage::Assign { sums: Sums::new(k, d, self.run.former.as_ref()), last };
        Ok(true)
    }

    /// The centers so far; those of a fit that was cut short say so in the summary.
    fn model(&self) -> Result<FittedKMeans> {
        let stop = if let Stage::Done(stop) = self.stage { stop } else { Stop::Interrupted };
        let Progress { centers, inertia, used, iterations, shift, curve, .. } = self.run.clone();
        let (Some(inertia), Some(d)) = (inertia, self.width()) else { return Err(none(self.rows)) };
        let run = Run { centers, labels: Vec::new(), inertia, iterations, shift, stop, curve };
        self.settings.fitted(run, &used, d, self.dtype)
    }

    fn loss(&self) -> Option<f64> {
        self.run.inertia.map(|inertia| inertia / self.rows.max(1) as f64)
    }
}

#[cold]
fn none(found: usize) -> LearnError {
    let fix = "give all batches twice at least, and call `end_pass` after each pass".to_owned();
    LearnError::TooFew { who: KMeans::NAME, found, needed: 1, fix }
}
