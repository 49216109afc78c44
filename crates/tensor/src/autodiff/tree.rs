//! Structures made of tensors, which the functional face takes and returns whole.

use crate::Tensor;

/// Something made of tensors: one tensor, a vector, an array or a tuple of trees, or a type of the user's.
///
/// ```
/// use tove_tensor::{Tensor, grad};
/// let f = |(w, b): &(Tensor, Tensor)| (w * 3.0 + b).sum();
/// let (dw, db) = grad(f)(&(Tensor::from([1.0]), Tensor::from([2.0])));
/// assert_eq!((dw.to_vec::<f64>(), db.to_vec::<f64>()), (vec![3.0], vec![1.0]));
/// ```
pub trait Tree: Sized {
    /// All tensors, in a fixed order.
    fn leaves(&self) -> Vec<Tensor>;

    /// The same structure with other tensors, taken in the order of [`Tree::leaves`].
    fn rebuild(&self, leaves: &mut dyn Iterator<Item = Tensor>) -> Self;

    /// The same structure with `f` applied to each tensor.
    fn map(&self, f: impl FnMut(Tensor) -> Tensor) -> Self {
        self.rebuild(&mut self.leaves().into_iter().map(f))
    }
}

impl Tree for Tensor {
    fn leaves(&self) -> Vec<Tensor> {
        vec![self.clone()]
    }

    fn rebuild(&self, leaves: &mut dyn Iterator<Item = Tensor>) -> Self {
        leaves.next().unwrap_or_else(|| self.clone())
    }
}

impl<T: Tree> Tree for Vec<T> {
    fn leaves(&self) -> Vec<Tensor> {
        self.iter().flat_map(Tree::leaves).collect()
    }

    fn rebuild(&self, leaves: &mut dyn Iterator<Item = Tensor>) -> Self {
        self.iter().map(|tree| tree.rebuild(leaves)).collect()
    }
}

impl<T: Tree, const N: usize> Tree for [T; N] {
    fn leaves(&self) -> Vec<Tensor> {
        self.iter().flat_map(Tree::leaves).collect()
    }

    fn rebuild(&self, leaves: &mut dyn Iterator<Item = Tensor>) -> Self {
        self.each_ref().map(|tree| tree.rebuild(leaves))
    }
}

macro_rules! tuple_tree {
    ($($T:ident $i:tt),*) => {
        impl<$($T: Tree),*> Tree for ($($T,)*) {
            fn leaves(&self) -> Vec<Tensor> {
                let mut leaves = Vec::new();
                $(leaves.extend(self.$i.leaves());)*
                leaves
            }

            fn rebuild(&self, leaves: &mut dyn Iterator<Item = Tensor>) -> Self {
                ($(self.$i.rebuild(leaves),)*)
            }
        }
    };
}
tuple_tree!(A 0);
tuple_tree!(A 0, B 1);
tuple_tree!(A 0, B 1, C 2);
tuple_tree!(A 0, B 1, C 2, D 3);
