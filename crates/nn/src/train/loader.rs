//! Batches made ahead of their use, on a thread of their own.
//!
//! Making a batch is a function of its indices and a key, so who makes it, and when, changes nothing in the results.

use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use tove_data::{Batch, Dataset};
use tove_tensor::Key;

use crate::Result;

/// Batches that take longer than this to make are made on another thread; handing one over costs a tenth of it.
const WORTH_A_THREAD: Duration = Duration::from_micros(100);
/// Number of batches made ahead.
const AHEAD: usize = 2;

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Go on.
    Continue,
    /// Stop here.
    Stop,
}

/// Calls `take` with every batch, in order, until it says stop.
pub(super) fn for_each_batch<D: Dataset + ?Sized>(
    data: &D,
    batches: &[&[usize]],
    key: Key,
    take: &mut dyn FnMut(Batch) -> Result<Flow>,
) -> Result<()> {
    let Some((first, rest)) = batches.split_first() else { return Ok(()) };
    let begin = Instant::now();
    let batch = data.batch(first, key)?;
    let slow = begin.elapsed() > WORTH_A_THREAD;
    if take(batch)? == Flow::Stop {
        return Ok(());
    }
    if !slow {
        for indices in rest {
            if take(data.batch(indices, key)?)? == Flow::Stop {
                return Ok(());
            }
        }
        return Ok(());
    }
    std::thread::scope(|scope| {
        let (send, receive) = sync_channel(AHEAD);
        scope.spawn(move || {
            for indices in rest {
                let batch = data.batch(indices, key);
                let failed = batch.is_err();
                // The receiver is gone when training has stopped.
                if send.send(batch).is_err() || failed {
                    return;
                }
            }
        });
        for batch in receive {
            if take(batch?)? == Flow::Stop {
                break;
            }
        }
        Ok(())
    })
}
