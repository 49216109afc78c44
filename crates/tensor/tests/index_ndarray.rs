//! Conversion to and from `ndarray`.
#![cfg(feature = "ndarray")]

use ndarray::{Array, ArrayD, array, s};
use tove_tensor::{Error, Tensor};

#[test]
fn arrays_become_tensors_and_come_back() {
    let a = array![[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]];
    let x = Tensor::from(a.clone());
    assert_eq!((x.dims(), x.to_vec::<f32>()), (&[2, 3][..], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    assert_eq!(x.to_ndarray::<f32>().expect("f32"), a.clone().into_dyn());
    assert_eq!(Tensor::from(&a.t()).to_vec::<f32>(), x.t().to_vec::<f32>());
    assert_eq!(Tensor::from(a.clone().reversed_axes()).to_vec::<f32>(), x.t().to_vec::<f32>());
    assert_eq!(x.t().to_ndarray::<f32>().expect("f32"), a.t().to_owned().into_dyn());
    let part = a.slice(s![1.., ..;-2]);
    assert_eq!(Tensor::from(&part).to_vec::<f32>(), [6.0, 4.0]);
}

#[test]
fn sliced_arrays_give_only_their_part() {
    let part = Array::from_iter(0..10i64).slice_move(s![3..6]);
    assert_eq!(Tensor::from(part).to_vec::<i64>(), [3, 4, 5]);
}

#[test]
fn ranks_zero_and_empty_and_wrong_types() {
    assert_eq!(Tensor::from(ndarray::arr0(2.5)).item::<f64>(), 2.5);
    let empty = Array::<bool, _>::from_shape_vec((0, 3), vec![]).expect("fits");
    assert_eq!(Tensor::from(empty).dims(), &[0, 3]);
    let wrong: Result<ArrayD<f64>, Error> = (&Tensor::from([1i64])).try_into();
    assert!(matches!(wrong, Err(Error::DTypePair { .. })));
}
