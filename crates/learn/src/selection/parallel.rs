//! Parallel tasks with ordered results.

use std::sync::{Mutex, PoisonError};

use tove_optim::{deadline, until};
use tove_tensor::pool::parallel_for;

/// Runs `work(0) … work(tasks − 1)` in parallel and returns the results in order, independent of the number of threads.
pub(crate) fn in_parallel<T: Send>(tasks: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let slots: Vec<Mutex<Option<T>>> = (0..tasks).map(|_| Mutex::new(None)).collect();
    let (limit, quiet) = (deadline(), crate::warning::is_quiet());
    parallel_for(tasks, &|task| {
        // Time limit and suppressed warnings are thread-local and must be passed on.
        let limited = || until(limit, || work(task));
        let result = if quiet { crate::quietly(limited) } else { limited() };
        *slots[task].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    });
    // Every task runs exactly once, so each slot is filled.
    slots.into_iter().filter_map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
}
