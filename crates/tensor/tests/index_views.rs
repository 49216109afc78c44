//! Random chains of views against a plain list of which element ends up where.

use proptest::prelude::*;
use tove_tensor::{Index, Tensor, grad};

/// The model: the sizes, and for every position in row-major order the number of the original element.
#[derive(Clone, Debug)]
struct Model {
    shape: Vec<usize>,
    source: Vec<usize>,
}

impl Model {
    /// Rebuilds the list for another shape, given where each new position reads.
    fn rebuilt(&self, shape: Vec<usize>, read: impl Fn(&[usize]) -> Vec<usize>) -> Model {
        let count = shape.iter().product();
        let source = (0..count).map(|flat| self.source[flat_of(&self.shape, &read(&position(&shape, flat)))]).collect();
        Model { shape, source }
    }
}

fn position(shape: &[usize], mut flat: usize) -> Vec<usize> {
    let mut result = vec![0; shape.len()];
    for (slot, &size) in result.iter_mut().zip(shape).rev() {
        *slot = flat % size;
        flat /= size;
    }
    result
}

fn flat_of(shape: &[usize], position: &[usize]) -> usize {
    shape.iter().zip(position).fold(0, |flat, (&size, &i)| flat * size + i)
}

/// A step of a chain; its numbers are reduced to what the tensor at hand allows.
#[derive(Clone, Debug)]
enum Step {
    Permute(Vec<u8>),
    Slice(u8, i8, i8, i8),
    Flip(u8),
    Reshape(Vec<u8>),
    Broadcast(u8, u8),
    At(u8, u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 6).prop_map(Step::Permute),
        (any::<u8>(), -6i8..7, -6i8..7, -3i8..4)
            .prop_map(|(axis, start, end, step)| Step::Slice(axis, start, end, step)),
        any::<u8>().prop_map(Step::Flip),
        prop::collection::vec(any::<u8>(), 4).prop_map(Step::Reshape),
        (any::<u8>(), 1u8..4).prop_map(|(axis, size)| Step::Broadcast(axis, size)),
        (any::<u8>(), any::<u8>()).prop_map(|(axis, at)| Step::At(axis, at)),
    ]
}

fn permute(x: &Tensor, model: &Model, keys: &[u8]) -> (Tensor, Model) {
    let mut order: Vec<usize> = (0..model.shape.len()).collect();
    order.sort_by_key(|&axis| keys[axis % keys.len()]);
    let shape = order.iter().map(|&axis| model.shape[axis]).collect();
    let read = |new: &[usize]| {
        let mut old = vec![0; new.len()];
        order.iter().zip(new).for_each(|(&axis, &i)| old[axis] = i);
        old
    };
    (x.permute(&order), model.rebuilt(shape, read))
}

/// The positions of Python's `range(size)[start:end:step]`, one after the other.
fn walked(size: usize, start: i64, end: i64, step: i64) -> Vec<usize> {
    let all: Vec<i64> = if step > 0 { (0..size as i64).collect() } else { (0..size as i64).rev().collect() };
    let counted = |bound: i64| if bound < 0 { bound + size as i64 } else { bound };
    let (start, end) = (counted(start), counted(end));
    let inside = |&i: &i64| if step > 0 { i >= start && i < end } else { i <= start && i > end };
    // A start before the first position is cut to it, which is where filtering begins too.
    all.into_iter().filter(inside).step_by(step.unsigned_abs() as usize).map(|i| i as usize).collect()
}

fn apply(x: &Tensor, model: &Model, step: &Step) -> (Tensor, Model) {
    let rank = model.shape.len();
    let unchanged = (x.clone(), model.clone());
    match step {
        Step::Permute(keys) => permute(x, model, keys),
        Step::Slice(axis, start, end, step) if rank > 0 && *step != 0 => {
            let axis = *axis as usize % rank;
            let (start, end, step) = (i64::from(*start), i64::from(*end), i64::from(*step));
            let places = walked(model.shape[axis], start, end, step);
            let mut spec: Vec<Index> = (0..axis).map(|_| Index::from(..)).collect();
            spec.push(Index::Range { start: Some(start), end: Some(end), step });
            let mut shape = model.shape.clone();
            shape[axis] = places.len();
            let read = |new: &[usize]| (0..rank).map(|a| if a == axis { places[new[a]] } else { new[a] }).collect();
            (x.index(spec), model.rebuilt(shape, read))
        }
        Step::Flip(axis) if rank > 0 => {
            let axis = *axis as usize % rank;
            let size = model.shape[axis];
            let read = |new: &[usize]| (0..rank).map(|a| if a == axis { size - 1 - new[a] } else { new[a] }).collect();
            (x.flip(&[axis as isize]), model.rebuilt(model.shape.clone(), read))
        }
        Step::Reshape(choices) => {
            let mut rest = model.source.len();
            let mut shape = Vec::new();
            for &choice in choices {
                if rest == 0 {
                    break;
                }
                let divisors: Vec<usize> = (1..=rest).filter(|d| rest.is_multiple_of(*d)).collect();
                shape.push(divisors[choice as usize % divisors.len()]);
                rest /= shape[shape.len() - 1];
            }
            shape.push(rest);
            (x.reshape(shape.clone()), Model { shape, source: model.source.clone() })
        }
        Step::Broadcast(axis, size) if model.source.len() < 2000 && rank < 6 => {
            // A new axis at any position, stretched.
            let axis = *axis as usize % (rank + 1);
            let mut shape = model.shape.clone();
            shape.insert(axis, *size as usize);
            let read = |new: &[usize]| (0..=rank).filter(|&a| a != axis).map(|a| new[a]).collect();
            (x.unsqueeze(axis as isize).broadcast_to(shape.clone()), model.rebuilt(shape, read))
        }
        Step::At(axis, at) if rank > 0 && model.shape[*axis as usize % rank] > 0 => {
            let axis = *axis as usize % rank;
            let at = *at as usize % model.shape[axis];
            let mut shape = model.shape.clone();
            shape.remove(axis);
            let read = |new: &[usize]| {
                let mut old = new.to_vec();
                old.insert(axis, at);
                old
            };
            (x.select_index(axis as isize, at), model.rebuilt(shape, read))
        }
        _ => unchanged,
    }
}

fn chained(x: &Tensor, steps: &[Step]) -> (Tensor, Model) {
    let model = Model { shape: x.dims().to_vec(), source: (0..x.numel()).collect() };
    steps.iter().fold((x.clone(), model), |(x, model), step| apply(&x, &model, step))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn chains_of_views_read_the_right_elements(
        shape in prop::collection::vec(1usize..5, 0..4),
        steps in prop::collection::vec(step(), 0..8),
    ) {
        let n: usize = shape.iter().product();
        let x = Tensor::from_vec((0..n).map(|i| i as f64).collect::<Vec<f64>>(), shape);
        let (y, model) = chained(&x, &steps);
        prop_assert_eq!(y.dims(), &model.shape[..]);
        let want: Vec<f64> = model.source.iter().map(|&i| i as f64).collect();
        prop_assert_eq!(y.to_vec::<f64>(), want.clone());
        // Elementwise loops and sums see the same elements through the strides as the copy does.
        prop_assert_eq!((&y + &y).to_vec::<f64>(), want.iter().map(|v| v + v).collect::<Vec<f64>>());
        prop_assert_eq!(y.sum().item::<f64>(), want.iter().sum::<f64>());
        // The gradient counts how often each element is read, weighted by where.
        let weights = Tensor::from_vec((0..y.numel()).map(|i| (i + 1) as f64).collect::<Vec<f64>>(), y.shape().clone());
        let got = grad(|x: &Tensor| (chained(x, &steps).0 * &weights).sum())(&x);
        let mut counted = vec![0.0; n];
        model.source.iter().enumerate().for_each(|(place, &i)| counted[i] += (place + 1) as f64);
        prop_assert_eq!(got.to_vec::<f64>(), counted);
    }

    #[test]
    fn broadcasting_agrees_with_an_index_map(
        shape in prop::collection::vec(1usize..4, 0..5),
        ones in prop::collection::vec(any::<bool>(), 5),
        drop in 0usize..5,
    ) {
        // The second operand misses leading axes and has size 1 where `ones` says so.
        let other: Vec<usize> = shape.iter().zip(&ones).skip(drop).map(|(&size, &one)| if one { 1 } else { size }).collect();
        let count = |shape: &[usize]| shape.iter().product::<usize>();
        let make = |shape: &[usize], start: f64| {
            Tensor::from_vec((0..count(shape)).map(|i| start + i as f64).collect::<Vec<f64>>(), shape.to_vec())
        };
        let (a, b) = (make(&shape, 0.0), make(&other, 1000.0));
        let want: Vec<f64> = (0..count(&shape)).map(|flat| {
            let place = position(&shape, flat);
            let own: Vec<usize> = place[shape.len() - other.len()..].iter().zip(&other).map(|(&i, &size)| i.min(size - 1)).collect();
            flat as f64 * (1000.0 + flat_of(&other, &own) as f64)
        }).collect();
        prop_assert_eq!((&a * &b).to_vec::<f64>(), want.clone());
        prop_assert_eq!((&b * &a).to_vec::<f64>(), want);
    }
}
