//! Ctrl-C as a flag that the training loop reads between steps.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use crate::{Error, Result};

/// A flag that Ctrl-C raises: the loop finishes its step and saves. A second Ctrl-C ends the program at once.
///
/// # Errors
/// If the system refuses the handler.
pub fn interrupt_flag() -> Result<Arc<AtomicBool>> {
    static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    if let Some(flag) = FLAG.get() {
        return Ok(flag.clone());
    }
    let flag = Arc::new(AtomicBool::new(false));
    let register = || {
        // The first registered acts first: a flag already raised ends the program, otherwise it is raised.
        signal_hook::flag::register_conditional_shutdown(signal_hook::consts::SIGINT, 130, flag.clone())?;
        signal_hook::flag::register(signal_hook::consts::SIGINT, flag.clone())
    };
    register().map_err(|error| Error::setting("Trainer", "interruptible", format!("failed: {error}")))?;
    Ok(FLAG.get_or_init(|| flag).clone())
}
