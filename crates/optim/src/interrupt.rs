//! A wish to stop, heard by everything that iterates.
//!
//! Solvers and training loops ask [`interrupted`] between iterations and end there as if their last iteration had been made. Whoever
//! asked for the work tells from the same answer that it is not finished.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Makes all work of the process end when this flag is raised, for example by a signal handler. The first flag given stays.
///
/// ```standalone_crate
/// use std::sync::{Arc, atomic::{AtomicBool, Ordering}};
/// let flag = Arc::new(AtomicBool::new(false));
/// tove_optim::interrupt_on(flag.clone());
/// assert!(!tove_optim::interrupted());
/// flag.store(true, Ordering::Relaxed);
/// assert!(tove_optim::interrupted());
/// ```
pub fn interrupt_on(flag: Arc<AtomicBool>) {
    let _ = FLAG.set(flag); // the first one stays
}

/// Whether the flag of [`interrupt_on`] is raised, or the time limit of [`until`](crate::until) has passed; never, if there is neither.
#[inline]
pub fn interrupted() -> bool {
    FLAG.get().is_some_and(|flag| flag.load(Ordering::Relaxed)) || crate::out_of_time()
}
