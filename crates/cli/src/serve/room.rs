//! The memory of request bodies: a limit for all connections together.

use std::sync::Arc;

use axum::body::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes of a body that needs no place, and is read and answered on the thread that received it: the limit on connections
/// bounds them, and they must not wait for those who send much.
pub const SMALL: usize = 1 << 14;
/// Bytes of all larger bodies together. One of the largest allowed size always has room.
const ROOM: usize = 64 << 20;
/// Places are counted in pieces of this many bytes.
const PIECE: usize = 1 << 10;

/// The body of a request, with its place.
pub struct Body {
    pub bytes: Bytes,
    pub _place: Option<OwnedSemaphorePermit>,
}

/// What is left for bodies.
pub struct Room {
    pieces: Arc<Semaphore>,
    /// Pieces of a body that does not say how long it is.
    most: u32,
}

impl Room {
    /// Room for bodies of at most so many bytes each.
    pub fn new(largest: usize) -> Room {
        let pieces = |bytes: usize| bytes.div_ceil(PIECE).min(Semaphore::MAX_PERMITS).min(u32::MAX as usize);
        Room { pieces: Arc::new(Semaphore::new(pieces(largest.max(ROOM)))), most: pieces(largest) as u32 }
    }

    /// A place for a body of this length, kept until it is dropped; bodies of unknown length are taken for the largest.
    pub async fn place(&self, length: Option<usize>) -> Option<OwnedSemaphorePermit> {
        let pieces = match length {
            Some(length) if length <= SMALL => return None,
            Some(length) => length.div_ceil(PIECE).min(self.most as usize) as u32,
            None => self.most,
        };
        // The semaphore is never closed.
        Arc::clone(&self.pieces).acquire_many_owned(pieces).await.ok()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn bodies_wait_until_there_is_room() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let room = Room::new(10 << 20);
            let mut places = Vec::new();
            for _ in 0..6 {
                places.push(room.place(None).await.unwrap());
            }
            let full = tokio::time::timeout(Duration::from_millis(10), room.place(Some(9 << 20)));
            assert!(full.await.is_err());
            assert!(room.place(Some(SMALL)).await.is_none(), "small bodies wait for nobody");
            assert!(room.place(Some(3 << 20)).await.is_some());
            places.pop();
            assert!(room.place(Some(9 << 20)).await.is_some());
            // The largest body fits, whatever its size.
            drop(places);
            assert!(Room::new(usize::MAX).place(None).await.is_some());
        });
    }
}
