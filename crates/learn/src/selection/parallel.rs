//! Pieces of work side by side.

use std::sync::{Mutex, PoisonError};

use tove_optim::{deadline, until};
use tove_tensor::pool::parallel_for;

/// `work(0) … work(tasks − 1)` on the threads there are; results in order, so they do not depend on how many those are.
pub(crate) fn in_parallel<T: Send>(tasks: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let slots: Vec<Mutex<Option<T>>> = (0..tasks).map(|_| Mutex::new(None)).collect();
    let (limit, quiet) = (deadline(), crate::warning::is_quiet());
    parallel_for(tasks, &|task| {
        // The limit and the silence are matters of the calling thread, of which others know nothing.
        let limited = || until(limit, || work(task));
        let result = if quiet { crate::quietly(limited) } else { limited() };
        *slots[task].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    });
    // Each slot is filled: every task runs exactly once.
    slots.into_iter().filter_map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
}
