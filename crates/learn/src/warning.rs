//! Warnings: what a user should know although there is a result.
//!
//! A fit that did not converge, separable classes or a badly conditioned matrix do not stop the work, but are never passed
//! over in silence: every warning is kept in the model's [`Summary`](crate::Summary) and is told to one handler, which
//! writes it to standard error unless it is replaced.
//!
//! ```
//! use std::sync::{Arc, Mutex};
//! let heard = Arc::new(Mutex::new(Vec::new()));
//! let ear = Arc::clone(&heard);
//! tove_learn::on_warning(move |text| ear.lock().unwrap().push(text.to_owned()));
//! tove_learn::warn("Lasso: not converged");
//! assert_eq!(*heard.lock().unwrap(), ["Lasso: not converged"]);
//! ```

use std::cell::Cell;
use std::sync::{Arc, Mutex, PoisonError};

thread_local! {
    static SILENCED: Cell<usize> = const { Cell::new(0) };
}

type Handler = Arc<dyn Fn(&str) + Send + Sync>;

static HANDLER: Mutex<Option<Handler>> = Mutex::new(None);

/// Has all further warnings of this process told to `handler`.
pub fn on_warning(handler: impl Fn(&str) + Send + Sync + 'static) {
    *HANDLER.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(handler));
}

/// Tells a warning to the handler.
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

/// Whether warnings of this thread are told to nobody.
pub(crate) fn is_quiet() -> bool {
    SILENCED.get() > 0
}

/// Runs something whose warnings are told to nobody: fits that are a means, not the result. They stay in the models' summaries.
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
