//! A wish to stop, heard by everything that iterates.
//!
//! Solvers and training loops ask [`interrupted`] between iterations and end there as if their last iteration had been made. Whoever
//! asked for the work tells from the same answer that it is not finished.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Lets all work of the process heed this flag, which a signal handler raises for example. The first flag given stays.
///
/// ```standalone_crate
/// use std::sync::{Arc, atomic::{AtomicBool, Ordering}};
/// let flag = Arc::new(AtomicBool::new(false));
/// tove_optim::heed(flag.clone());
/// assert!(!tove_optim::interrupted());
/// flag.store(true, Ordering::Relaxed);
/// assert!(tove_optim::interrupted());
/// ```
pub fn heed(flag: Arc<AtomicBool>) {
    let _ = FLAG.set(flag); // the first one stays
}

/// Whether the flag of [`heed`] is raised, or the time limit of [`until`](crate::until) has passed; never, if there is neither.
#[inline]
pub fn interrupted() -> bool {
    FLAG.get().is_some_and(|flag| flag.load(Ordering::Relaxed)) || crate::out_of_time()
}
