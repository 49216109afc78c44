//! Warnings about results that are usable but may be poor.
//!
//! A fit that did not converge, separable classes or an ill-conditioned matrix do not cause an error, but are always
//! reported: every warning is stored in the model's [`Summary`](crate::Summary) and passed to one handler. The default
//! handler writes to standard error.
//!
//! ```
//! use std::sync::{Arc, Mutex};
//! let warnings = Arc::new(Mutex::new(Vec::new()));
//! let sink = Arc::clone(&warnings);
//! tove_learn::on_warning(move |text| sink.lock().unwrap().push(text.to_owned()));
//! tove_learn::warn("Lasso: not converged");
//! assert_eq!(*warnings.lock().unwrap(), ["Lasso: not converged"]);
//! ```

use std::cell::Cell;
use std::sync::{Arc, Mutex, PoisonError};

thread_local! {
    static SILENCED: Cell<usize> = const { Cell::new(0) };
}

type Handler = Arc<dyn Fn(&str) + Send + Sync>;

static HANDLER: Mutex<Option<Handler>> = Mutex::new(None);

/// Sets the handler for all further warnings of this process.
pub fn on_warning(handler: impl Fn(&str) + Send + Sync + 'static) {
    *HANDLER.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(handler));
}

/// Passes a warning to the handler.
pub fn warn(text: &str) {
    if SILENCED.get() > 0 {
        return;
    }
    let handler = HANDLER.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match handler {
        Some(handler) => handler(text),
        None => eprintln!("warning: {text}"),
    }
}

/// Whether warnings are suppressed on this thread.
pub(crate) fn is_quiet() -> bool {
    SILENCED.get() > 0
}

/// Runs a closure without reporting its warnings, for intermediate fits. They are still stored in the models'
/// summaries.
///
/// ```
/// assert_eq!(tove_learn::quietly(|| { tove_learn::warn("not converged"); 1 }), 1);
/// ```
pub fn quietly<R>(work: impl FnOnce() -> R) -> R {
    struct Voice;
    impl Drop for Voice {
        fn drop(&mut self) {
            SILENCED.set(SILENCED.get() - 1);
        }
    }
    SILENCED.set(SILENCED.get() + 1);
    let _voice = Voice;
    work()
}
