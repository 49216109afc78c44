//! Concurrent requests are predicted in batches.
//!
//! If the last batch had several requests, the next request starts a batch, which is predicted when all requests that have arrived
//! by then are parsed: under load, one of every client. Otherwise a request is predicted immediately, and one in [`PROBE`] starts a
//! batch to detect concurrent clients. Slow models run on worker threads, one per core; requests that arrive while all are busy form
//! the next batches. Predictions do not depend on the batch (see `tove::tabular`).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, Semaphore, oneshot};
use tove::learn::Rows;
use tove::tabular::{Answers, TabularModel};

use super::counters::Counters;
use super::refusal::{Refusal, guarded};

/// What may run on a thread that reads requests: the time it will probably take.
const MOMENT: Duration = Duration::from_millis(1);

/// Without company, one request in so many looks for it.
const PROBE: usize = 16;

/// A request that waits for its predictions.
struct Waiting {
    rows: Rows,
    reply: oneshot::Sender<Result<Answers, Refusal>>,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    rows: usize,
    /// Whether somebody is about to take the next batch.
    called: bool,
    /// Whether the last batch that was waited for had several requests.
    crowded: bool,
    /// Requests since then that were answered at once.
    lonely: usize,
    /// Rows and time of the last batch.
    last: Option<(usize, Duration)>,
}

impl Queue {
    /// Whether others are likely to ask at the same time.
    fn expects_company(&mut self) -> bool {
        if self.called || self.crowded {
            return true;
        }
        self.lonely = (self.lonely + 1) % PROBE;
        self.lonely == 0
    }

    /// Takes requests from the front, up to so many rows but at least one.
    fn take(&mut self, most: usize) -> Vec<Waiting> {
        let (mut batch, mut rows) = (Vec::new(), 0);
        while let Some(next) = self.waiting.pop_front() {
            if !batch.is_empty() && rows + next.rows.len() > most {
                self.waiting.push_front(next);
                break;
            }
            rows += next.rows.len();
            batch.push(next);
        }
        self.rows -= rows;
        self.called = !self.waiting.is_empty();
        self.crowded = batch.len() > 1 || self.called;
        batch
    }
}

/// The model behind a queue.
pub struct Batches {
    model: Arc<TabularModel>,
    counters: Arc<Counters>,
    queue: Mutex<Queue>,
    /// Told when a batch has all the rows it may have.
    full: Notify,
    most: usize,
    wait: Duration,
    slots: Arc<Semaphore>,
}

impl Batches {
    /// Batches of at most so many rows, each waiting so long for more.
    pub fn new(model: Arc<TabularModel>, counters: Arc<Counters>, most: usize, wait: Duration) -> Batches {
        let slots = Arc::new(Semaphore::new(tove::tensor::num_threads()));
        Batches { model, counters, queue: Mutex::default(), full: Notify::new(), most, wait, slots }
    }

    /// A place among those that work for long. Who gives up while waiting for it leaves the queue.
    pub async fn slot(&self) -> Result<tokio::sync::OwnedSemaphorePermit, Refusal> {
        Arc::clone(&self.slots).acquire_owned().await.map_err(|_| ending())
    }

    /// The answers to the rows of a request, in a batch with others if it is small and there are any.
    pub async fn ask(self: &Arc<Batches>, rows: Rows) -> Result<Answers, Refusal> {
        let (reply, answers) = oneshot::channel();
        let request = Waiting { rows, reply };
        let small = request.rows.len() < self.most;
        if !small || (self.wait.is_zero() && !self.queue().expects_company()) {
            self.run(vec![request]).await;
        } else {
            self.join(request);
        }
        answers.await.unwrap_or_else(|_| Err(ending()))
    }

    fn join(self: &Arc<Batches>, request: Waiting) {
        let (call, full) = {
            let mut queue = self.queue();
            queue.rows += request.rows.len();
            queue.waiting.push_back(request);
            (!std::mem::replace(&mut queue.called, true), queue.rows >= self.most)
        };
        if call {
            // A task of its own: who asked first may give up.
            tokio::spawn(Arc::clone(self).gather());
        }
        if full {
            self.full.notify_one();
        }
    }

    /// Waits for the others and answers all.
    async fn gather(self: Arc<Batches>) {
        if self.wait.is_zero() {
            // Until the requests that have arrived are read.
            tokio::task::yield_now().await;
        } else {
            let end = tokio::time::Instant::now() + self.wait;
            while self.queue().rows < self.most {
                tokio::select! {
                    () = self.full.notified() => {}
                    () = tokio::time::sleep_until(end) => break,
                }
            }
        }
        loop {
            let rows = self.queue().rows.min(self.most);
            // While all slots are taken the batch grows.
            let slot = if self.is_long(rows) { self.slot().await.ok() } else { None };
            let (batch, more) = {
                let mut queue = self.queue();
                (queue.take(self.most), queue.called)
            };
            match slot {
                None => self.work(batch),
                Some(slot) => {
                    let batches = Arc::clone(&self);
                    // Nobody waits for the thread: the answers are sent.
                    drop(tokio::task::spawn_blocking(move || {
                        batches.work(batch);
                        drop(slot);
                    }));
                }
            }
            if !more {
                return;
            }
        }
    }

    /// Runs a batch here or, if it takes long, on a thread of its own.
    async fn run(self: &Arc<Batches>, batch: Vec<Waiting>) {
        if !self.is_long(batch.iter().map(|request| request.rows.len()).sum()) {
            return self.work(batch);
        }
        if let Ok(slot) = self.slot().await {
            let batches = Arc::clone(self);
            drop(tokio::task::spawn_blocking(move || {
                batches.work(batch);
                drop(slot);
            }));
        }
    }

    /// Whether so many rows would take longer than a moment, estimated from the last batch.
    fn is_long(&self, rows: usize) -> bool {
        let last = self.queue().last;
        last.is_none_or(|(before, time)| time.mul_f64((rows as f64 / before.max(1) as f64).max(1.0)) > MOMENT)
    }

    /// Answers a batch, without those who have given up.
    fn work(&self, mut batch: Vec<Waiting>) {
        batch.retain(|request| !request.reply.is_closed());
        if batch.is_empty() {
            return;
        }
        let parts: Vec<&Rows> = batch.iter().map(|request| &request.rows).collect();
        let rows = parts.iter().map(|rows| rows.len()).sum();
        self.counters.batch(batch.len(), rows);
        let start = Instant::now();
        let answers = self.together(&parts);
        self.queue().last = Some((rows, start.elapsed()));
        for (request, answers) in batch.into_iter().zip(answers) {
            let _ = request.reply.send(answers); // who has given up hears nothing
        }
    }

    /// The answers to the rows of a request that is large enough to be a batch, on this thread.
    pub fn alone(&self, rows: &Rows) -> Result<Answers, Refusal> {
        self.counters.batch(1, rows.len());
        self.together(&[rows]).pop().unwrap_or_else(|| Err(Refusal::fault("the model gave no answer")))
    }

    /// The answers to all parts. What fails together is asked for one by one, so that it is the part at fault that fails.
    fn together(&self, parts: &[&Rows]) -> Vec<Result<Answers, Refusal>> {
        let ask = |parts: &[&Rows]| guarded(|| Ok(self.model.ask_together(parts)?));
        match ask(parts) {
            Ok(answers) => answers.into_iter().map(Ok).collect(),
            Err(refusal) if parts.len() == 1 => vec![Err(refusal)],
            Err(_) => parts
                .iter()
                .map(|&part| ask(&[part])?.pop().ok_or_else(|| Refusal::fault("the model gave no answer")))
                .collect(),
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cold]
fn ending() -> Refusal {
    Refusal::fault("the server is ending")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use tove::data::table::CsvOptions;
    use tove::tabular::{Candidate, Plan};
    use tove::tensor::Tensor;

    fn batches(most: usize, wait: Duration) -> (Arc<Batches>, Arc<Counters>) {
        let mut text = "a,b,y\n".to_owned();
        (0..40).for_each(|i| text.push_str(&format!("{i},{},{}\n", i * 7 % 11, 3 * i)));
        let (table, _) = CsvOptions::new().read_bytes(text.as_bytes()).unwrap();
        let plan = Plan::new("y").folds(0);
        let model = plan.fit(&table, &[Candidate::named("Ridge").unwrap()], &mut |_| {}).unwrap().model;
        let counters = Arc::new(Counters::default());
        (Arc::new(Batches::new(Arc::new(model), Arc::clone(&counters), most, wait)), counters)
    }

    fn rows(count: usize, value: f64) -> Rows {
        Tensor::full([count, 2], value, tove::tensor::DType::F64).into()
    }

    fn values(answers: &Result<Answers, Refusal>) -> Vec<f64> {
        answers.as_ref().unwrap().values.to_vec::<f64>()
    }

    #[test]
    fn requests_that_wait_are_answered_in_one_batch_and_none_gets_another_s_answer() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (batches, counters) = batches(64, Duration::from_millis(300));
        let alone: Vec<Vec<f64>> =
            (0..10).map(|i| values(&batches.together(&[&rows(1 + i % 3, i as f64)])[0])).collect();
        let found = runtime.block_on(async {
            let asked = (0..10).map(|i| {
                let batches = Arc::clone(&batches);
                tokio::spawn(async move { batches.ask(rows(1 + i % 3, i as f64)).await })
            });
            let mut found = Vec::new();
            for task in asked.collect::<Vec<_>>() {
                found.push(values(&task.await.unwrap()));
            }
            found
        });
        assert_eq!(found, alone);
        let text = counters.text();
        assert!(text.contains("tove_batches_total 1\n") && text.contains("tove_joined_requests_total 10\n"), "{text}");
        assert!(text.contains("tove_batch_rows_sum 19\n"), "{text}");
    }

    #[test]
    fn a_crowd_is_noticed_and_its_end_too() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (batches, counters) = batches(64, Duration::ZERO);
        let ask = |count: usize| {
            let asked = (0..count).map(|_| {
                let batches = Arc::clone(&batches);
                tokio::spawn(async move { values(&batches.ask(rows(1, 1.0)).await).len() })
            });
            asked.collect::<Vec<_>>()
        };
        runtime.block_on(async {
            // The request that looks for company finds all that come after it.
            for task in ask(PROBE + 20) {
                assert_eq!(task.await.unwrap(), 1);
            }
            assert!(batches.queue().crowded);
            assert!(counters.text().contains("tove_joined_requests_total 21\n"), "{}", counters.text());
            for task in ask(1) {
                assert_eq!(task.await.unwrap(), 1);
            }
            assert!(!batches.queue().crowded);
        });
    }

    #[test]
    fn a_batch_has_no_more_rows_than_it_may() {
        let (batches, _) = batches(4, Duration::ZERO);
        let mut queue = Queue::default();
        for count in [3, 2, 1, 1, 9, 1] {
            let request = Waiting { rows: rows(count, 1.0), reply: oneshot::channel().0 };
            queue.rows += count;
            queue.waiting.push_back(request);
        }
        let mut sizes = Vec::new();
        while !queue.waiting.is_empty() {
            sizes.push(queue.take(batches.most).iter().map(|request| request.rows.len()).collect::<Vec<_>>());
        }
        assert_eq!(sizes, [vec![3], vec![2, 1, 1], vec![9], vec![1]]);
        assert_eq!((queue.rows, queue.called, queue.crowded), (0, false, false));
    }

    #[test]
    fn what_is_wrong_with_one_part_costs_the_others_nothing() {
        let (batches, _) = batches(64, Duration::ZERO);
        let (good, wrong) = (rows(2, 1.0), Rows::from(Tensor::full([1, 2], f64::NAN, tove::tensor::DType::F64)));
        let answers = batches.together(&[&good, &wrong, &good]);
        assert_eq!(values(&answers[0]), values(&answers[2]));
        assert_eq!(answers[1].as_ref().unwrap_err().status, 400);
    }

    #[test]
    fn a_batch_waits_as_long_as_it_is_told_unless_it_is_full() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (batches, counters) = batches(3, Duration::from_secs(3600));
        runtime.block_on(async {
            let first = tokio::spawn({
                let batches = Arc::clone(&batches);
                async move { batches.ask(rows(1, 1.0)).await }
            });
            tokio::task::yield_now().await;
            let second = batches.ask(rows(2, 2.0)).await;
            assert_eq!((values(&first.await.unwrap()).len(), values(&second).len()), (1, 2));
        });
        assert!(counters.text().contains("tove_batches_total 1\n"), "{}", counters.text());
    }

    #[test]
    fn who_has_given_up_is_not_worked_for() {
        let (batches, counters) = batches(64, Duration::ZERO);
        let (reply, gone) = oneshot::channel();
        drop(gone);
        batches.work(vec![Waiting { rows: rows(1, 1.0), reply }]);
        assert!(counters.text().contains("tove_batches_total 0\n"), "{}", counters.text());
    }
}
