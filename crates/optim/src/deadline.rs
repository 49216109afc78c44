//! Time limits for work that iterates.

use std::cell::Cell;
use std::time::Instant;

thread_local! {
    static DEADLINE: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Runs `work` with a time limit: from `deadline` on, [`interrupted`](crate::interrupted) is true on this thread, so that
/// solvers and training loops end after their present iteration. Within another limit the earlier one holds; `None` sets no
/// limit of its own.
///
/// ```
/// use std::time::Instant;
/// use tove_optim::{interrupted, out_of_time, until};
/// assert!(until(Some(Instant::now()), || interrupted() && out_of_time()));
/// assert!(!until(None, interrupted));
/// ```
pub fn until<R>(deadline: Option<Instant>, work: impl FnOnce() -> R) -> R {
    /// Puts the limit outside back, also when the work panics.
    struct Outer(Option<Instant>);
    impl Drop for Outer {
        fn drop(&mut self) {
            DEADLINE.set(self.0);
        }
    }
    let outer = Outer(DEADLINE.get());
    let earliest = match (outer.0, deadline) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    DEADLINE.set(earliest);
    work()
}

/// The time limit of [`until`] on this thread, for work that is handed to other threads: they know nothing of it unless they
/// begin with [`until`] of what was found here.
///
/// ```
/// use std::time::Instant;
/// use tove_optim::{deadline, out_of_time, until};
/// let late = until(Some(Instant::now()), || {
///     let limit = deadline();
///     std::thread::scope(|scope| scope.spawn(move || until(limit, out_of_time)).join())
/// });
/// assert!(late.unwrap());
/// ```
pub fn deadline() -> Option<Instant> {
    DEADLINE.get()
}

/// Whether the time limit of [`until`] has passed on this thread; never, if there is none.
#[inline]
pub fn out_of_time() -> bool {
    DEADLINE.get().is_some_and(|deadline| Instant::now() >= deadline)
}
