//! The backward pass: from one node down to the leaves, in the order of rank, largest first.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use smallvec::SmallVec;

use super::node::{Grads, NodeKind, Point, Step, shape_of};
use super::{Kind, Level, Track};
use crate::{Error, Result, Tensor, meter, ops};

/// How a backward pass treats the graph.
#[derive(Clone, Copy, Default)]
pub(crate) struct Options {
    /// Keep saved values, so that another pass over the same graph is possible.
    pub(crate) keep: bool,
    /// Record the pass itself on the graph's own level, so that its results can be differentiated again.
    pub(crate) record: bool,
}

/// A node whose gradient is known to be complete once it is the largest in the queue.
struct Entry {
    rank: u32,
    order: u32,
    track: Arc<Track>,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Entry {}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> Ordering {
        (self.rank, other.order).cmp(&(other.rank, self.order))
    }
}

/// Addresses of nodes are as good as random already.
#[derive(Default)]
struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.0 = (self.0 << 8) ^ u64::from(byte));
    }
    fn write_usize(&mut self, address: usize) {
        self.0 = (address as u64 >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

/// Gradients under way.
#[derive(Default)]
struct Sweep {
    queue: BinaryHeap<Entry>,
    gradients: HashMap<usize, Tensor, BuildHasherDefault<AddressHasher>>,
    seen: u32,
}

fn address(track: &Arc<Track>) -> usize {
    Arc::as_ptr(track) as usize
}

impl Sweep {
    /// Adds the gradient that `op` has given for a node.
    fn push(&mut self, op: &'static str, track: &Arc<Track>, gradient: Tensor) -> Result<()> {
        let Some(node) = track.node() else { return Ok(()) };
        node.check(op, &gradient)?;
        match self.gradients.remove(&address(track)) {
            Some(sum) => {
                let sum = ops::binary::add_owned(sum, gradient)?;
                self.gradients.insert(address(track), sum);
            }
            None => {
                self.gradients.insert(address(track), gradient);
                self.queue.push(Entry { rank: node.rank, order: self.seen, track: track.clone() });
                self.seen += 1;
            }
        }
        Ok(())
    }
}

/// Propagates `seed` from `root`, calling `visit` with each node of the level and its complete gradient.
pub(crate) fn sweep(
    root: &Arc<Track>,
    seed: Tensor,
    options: Options,
    mut visit: impl FnMut(&Arc<Track>, &Tensor) -> Result<()>,
) -> Result<()> {
    // Room for what most passes hold at once; more would not be recycled by the allocator's quick lists.
    let mut sweep = Sweep { queue: BinaryHeap::with_capacity(14), ..Sweep::default() };
    sweep.gradients.reserve(14);
    sweep.push("backward", root, seed)?;
    while let Some(Entry { track, .. }) = sweep.queue.pop() {
        let Some(gradient) = sweep.gradients.remove(&address(&track)) else { continue };
        visit(&track, &gradient)?;
        let Some(node) = track.node() else { continue };
        let NodeKind::Step(_) = node.kind else { continue };
        let step = if options.keep || options.record {
            node.step().and_then(|step| step.clone())
        } else {
            node.step().and_then(|mut step| step.take())
        };
        let Some(step) = step else {
            return Err(Error::derivative(
                "backward",
                "the graph was freed by an earlier backward pass; use `backward_keep` for the earlier ones",
            ));
        };
        let gradients = pull_back(&track, &step, &gradient, options.record)?;
        for (index, (input, gradient)) in step.inputs.iter().zip(gradients).enumerate() {
            if let (Some(input), Some(gradient)) = (input, gradient) {
                let gradient = ops::reduce::sum_to(gradient, shape_of(&step.shapes, index))?;
                sweep.push(step.op.name(), input, gradient)?;
            }
        }
    }
    Ok(())
}

/// The gradients of one step's inputs.
fn pull_back(track: &Arc<Track>, step: &Step, gradient: &Tensor, record: bool) -> Result<Grads> {
    let mut needs = SmallVec::<[bool; 3]>::new();
    for input in &step.inputs {
        needs.push(input.is_some());
    }
    let attached: SmallVec<[Option<Tensor>; 3]>;
    let output;
    let at = if record {
        attached = step.saved.iter().zip(&step.inputs).map(|(x, t)| attach(x.as_ref(), t.as_ref())).collect();
        output = attach(step.output.as_ref(), Some(track));
        Point { inputs: &attached, output: output.as_ref(), shapes: &step.shapes, aux: &[] }
    } else {
        Point { inputs: &step.saved, output: step.output.as_ref(), shapes: &step.shapes, aux: &step.aux }
    };
    if meter::on() {
        meter::count("backward step", 0);
    }
    step.op.vjp(&at, gradient, &needs)
}

/// A saved value with its own mark again.
fn attach(value: Option<&Tensor>, track: Option<&Arc<Track>>) -> Option<Tensor> {
    value.map(|value| match track {
        Some(track) => value.untracked().with_track(Some(track.clone())),
        None => value.clone(),
    })
}

/// Pushes tangents forward over a recorded graph: the derivative of `root` in a direction given at leaves.
pub(crate) fn push_tangents(root: &Arc<Track>, tangents: &[(Arc<Track>, Tensor)]) -> Result<Option<Tensor>> {
    let mut order = Vec::new();
    collect(root, &mut order);
    order.sort_by_key(|track| track.node().map_or(0, |node| node.rank));
    let mut known: HashMap<usize, Tensor, BuildHasherDefault<AddressHasher>> = HashMap::default();
    for (track, tangent) in tangents {
        known.insert(address(track), tangent.clone());
    }
    for track in order {
        let Some(node) = track.node() else { continue };
        let Some(step) = node.step().and_then(|step| step.clone()) else { continue };
        let inputs: SmallVec<[Option<&Tensor>; 3]> =
            step.inputs.iter().map(|input| input.as_ref().and_then(|input| known.get(&address(input)))).collect();
        if inputs.iter().all(Option::is_none) {
            continue;
        }
        let at = Point { inputs: &step.saved, output: step.output.as_ref(), shapes: &step.shapes, aux: &[] };
        let tangent = step.op.jvp(&at, &inputs)?;
        drop(inputs);
        if let Some(tangent) = tangent {
            let tangent = ops::shape::expand(&tangent, &node.shape)?;
            node.check(step.op.name(), &tangent)?;
            known.insert(address(&track), tangent);
        }
    }
    Ok(known.remove(&address(root)))
}

/// All nodes at or below `root` on its level, each once, without recursion.
pub(crate) fn collect(root: &Arc<Track>, order: &mut Vec<Arc<Track>>) {
    let mut seen: HashMap<usize, (), BuildHasherDefault<AddressHasher>> = HashMap::default();
    let mut pending = vec![root.clone()];
    while let Some(track) = pending.pop() {
        if seen.insert(address(&track), ()).is_some() {
            continue;
        }
        if let Some(step) = track.node().and_then(|node| node.step()).as_deref().and_then(Option::as_ref) {
            pending.extend(step.inputs.iter().flatten().cloned());
        }
        order.push(track);
    }
}

/// The node that a tensor has on a level, if it depends on anything there.
pub(crate) fn node_of(x: &Tensor, level: Level) -> Option<Arc<Track>> {
    let track = x.track_at(level)?;
    matches!(track.kind, Kind::Taped(_)).then(|| track.clone())
}
