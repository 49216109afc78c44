//! The one thread pool of the process: fork and join with workers that spin for a moment before they sleep.
//!
//! A region runs a number of independent tasks. The caller takes part, so that one thread means no
//! synchronisation at all. Work is always cut by shape, never by the number of threads: which thread runs a task
//! changes, what a task computes does not, and results are bit-identical for any thread count.
//!
//! Waking a sleeping thread takes tens of microseconds, as long as a whole training step of a small net, so a worker
//! spins for about 100 µs after its last job. A region inside a region, or one begun while another thread's is
//! under way, runs on the thread that asked for it: the processor is never oversubscribed.
//!
//! ```
//! tove_tensor::set_num_threads(2);
//! assert_eq!(tove_tensor::num_threads(), 2);
//! ```
#![allow(unsafe_code)]

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering::SeqCst};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How long an idle worker looks for the next job before it goes to sleep.
const SPIN: Duration = Duration::from_micros(100);

/// A parallel region; lives on the stack of the thread that opened it.
struct Job<'a> {
    body: &'a (dyn Fn(usize) + Sync),
    tasks: usize,
    next: AtomicUsize,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl Job<'_> {
    /// Takes tasks until none is left.
    fn work(&self) {
        loop {
            let task = self.next.fetch_add(1, SeqCst);
            if task >= self.tasks {
                return;
            }
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| (self.body)(task))) {
                self.next.store(self.tasks, SeqCst);
                *lock(&self.panic) = Some(panic);
                return;
            }
        }
    }
}

struct Pool {
    /// The open region, or null.
    job: AtomicPtr<Job<'static>>,
    /// Workers that may be looking at `job`.
    inside: AtomicUsize,
    /// Held by the thread whose region is open.
    busy: AtomicBool,
    /// Threads a region may use, the caller among them.
    threads: AtomicUsize,
    sleepers: AtomicUsize,
    spawned: Mutex<usize>,
    bed: Mutex<()>,
    bell: Condvar,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn pool() -> &'static Pool {
    static POOL: OnceLock<Pool> = OnceLock::new();
    POOL.get_or_init(|| Pool {
        job: AtomicPtr::new(std::ptr::null_mut()),
        inside: AtomicUsize::new(0),
        busy: AtomicBool::new(false),
        threads: AtomicUsize::new(default_threads()),
        sleepers: AtomicUsize::new(0),
        spawned: Mutex::new(0),
        bed: Mutex::new(()),
        bell: Condvar::new(),
    })
}

fn default_threads() -> usize {
    let asked = std::env::var("TOVE_NUM_THREADS").ok().and_then(|text| text.trim().parse().ok());
    asked.filter(|&threads| threads > 0).unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// The number of threads that parallel work may use, the calling one included. Initially `TOVE_NUM_THREADS`, or the
/// number of cores.
pub fn num_threads() -> usize {
    pool().threads.load(SeqCst)
}

/// Sets the number of threads for the whole process; zero means the default. Results do not depend on it.
pub fn set_num_threads(threads: usize) {
    let threads = if threads == 0 { default_threads() } else { threads };
    pool().threads.store(threads, SeqCst);
}

/// Runs `body(0) … body(tasks - 1)`, each exactly once, in any order, and returns when all are done. A panic in a task
/// is raised again here.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// let sum = AtomicUsize::new(0);
/// tove_tensor::pool::parallel_for(5, &|task| {
///     sum.fetch_add(task, Ordering::Relaxed);
/// });
/// assert_eq!(sum.into_inner(), 10);
/// ```
pub fn parallel_for(tasks: usize, body: &(dyn Fn(usize) + Sync)) {
    let pool = pool();
    let threads = pool.threads.load(SeqCst).min(tasks);
    if threads <= 1 || pool.busy.swap(true, SeqCst) {
        (0..tasks).for_each(body);
        return;
    }
    pool.spawn_workers(threads - 1);
    let job = Job { body, tasks, next: AtomicUsize::new(0), panic: Mutex::new(None) };
    pool.open(&job);
    job.work();
    pool.close();
    if let Some(panic) = lock(&job.panic).take() {
        resume_unwind(panic);
    }
}

impl Pool {
    /// Publishes a region; must be followed by `close` before `job` goes away.
    fn open(&self, job: &Job<'_>) {
        self.job.store(std::ptr::from_ref(job).cast_mut().cast(), SeqCst);
        if self.sleepers.load(SeqCst) > 0 {
            drop(lock(&self.bed));
            self.bell.notify_all();
        }
    }

    /// Waits until no worker can still see the region.
    fn close(&self) {
        self.job.store(std::ptr::null_mut(), SeqCst);
        let mut spins = 0u32;
        while self.inside.load(SeqCst) != 0 {
            spins += 1;
            if spins.is_multiple_of(4096) { std::thread::yield_now() } else { std::hint::spin_loop() }
        }
        self.busy.store(false, SeqCst);
    }

    fn spawn_workers(&'static self, wanted: usize) {
        let mut spawned = lock(&self.spawned);
        while *spawned < wanted {
            let index = *spawned;
            let worker = std::thread::Builder::new().name(format!("tove-{index}"));
            if worker.spawn(move || self.worker(index)).is_err() {
                return; // Out of threads: the caller does all the work.
            }
            *spawned += 1;
        }
    }

    fn worker(&self, index: usize) {
        let mut idle = Instant::now();
        let mut spins = 0u32;
        loop {
            let wanted = !self.job.load(SeqCst).is_null() && index + 1 < self.threads.load(SeqCst);
            if wanted {
                self.take_part();
                idle = Instant::now();
                // The region stays published while its last task runs elsewhere; do not hammer the counters meanwhile.
                while !self.job.load(SeqCst).is_null() && idle.elapsed() < SPIN {
                    std::hint::spin_loop();
                }
                continue;
            }
            spins = spins.wrapping_add(1);
            if spins.is_multiple_of(64) && idle.elapsed() > SPIN {
                self.sleep();
                idle = Instant::now();
            } else {
                std::hint::spin_loop();
            }
        }
    }

    fn take_part(&self) {
        self.inside.fetch_add(1, SeqCst);
        let job = self.job.load(SeqCst);
        if !job.is_null() {
            // SAFETY: the opener keeps the job alive until, after unpublishing it, it has seen `inside` at zero. We
            // raised `inside` before we read the pointer, so it cannot have seen that yet.
            unsafe { (*job).work() };
        }
        self.inside.fetch_sub(1, SeqCst);
    }

    fn sleep(&self) {
        let bed = lock(&self.bed);
        self.sleepers.fetch_add(1, SeqCst);
        if self.job.load(SeqCst).is_null() {
            // A missed bell would cost time, never a result: the opener does the work alone.
            drop(self.bell.wait(bed).unwrap_or_else(PoisonError::into_inner));
        }
        self.sleepers.fetch_sub(1, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_runs_once() {
        for threads in [1, 2, 3, 8] {
            set_num_threads(threads);
            for tasks in [0, 1, 2, 7, 1000] {
                let counts: Vec<AtomicUsize> = (0..tasks).map(|_| AtomicUsize::new(0)).collect();
                parallel_for(tasks, &|i| {
                    counts[i].fetch_add(1, SeqCst);
                });
                assert!(counts.iter().all(|c| c.load(SeqCst) == 1));
            }
        }
        set_num_threads(0);
    }

    #[test]
    fn nested_regions_run_inline() {
        let total = AtomicUsize::new(0);
        parallel_for(4, &|_| {
            parallel_for(5, &|_| {
                total.fetch_add(1, SeqCst);
            })
        });
        assert_eq!(total.load(SeqCst), 20);
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_pool_survives() {
        let caught = catch_unwind(|| parallel_for(8, &|i| assert!(i != 5, "task five")));
        assert!(caught.is_err());
        let total = AtomicUsize::new(0);
        parallel_for(8, &|_| {
            total.fetch_add(1, SeqCst);
        });
        assert_eq!(total.load(SeqCst), 8);
    }
}
