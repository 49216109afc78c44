//! Single nests that once failed, written as a user writes them.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tove_tensor::linalg::eigh;
use tove_tensor::testing::values;
use tove_tensor::{DType, Tensor, grad, hessian, jvp, vmap};

fn close(a: &Tensor, b: &Tensor) {
    assert_eq!(a.shape(), b.shape());
    let gap = (a - b).abs().max().item::<f64>();
    assert!(gap < 1e-10, "off by {gap:e}");
}

fn matrices(count: usize, n: usize) -> Tensor {
    values([count, n, n], 3) * 0.4 + Tensor::from([1.0, 2.5, 4.5]).narrow(0, 0, n).diag(0)
}

fn looped(x: &Tensor, f: impl Fn(&Tensor) -> Tensor) -> Tensor {
    let slices: Vec<Tensor> = (0..x.dims()[0]).map(|i| f(&x.get(i))).collect();
    Tensor::stack(&slices.iter().collect::<Vec<_>>(), 0)
}

#[test]
fn slopes_of_eigenvalues_row_by_row() {
    let (x, d) = (matrices(4, 3), values([3, 3], 9));
    let slope = |x: &Tensor| jvp(|x: &Tensor| x.eigvalsh(), x, &d).1;
    close(&vmap(slope)(&x), &looped(&x, slope));
}

/// Values of one row may equal those of another: only values of one matrix are compared with each other.
#[test]
fn equal_values_in_different_rows_are_no_ties() {
    let first = Tensor::from([[1.0, 0.2], [0.2, 3.0]]);
    let second = Tensor::from([[3.0, -0.2], [-0.2, 1.0]]);
    let x = Tensor::stack(&[&first, &second, &first], 0);
    let slope = |x: &Tensor| grad(|x: &Tensor| eigh(x).unwrap().vectors.select_index(1, 0).get(1))(x);
    close(&vmap(slope)(&x), &looped(&x, slope));
}

#[test]
fn hessians_of_determinants() {
    for n in [1, 2, 3] {
        let x = matrices(4, n);
        let curvature = |x: &Tensor| hessian(|x: &Tensor| x.det(), x);
        close(&vmap(curvature)(&x), &looped(&x, curvature));
    }
}

/// A negative exponent in any row is refused, not only in the first.
#[test]
fn whole_powers_look_at_every_row() {
    let powers = |bases: [i64; 2], exponents: [i64; 2]| {
        let (a, b) = (Tensor::from(bases), Tensor::from(exponents));
        catch_unwind(AssertUnwindSafe(|| vmap(|(a, b): &(Tensor, Tensor)| a.pow(b))(&(a, b)).to_vec::<i64>()))
    };
    assert_eq!(powers([2, 3], [3, 2]).unwrap(), [8, 9]);
    assert!(powers([2, 3], [-3, 2]).is_err());
    let panic = powers([2, 3], [3, -2]).unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    assert!(text.contains("pow") && text.contains("negative powers"), "{text}");
    // The exponents alone mapped, and two maps around each other.
    let nested = |exponents: [[i64; 2]; 2]| {
        catch_unwind(AssertUnwindSafe(|| {
            let base = Tensor::scalar(2i64);
            vmap(|row: &Tensor| vmap(|b: &Tensor| base.pow(b))(row))(&Tensor::from(exponents)).to_vec::<i64>()
        }))
    };
    assert_eq!(nested([[0, 1], [2, 3]]).unwrap(), [1, 2, 4, 8]);
    assert!(nested([[0, 1], [2, -3]]).is_err());
}

#[test]
fn searching_over_a_batch_without_slices() {
    let sorted = Tensor::from([1.0, 2.0, 3.0]);
    let found = vmap(|x: &Tensor| sorted.searchsorted(x, false))(&Tensor::zeros([0, 2], DType::F64));
    assert_eq!((found.dims(), found.dtype()), (&[0, 2][..], DType::I64));
}
