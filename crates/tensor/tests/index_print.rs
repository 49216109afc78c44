//! The text of tensors against numpy's.

mod common;

use common::{Array, load};
use tove_tensor::{DType, Tensor};

fn tensor(array: &Array) -> Tensor {
    let dtype = match array.dtype.as_str() {
        "f32" => DType::F32,
        "f64" => DType::F64,
        "i64" => DType::I64,
        "u8" => DType::U8,
        _ => DType::Bool,
    };
    Tensor::from_vec(array.data.clone(), array.shape.clone()).to_dtype(dtype)
}

#[test]
fn text_is_numpys() {
    let fixture = load("numpy_print");
    assert!(fixture.cases.len() > 60);
    for case in &fixture.cases {
        let x = tensor(case.input("x"));
        let want = case.attrs["text"].as_str().expect("a text");
        let got = match case.integer("precision") {
            Some(precision) => format!("{x:.*}", precision as usize),
            None => x.to_string(),
        };
        assert_eq!(got, want, "{}\n{got}\n{want}", case.name);
    }
}

#[test]
fn views_print_as_their_copies() {
    let x = Tensor::linspace(-1.0, 1.0, 24).reshape([2, 3, 4]);
    let view = x.permute(&[2, 0, 1]).flip(&[1]);
    assert_eq!(view.to_string(), view.contiguous().to_string());
    let stretched = Tensor::from([1.0, 2.0]).broadcast_to([800, 2]);
    assert_eq!(stretched.to_string(), stretched.contiguous().to_string());
}

#[test]
fn debug_fits_on_a_line() {
    let x = Tensor::linspace(0.0, 1.0, 40).reshape([10, 4]);
    assert_eq!(
        format!("{:?}", Tensor::from([[1.0, 2.0], [3.0, 4.5]])),
        "Tensor(shape=(2, 2), dtype=f64, [[1.  2. ] [3.  4.5]])"
    );
    assert_eq!(format!("{x:?}").lines().count(), 1, "{x:?}");
    assert!(format!("{x:?}").contains("..."));
    assert_eq!(format!("{:?}", Tensor::zeros([0, 3], DType::F32)), "Tensor(shape=(0, 3), dtype=f32, [])");
    // Inside `vmap` there is no single value to show.
    let text = std::sync::Mutex::new(String::new());
    let _ = tove_tensor::vmap(|row: &Tensor| {
        *text.lock().expect("a lock") = format!("{row:?} {row}");
        row.exp()
    })(&x);
    assert_eq!(
        *text.lock().expect("a lock"),
        "Tensor(shape=(4,), dtype=f64, <values inside vmap>) <values inside vmap>"
    );
}
