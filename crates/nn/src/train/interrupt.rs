//! Ctrl-C and SIGTERM as a flag that the training loop reads between steps.
//!
//! Handlers belong to the process, an interruption belongs to the fits that run when it comes: when the last of them has
//! ended, the flag is cleared, and later ones run normally.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag::{register, register_conditional_shutdown};

use crate::{Error, Result};

/// What the handlers raise.
struct Flags {
    /// Asks the loop to finish its step, save and return.
    stop: Arc<AtomicBool>,
    /// A further signal ends the program at once. It stays raised after the fit, until another one begins.
    last: Arc<AtomicBool>,
}

/// The flags, and the number of interruptible fits under way.
static FLAGS: OnceLock<Flags> = OnceLock::new();
static RUNNING: Mutex<usize> = Mutex::new(0);

/// A flag that Ctrl-C and SIGTERM raise: the loop finishes its step and saves. A second signal ends the program at once, with
/// the status 130 or 143.
///
/// [`Trainer::interruptible`](super::Trainer::interruptible) clears it when the fit has ended. A signal that comes between two
/// fits stops the next one after its first step: it may be meant for the program as a whole, as while data are read. Other work that reads it clears it
/// itself when the interruption has been dealt with.
///
/// # Errors
/// If the system refuses the handler.
pub fn interrupt_flag() -> Result<Arc<AtomicBool>> {
    if let Some(flags) = FLAGS.get() {
        return Ok(flags.stop.clone());
    }
    let _once = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(flags) = FLAGS.get() {
        return Ok(flags.stop.clone());
    }
    let flags = Flags { stop: Arc::default(), last: Arc::default() };
    let install = || {
        for signal in [SIGINT, SIGTERM] {
            // Handlers act in this order: a signal that follows another ends the program, the first raises both flags.
            register_conditional_shutdown(signal, 128 + signal, flags.last.clone())?;
            register(signal, flags.last.clone())?;
            register(signal, flags.stop.clone())?;
        }
        Ok::<(), std::io::Error>(())
    };
    install().map_err(|error| Error::setting("Trainer", "interruptible", format!("failed: {error}")))?;
    Ok(FLAGS.get_or_init(|| flags).stop.clone())
}

/// One interruptible fit, from its beginning to its end.
pub(super) struct Scope(());

impl Scope {
    pub(super) fn begin() -> Scope {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        *running += 1;
        if let Some(flags) = FLAGS.get()
            && !flags.stop.load(Ordering::Relaxed)
        {
            flags.last.store(false, Ordering::Relaxed);
        }
        Scope(())
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        *running -= 1;
        // Fits on other threads that have not seen the flag yet must see it.
        if let (0, Some(flags)) = (*running, FLAGS.get()) {
            flags.stop.store(false, Ordering::Relaxed);
        }
    }
}
