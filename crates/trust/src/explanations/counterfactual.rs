//! The search for a small change that leads to another answer, by queries of the model only.
//!
//! A beam search changes one feature at a time, to a few values over its range; of the rows that do not yet get the wanted
//! answer those with the largest gain of log-odds per cost go on. A row that gets it is shrunk: changes are undone where
//! they are not needed, numbers go back towards their old value by bisection, and pairs of numbers are traded against each
//! other while that saves cost. The result is a local optimum: no single change can be undone or made smaller (to the
//! tolerance). That it is the smallest of all changes is not guaranteed.

use super::space::{ChangeSpace, WHAT};
use crate::input::fraction;
use crate::{Result, TrustError};

/// Values over the range of a number that are tried.
const VALUES: usize = 8;

/// Halvings of a bisection.
const HALVINGS: usize = 30;

/// How a counterfactual is searched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CounterfactualOptions {
    /// The probability of the wanted answer that has to be reached.
    pub threshold: f64,
    /// Largest number of features that change; a one-hot block counts as one.
    pub changes: usize,
    /// Number of rows that the beam search goes on with.
    pub beam: usize,
    /// Largest number of rows given to the model.
    pub queries: usize,
}

impl Default for CounterfactualOptions {
    fn default() -> CounterfactualOptions {
        CounterfactualOptions { threshold: 0.5, changes: 4, beam: 8, queries: 20_000 }
    }
}

/// A changed feature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FeatureChange {
    /// The feature; of a one-hot block the column that has become 1.
    pub feature: usize,
    /// Its value in the row.
    pub from: f64,
    /// Its value in the counterfactual.
    pub to: f64,
}

/// A row near the given one that gets the wanted answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Counterfactual {
    /// The row.
    pub row: Vec<f64>,
    /// What has changed, numbers first.
    pub changes: Vec<FeatureChange>,
    /// What the changes cost together.
    pub cost: f64,
    /// The probability of the wanted answer.
    pub probability: f64,
    /// Number of rows that were given to the model.
    pub queries: usize,
    /// Whether the search ended by itself and not because the queries were used up.
    pub finished: bool,
}

/// The model with a count of its queries.
struct Oracle<'s, F> {
    space: &'s ChangeSpace,
    origin: &'s [f64],
    ask: F,
    options: CounterfactualOptions,
    queries: usize,
}

/// A row with the probability of the wanted answer and its cost.
#[derive(Clone, Debug)]
struct State {
    row: Vec<f64>,
    probability: f64,
    cost: f64,
}

impl ChangeSpace {
    /// Searches the cheapest change of a row for which the model gives the wanted answer at least the probability
    /// `threshold`. `probability` gives it for a batch of rows. `None` if nothing is found, which does not prove that there
    /// is none.
    ///
    /// # Errors
    /// A row outside of the space; options out of range; probabilities that are not in [0, 1] or not one per row; what the
    /// model returns.
    pub fn search(
        &self,
        row: &[f64],
        probability: impl FnMut(&[Vec<f64>]) -> Result<Vec<f64>>,
        options: &CounterfactualOptions,
    ) -> Result<Option<Counterfactual>> {
        fraction(WHAT, "threshold", options.threshold)?;
        self.check(row)?;
        if options.beam == 0 || options.changes == 0 || options.queries == 0 {
            let problem = "`beam`, `changes` or `queries` is 0; give at least 1 of each";
            return Err(TrustError::argument(WHAT, problem));
        }
        let mut oracle = Oracle { space: self, origin: row, ask: probability, options: *options, queries: 0 };
        let Some(start) = oracle.states(vec![row.to_vec()])?.pop() else { return Ok(None) };
        let best = if oracle.reached(&start) { Some(start) } else { oracle.beam(start)? };
        Ok(best.map(|state| {
            let changes = self.changes(row, &state.row);
            let (queries, finished) = (oracle.queries, oracle.queries < options.queries);
            Counterfactual {
                row: state.row,
                changes,
                cost: state.cost,
                probability: state.probability,
                queries,
                finished,
            }
        }))
    }

    fn changes(&self, from: &[f64], to: &[f64]) -> Vec<FeatureChange> {
        let change = |feature: usize| FeatureChange { feature, from: from[feature], to: to[feature] };
        let numbers = (0..self.rules.len()).filter(|&feature| from[feature] != to[feature]);
        let chosen = |feature: &usize| from[*feature] != to[*feature] && to[*feature] == 1.0;
        let blocks = self.blocks.iter().flat_map(|block| block.start..block.start + block.len).filter(chosen);
        numbers.chain(blocks).map(change).collect()
    }

    /// Rows that differ from this one in one number or block, which is still as in the origin.
    fn neighbors(&self, origin: &[f64], row: &[f64]) -> Vec<Vec<f64>> {
        let mut all = Vec::new();
        for (feature, rule) in self.rules.iter().enumerate() {
            if rule.fixed || row[feature] != origin[feature] {
                continue;
            }
            let mut values: Vec<f64> = (0..=VALUES)
                .map(|step| self.allowed(feature, rule.low + (rule.high - rule.low) * step as f64 / VALUES as f64))
                .collect();
            if rule.integer {
                values.extend([-1.0, 1.0].map(|step| self.allowed(feature, row[feature] + step)));
            }
            values.sort_unstable_by(f64::total_cmp);
            values.dedup();
            for value in values.into_iter().filter(|value| *value != row[feature]) {
                let mut next = row.to_vec();
                next[feature] = value;
                all.push(next);
            }
        }
        for block in self.blocks.iter().filter(|block| !block.fixed) {
            let columns = block.start..block.start + block.len;
            if row[columns.clone()] != origin[columns.clone()] {
                continue;
            }
            for chosen in columns.clone().filter(|&column| row[column] != 1.0) {
                let mut next = row.to_vec();
                columns.clone().for_each(|column| next[column] = f64::from(u8::from(column == chosen)));
                all.push(next);
            }
        }
        all
    }
}

impl<F: FnMut(&[Vec<f64>]) -> Result<Vec<f64>>> Oracle<'_, F> {
    fn reached(&self, state: &State) -> bool {
        state.probability >= self.options.threshold
    }

    /// Asks the model about rows, as long as queries are left.
    fn states(&mut self, mut rows: Vec<Vec<f64>>) -> Result<Vec<State>> {
        rows.truncate(self.options.queries - self.queries);
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        self.queries += rows.len();
        let found = (self.ask)(&rows)?;
        if found.len() != rows.len() || found.iter().any(|p| !(0.0..=1.0).contains(p)) {
            let problem = format!("{} probabilities for {} rows, which must lie in [0, 1]", found.len(), rows.len());
            return Err(TrustError::data(WHAT, problem, "return the probability of the wanted answer for each row"));
        }
        let state =
            |(row, probability): (Vec<f64>, f64)| State { cost: self.space.cost(self.origin, &row), row, probability };
        Ok(rows.into_iter().zip(found).map(state).collect())
    }

    fn beam(&mut self, start: State) -> Result<Option<State>> {
        let base = log_odds(start.probability);
        let (mut beam, mut best): (Vec<State>, Option<State>) = (vec![start], None);
        for _ in 0..self.options.changes {
            let rows: Vec<Vec<f64>> =
                beam.iter().flat_map(|state| self.space.neighbors(self.origin, &state.row)).collect();
            let (mut done, mut open): (Vec<State>, Vec<State>) =
                self.states(rows)?.into_iter().partition(|state| self.reached(state));
            done.sort_by(|a, b| a.cost.total_cmp(&b.cost));
            // The cheapest and, of the rest, those that reach the goal by the widest margin for their cost.
            let mut wide: Vec<State> = done.split_off(done.len().min(self.options.beam));
            let gain = |state: &State| (log_odds(state.probability) - base) / state.cost.max(1e-12);
            wide.sort_by(|a, b| gain(b).total_cmp(&gain(a)));
            wide.truncate(self.options.beam);
            for state in done.into_iter().chain(wide) {
                let shrunk = self.pull_all(state)?;
                if best.as_ref().is_none_or(|best| shrunk.cost < best.cost) {
                    best = Some(shrunk);
                }
            }
            let limit = best.as_ref().map_or(f64::INFINITY, |best| best.cost);
            open.retain(|state| state.cost < limit && gain(state) > 0.0);
            open.sort_by(|a, b| gain(b).total_cmp(&gain(a)));
            beam = self.best_of_each(open);
            if beam.is_empty() {
                break;
            }
        }
        best.map(|best| self.shrink(best)).transpose()
    }

    /// Of states in falling order two per set of changed features, the first one and the one that comes nearest to the goal,
    /// so that the beam does not fill with values of one feature.
    fn best_of_each(&self, states: Vec<State>) -> Vec<State> {
        let mut groups: Vec<(Vec<bool>, State, Option<State>)> = Vec::new();
        for state in states {
            let changed: Vec<bool> = state.row.iter().zip(self.origin).map(|(a, b)| a != b).collect();
            match groups.iter_mut().find(|group| group.0 == changed) {
                None => groups.push((changed, state, None)),
                Some((_, first, nearest)) => {
                    let known = nearest.as_ref().unwrap_or(first).probability;
                    if state.probability > known {
                        *nearest = Some(state);
                    }
                }
            }
        }
        groups.truncate(self.options.beam);
        groups.into_iter().flat_map(|(_, first, nearest)| std::iter::once(first).chain(nearest)).collect()
    }

    /// Makes the changes of a row that reaches the goal smaller until none can be made smaller alone.
    fn shrink(&mut self, mut state: State) -> Result<State> {
        loop {
            let before = state.cost;
            let traded = self.trade(state)?;
            state = self.pull_all(traded)?;
            if state.cost >= before * (1.0 - 1e-6) || self.queries >= self.options.queries {
                return Ok(state);
            }
        }
    }

    /// Undoes changes that are not needed, and moves the others back as far as possible, one after the other.
    fn pull_all(&mut self, state: State) -> Result<State> {
        let mut state = self.undo(state)?;
        for feature in 0..self.space.rules.len() {
            state = self.pull(state, feature)?;
        }
        Ok(state)
    }

    /// Undoes whole changes, the dearest first.
    fn undo(&mut self, mut state: State) -> Result<State> {
        let mut rows = Vec::new();
        for feature in (0..self.space.rules.len()).filter(|&i| state.row[i] != self.origin[i]) {
            let mut row = state.row.clone();
            row[feature] = self.origin[feature];
            rows.push(row);
        }
        for block in &self.space.blocks {
            let columns = block.start..block.start + block.len;
            if state.row[columns.clone()] != self.origin[columns.clone()] {
                let mut row = state.row.clone();
                row[columns.clone()].copy_from_slice(&self.origin[columns]);
                rows.push(row);
            }
        }
        let mut found = self.states(rows)?;
        found.retain(|state| self.reached(state));
        if let Some(best) = found.into_iter().min_by(|a, b| a.cost.total_cmp(&b.cost)) {
            state = self.undo(best)?;
        }
        Ok(state)
    }

    /// Moves a number back towards its old value by bisection.
    fn pull(&mut self, mut state: State, feature: usize) -> Result<State> {
        let (origin, rule) = (self.origin[feature], &self.space.rules[feature]);
        if state.row[feature] == origin {
            return Ok(state);
        }
        let mut failed = origin;
        for _ in 0..HALVINGS {
            let value = self.space.allowed(feature, 0.5 * (failed + state.row[feature]));
            let done = value == failed || value == state.row[feature];
            if done || rule.cost * (state.row[feature] - failed).abs() < 1e-7 {
                break;
            }
            let mut row = state.row.clone();
            row[feature] = value;
            match self.states(vec![row])?.pop() {
                Some(found) if self.reached(&found) => state = found,
                Some(_) => failed = value,
                None => break,
            }
        }
        Ok(state)
    }

    /// Trades: one changed number goes back by a part, another one makes up for it.
    fn trade(&mut self, mut state: State) -> Result<State> {
        let numbers: Vec<usize> = (0..self.space.rules.len()).filter(|&i| !self.space.rules[i].fixed).collect();
        for &back in &numbers {
            for &forth in numbers.iter().filter(|&&forth| forth != back) {
                if state.row[back] == self.origin[back] {
                    break;
                }
                let (rule, extra) = (&self.space.rules[back], &self.space.rules[forth]);
                let mut rows = Vec::new();
                for part in [1.0, 0.5, 0.1] {
                    let value =
                        self.space.allowed(back, state.row[back] + part * (self.origin[back] - state.row[back]));
                    let saved = rule.cost * (state.row[back] - value).abs();
                    // What is saved pays for most of this.
                    for sign in [-1.0, 1.0] {
                        let mut row = state.row.clone();
                        row[back] = value;
                        row[forth] = self.space.allowed(forth, row[forth] + sign * 0.95 * saved / extra.cost);
                        if self.space.cost(self.origin, &row) < state.cost * (1.0 - 1e-6) {
                            rows.push(row);
                        }
                    }
                }
                let mut found = self.states(rows)?;
                found.retain(|next| self.reached(next));
                found.retain(|next| self.changed(next) <= self.options.changes);
                if let Some(best) = found.into_iter().min_by(|a, b| a.cost.total_cmp(&b.cost)) {
                    state = best;
                }
            }
        }
        Ok(state)
    }

    /// Number of features and blocks that have changed.
    fn changed(&self, state: &State) -> usize {
        self.space.changes(self.origin, &state.row).len()
    }
}

fn log_odds(p: f64) -> f64 {
    let p = p.clamp(1e-12, 1.0 - 1e-12);
    (p / (1.0 - p)).ln()
}
