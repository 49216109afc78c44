//! Counts what a computation costs: calls per operation, floating-point operations, and bytes of tensor memory.
//!
//! Statements about cost are tested with this meter, never with a clock.
//!
//! ```
//! use tove_tensor::{Tensor, meter};
//! let (a, b) = (Tensor::from_slice(&[1.0, 2.0]).reshape([1, 2]), Tensor::from_slice(&[3.0, 4.0]).reshape([2, 1]));
//! let (product, cost) = meter::measure(|| a.matmul(&b));
//! assert_eq!(product.item::<f64>(), 11.0);
//! assert_eq!((cost.calls("matmul"), cost.flops()), (1, 4));
//! ```

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

/// What was counted between the beginning and the end of [`measure`].
#[derive(Clone, Debug, Default)]
pub struct Cost {
    calls: BTreeMap<&'static str, (u64, u64)>,
    live: i64,
    peak: i64,
}

impl Cost {
    /// How often the operation ran.
    pub fn calls(&self, op: &str) -> u64 {
        self.calls.get(op).map_or(0, |counts| counts.0)
    }

    /// Number of operations run, of any kind.
    pub fn total_calls(&self) -> u64 {
        self.calls.values().map(|counts| counts.0).sum()
    }

    /// Floating-point operations in total; a multiply-add counts as two.
    pub fn flops(&self) -> u64 {
        self.calls.values().map(|counts| counts.1).sum()
    }

    /// Floating-point operations of one kind of operation.
    pub fn flops_of(&self, op: &str) -> u64 {
        self.calls.get(op).map_or(0, |counts| counts.1)
    }

    /// The largest number of bytes of tensor memory held at once beyond what was held at the beginning.
    pub fn peak_bytes(&self) -> u64 {
        self.peak.max(0) as u64
    }

    /// Bytes still held at the end beyond what was held at the beginning (negative if memory was given back).
    pub fn held_bytes(&self) -> i64 {
        self.live
    }

    /// Names of the operations that ran, with their number of calls.
    pub fn operations(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.calls.iter().map(|(&name, counts)| (name, counts.0))
    }
}

thread_local! {
    static ON: Cell<bool> = const { Cell::new(false) };
    static COST: RefCell<Vec<Cost>> = const { RefCell::new(Vec::new()) };
}

/// Runs `work` on this thread and reports what it cost. Measurements may be nested.
///
/// ```
/// use tove_tensor::{Tensor, meter};
/// let x = Tensor::linspace(0.0, 1.0, 1024);
/// let (y, cost) = meter::measure(|| x.sin().exp());
/// assert_eq!((cost.calls("sin"), cost.total_calls()), (1, 2));
/// assert_eq!(cost.held_bytes(), 8 * y.numel() as i64);
/// assert!(cost.peak_bytes() >= 8 * 1024);
/// ```
pub fn measure<R>(work: impl FnOnce() -> R) -> (R, Cost) {
    struct Stop;
    impl Drop for Stop {
        fn drop(&mut self) {
            let empty = COST.with_borrow_mut(|stack| {
                let done = stack.pop();
                if let (Some(done), Some(outer)) = (done, stack.last_mut()) {
                    outer.absorb(&done);
                }
                stack.is_empty()
            });
            ON.set(!empty);
        }
    }
    COST.with_borrow_mut(|stack| stack.push(Cost::default()));
    ON.set(true);
    let stop = Stop;
    let result = work();
    let cost = COST.with_borrow(|stack| stack.last().cloned()).unwrap_or_default();
    drop(stop);
    (result, cost)
}

impl Cost {
    fn absorb(&mut self, inner: &Cost) {
        for (name, counts) in &inner.calls {
            let own = self.calls.entry(name).or_default();
            *own = (own.0 + counts.0, own.1 + counts.1);
        }
        self.peak = self.peak.max(self.live + inner.peak);
        self.live += inner.live;
    }
}

/// Counts work that is done outside of tensor operations; nothing happens unless somebody measures on this thread.
///
/// ```
/// use tove_tensor::meter;
/// let (_, cost) = meter::measure(|| meter::record("solve", 2, 100));
/// assert_eq!((cost.calls("solve"), cost.flops_of("solve")), (2, 100));
/// ```
pub fn record(op: &'static str, calls: u64, flops: u64) {
    if on() && calls > 0 {
        add(op, calls, flops);
    }
}

#[inline]
pub(crate) fn on() -> bool {
    ON.get()
}

#[cold]
pub(crate) fn count(op: &'static str, flops: u64) {
    add(op, 1, flops);
}

fn add(op: &'static str, calls: u64, flops: u64) {
    COST.with_borrow_mut(|stack| {
        if let Some(cost) = stack.last_mut() {
            let counts = cost.calls.entry(op).or_default();
            *counts = (counts.0 + calls, counts.1 + flops);
        }
    });
}

#[inline]
pub(crate) fn allocated(bytes: usize) {
    if on() {
        shift(bytes as i64);
    }
}

#[inline]
pub(crate) fn released(bytes: usize) {
    // A buffer may be dropped while the thread's storage is being torn down.
    if ON.try_with(Cell::get).unwrap_or(false) {
        shift(-(bytes as i64));
    }
}

#[cold]
fn shift(bytes: i64) {
    COST.with_borrow_mut(|stack| {
        if let Some(cost) = stack.last_mut() {
            cost.live += bytes;
            cost.peak = cost.peak.max(cost.live);
        }
    });
}
