//! Syllabus A1 to A11 and A17: arrays, products, broadcasting, norms, order of evaluation.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Array, load};
use tove_tensor::{
    Activation, CrossEntropy, DType, Error, Key, Reduction, Shape, Tensor, TryNorm, TryOps, TryReduce, grad, meter, vjp,
};

/// A fixture's array as a tensor.
fn tensor(array: &Array) -> Tensor {
    assert_eq!(array.dtype, "f64");
    Tensor::from_vec(array.data.clone(), array.shape.as_slice())
}

/// Norm-wise relative error at most 1e-10, on the scale of the larger of the two or 1.
fn tol64(name: &str, a: &Tensor, b: &Tensor) {
    assert_eq!(a.shape(), b.shape(), "{name}");
    let (a, b) = (a.to_f64_vec(), b.to_f64_vec());
    let length = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
    let distance = length(&a.iter().zip(&b).map(|(a, b)| a - b).collect::<Vec<f64>>());
    assert!(distance <= 1e-10 * length(&b).max(1.0), "{name}: {distance}: {a:?} {b:?}");
}

fn normal(seed: u64, shape: &[usize]) -> Tensor {
    Key::new(seed).normal(shape, DType::F64)
}

fn dtype(name: &str) -> DType {
    let all = [DType::F32, DType::F64, DType::I64, DType::U8, DType::Bool];
    all.into_iter().find(|dtype| dtype.to_string() == name).unwrap()
}

#[test]
fn a1_tensors_report_shape_rank_type_and_count_as_numpy() {
    let fixture = load("numpy_tensor");
    for case in fixture.cases_starting("a1 shape") {
        let sizes: Vec<usize> = case.integers("shape").unwrap().iter().map(|&size| size as usize).collect();
        let x = Tensor::zeros(sizes.as_slice(), DType::F64);
        assert_eq!(x.dims(), sizes, "{}", case.name);
        assert_eq!(x.rank() as i64, case.integer("rank").unwrap(), "{}", case.name);
        assert_eq!(x.numel() as i64, case.integer("size").unwrap(), "{}", case.name);
        assert_eq!(x.to_vec::<f64>(), vec![0.0; x.numel()], "{}", case.name);
        if x.numel() > 0 {
            let strides: Vec<i64> = x.strides().iter().map(|&stride| stride as i64).collect();
            assert_eq!(strides, case.integers("strides").unwrap(), "{}", case.name);
        }
    }
    for case in fixture.cases_starting("a1 dtype") {
        let dtype = dtype(case.attrs["dtype"].as_str().unwrap());
        assert_eq!(dtype.size() as i64, case.integer("item_size").unwrap());
        assert_eq!(Tensor::ones([2], dtype).dtype(), dtype);
    }
}

#[test]
fn a1_data_that_do_not_fill_the_shape_are_a_typed_error() {
    for (len, shape) in [(3, vec![2, 2]), (1, vec![0]), (0, vec![]), (5, vec![2, 0, 3])] {
        let expected = shape.iter().product::<usize>();
        match Tensor::try_from_vec(vec![0.0f32; len], shape.as_slice()) {
            Err(Error::Length { len: given, expected: wanted, .. }) => assert_eq!((given, wanted), (len, expected)),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a1_rank_zero_and_axes_of_length_zero_work() {
    let scalar = Tensor::scalar(2.5);
    assert_eq!((scalar.rank(), scalar.numel(), (&scalar + &scalar).item::<f64>()), (0, 1, 5.0));
    assert_eq!((&scalar * &Tensor::from([1.0, 2.0])).to_vec::<f64>(), [2.5, 5.0]);
    let empty = Tensor::zeros([2, 0, 3], DType::F64);
    assert_eq!((empty.sum().item::<f64>(), empty.exp().numel()), (0.0, 0));
    assert_eq!(empty.sum_axes(&[1], false).to_vec::<f64>(), [0.0; 6]);
    let product = Tensor::zeros([2, 0], DType::F64).matmul(&Tensor::zeros([0, 3], DType::F64));
    assert_eq!((product.dims(), product.sum().item::<f64>()), (&[2, 3][..], 0.0));
}

/// The rule, documented at `DType`: two tensors in one operation have the same type; there is no promotion.
#[test]
fn a1_mixed_types_are_rejected_by_one_rule() {
    let fixture = load("numpy_tensor");
    let pairs = fixture.case("a1 promotion").attrs["pairs"].as_array().unwrap();
    assert_eq!(pairs.len(), 25);
    for pair in pairs {
        let (a, b) = (dtype(pair[0].as_str().unwrap()), dtype(pair[1].as_str().unwrap()));
        let (x, y) = (Tensor::ones([2], a), Tensor::ones([2], b));
        let (mask, square, other) = (Tensor::from([true, false]), Tensor::ones([2, 2], a), Tensor::ones([2, 2], b));
        let outcomes = [
            x.try_eq(&y),
            x.try_maximum(&y),
            x.try_add(&y),
            x.try_sub(&y),
            x.try_mul(&y),
            x.try_div(&y),
            x.try_rem(&y),
            Tensor::try_concat(&[&x, &y], 0),
            mask.try_select(&x, &y),
        ];
        let floats = [
            square.try_matmul(&other),
            x.try_mse_loss(&y, Reduction::Mean),
            x.try_residual(&y),
            square.try_linear(&other, None, Activation::Identity),
            x.try_atan2(&y),
        ];
        for outcome in floats.into_iter().filter(|_| a != b) {
            assert!(matches!(outcome, Err(Error::DTypePair { left, right, .. }) if (left, right) == (a, b)), "{a} {b}");
        }
        for outcome in outcomes.into_iter().map(|outcome| outcome.map(|_| ())) {
            match outcome {
                Err(Error::DTypePair { left, right, .. }) => assert_eq!((left, right, a == b), (a, b, false)),
                Err(Error::DType { dtype: DType::Bool, .. }) => assert_eq!((a, b), (DType::Bool, DType::Bool)),
                Ok(()) => assert_eq!(a, b),
                Err(other) => panic!("{other}"),
            }
        }
        if a == b {
            // Equal types agree with numpy's promotion, which keeps them.
            assert_eq!(dtype(pair[2].as_str().unwrap()), a);
        }
    }
    // A Rust number takes the type of the tensor it meets.
    assert_eq!((Tensor::ones([1], DType::F32) * 2.0f64).dtype(), DType::F32);
}

#[test]
fn a2_inner_product_and_angle() {
    for case in load("numpy_tensor").cases_starting("a2 ") {
        let (w, x) = (tensor(case.input("w")), tensor(case.input("x")));
        tol64(&case.name, &w.dot(&x), &tensor(case.output("y")));
        tol64(&case.name, &w.cosine_similarity(&x, 0), &tensor(case.output("cosine")));
        // w·x = ‖w‖ ‖x‖ cos θ, and the length of x along a unit w.
        let product = w.norm(2.0) * x.norm(2.0) * w.cosine_similarity(&x, 0);
        tol64(&case.name, &product, &w.dot(&x));
        let unit = &w / &w.norm(2.0);
        tol64(&case.name, &unit.dot(&x), &(x.norm(2.0) * w.cosine_similarity(&x, 0)));
    }
    let (w, x) = (normal(1, &[10_000, 7]), normal(2, &[10_000, 7]));
    let inner = (&w * &x).sum_axes(&[1], false).abs();
    let bound = w.norm_axes(2.0, &[1], false) * x.norm_axes(2.0, &[1], false);
    assert!(inner.le(&(bound * (1.0f64 + 1e-15))).all().item::<bool>());
    let (w, x) = (Tensor::from([3.0, -4.0, 0.0]), Tensor::from([4.0, 3.0, 7.0]));
    assert_eq!(w.cosine_similarity(&x, 0).item::<f64>(), 0.0);
}

#[test]
fn a3_the_best_template_is_the_vector_itself() {
    let unit = |x: &Tensor| x / &x.norm_axes(2.0, &[-1], true);
    let bank = unit(&normal(3, &[200, 8]));
    for index in [0, 17, 199] {
        let x = bank.get(index);
        let scores = bank.matmul(&x);
        let best = scores.argmax(0).item::<i64>() as usize;
        assert_eq!(best, index);
        assert!((scores.at::<f64>(&[best]) - 1.0).abs() < 1e-12);
        // Ascent of x·w, projected on the sphere after every step.
        let mut w = unit(&normal(4, &[8]));
        for _ in 0..200 {
            w = unit(&(&w + &(grad(|w: &Tensor| x.dot(w))(&w) * 0.5)));
        }
        assert!((&w - &x).norm(2.0).item::<f64>() < 1e-6);
    }
}

#[test]
fn a4_matrix_and_batched_products() {
    let cases = load("numpy_tensor");
    for case in cases.cases_starting("a4 ") {
        let (a, b) = (tensor(case.input("a")), tensor(case.input("b")));
        tol64(&case.name, &a.matmul(&b), &tensor(case.output("y")));
    }
    let (x, y) = (normal(5, &[6, 3, 4]), normal(6, &[6, 4, 5]));
    let z = x.matmul(&y);
    assert_eq!(z.shape(), &[6, 3, 5]);
    for i in 0..6 {
        tol64("batch", &z.get(i), &x.get(i).matmul(&y.get(i)));
        for (r, c) in [(0, 0), (2, 4), (1, 3)] {
            let dot = x.get(i).get(r).dot(&y.get(i).select_index(1, c));
            tol64("row times column", &z.get(i).get(r).get(c), &dot);
        }
    }
    let message = normal(1, &[2, 3]).try_matmul(&normal(1, &[4, 5])).unwrap_err().to_string();
    let shapes = (Shape::from([2, 3]).to_string(), Shape::from([4, 5]).to_string());
    assert!(message.contains(&shapes.0) && message.contains(&shapes.1), "{message}");
}

/// The elementwise product is linear in X for a fixed mask. What it does not do is compose: (A ∘ B) x is not A (B x).
#[test]
fn a5_the_hadamard_product_masks_is_bilinear_and_does_not_compose() {
    let x = normal(7, &[4, 5]);
    let mask = Key::new(8).bernoulli(0.5, [4, 5]);
    let m = mask.to_dtype(DType::F64);
    let masked = (&x * &m).to_vec::<f64>();
    for ((&masked, &x), &chosen) in masked.iter().zip(&x.to_vec::<f64>()).zip(&mask.to_vec::<bool>()) {
        assert_eq!(masked, if chosen { x } else { 0.0 });
    }
    let (y, a, b) = (normal(9, &[4, 5]), 1.7f64, -0.3f64);
    let m = normal(10, &[4, 5]);
    tol64("linear", &((&x * a + &y * b) * &m), &(&x * &m * a + &y * &m * b));
    let (a, b) = (Tensor::from([[1.0, 2.0], [3.0, 4.0]]), Tensor::from([[0.0, 1.0], [1.0, 0.0]]));
    let x = Tensor::from([1.0, 2.0]);
    let (hadamard, composed) = ((&a * &b).matmul(&x).to_vec::<f64>(), a.matmul(&b.matmul(&x)).to_vec::<f64>());
    println!(
        "A = [[1, 2], [3, 4]], B = [[0, 1], [1, 0]], x = [1, 2]: (A ∘ B) x = {hadamard:?}, A (B x) = {composed:?}"
    );
    assert_eq!((hadamard, composed), (vec![4.0, 3.0], vec![4.0, 10.0]));
}

#[test]
fn a7_contractions_agree_with_numpy_einsum() {
    let fixture = load("numpy_tensor");
    let cases = fixture.cases_starting("a7 ");
    assert!(cases.len() >= 10);
    for case in cases {
        let operands: Vec<Tensor> = case.inputs.values().map(tensor).collect();
        let equation = case.attrs["expression"].as_str().unwrap();
        let y = Tensor::einsum(equation, &operands.iter().collect::<Vec<_>>());
        tol64(&case.name, &y, &tensor(case.output("y")));
    }
}

#[test]
fn a8_broadcasting_follows_numpy_and_gradients_are_summed_back() {
    let fixture = load("numpy_tensor");
    let sizes = |value: &serde_json::Value| -> Option<Vec<usize>> {
        value.as_array().map(|list| list.iter().map(|n| n.as_u64().unwrap() as usize).collect())
    };
    let table = fixture.case("a8 broadcast table").attrs["table"].as_array().unwrap();
    for row in table {
        let (a, b) = (sizes(&row[0]).unwrap(), sizes(&row[1]).unwrap());
        let (x, y) = (Tensor::ones(a.as_slice(), DType::F32), Tensor::ones(b.as_slice(), DType::F32));
        let outcome = x.try_add(&y).ok().map(|sum| sum.dims().to_vec());
        assert_eq!(outcome, sizes(&row[2]), "{a:?} {b:?}");
    }
    for case in fixture.cases_starting("a8 multiply") {
        let (a, b) = (tensor(case.input("a")), tensor(case.input("b")));
        let (y, pull) = vjp(|(a, b): &(Tensor, Tensor)| a * b, &(a, b));
        assert_eq!(y.to_vec::<f64>(), case.output("y").data, "{}", case.name);
        let (grad_a, grad_b) = pull(&tensor(case.input("upstream")));
        tol64(&case.name, &grad_a, &tensor(case.grad("a")));
        tol64(&case.name, &grad_b, &tensor(case.grad("b")));
    }
    // A bias of shape (c) or (1, c) is stretched over the rows.
    let (x, bias) = (normal(1, &[4, 3]), normal(2, &[3]));
    let sum = &x + &bias;
    tol64("(1, c)", &(&x + &bias.reshape([1, 3])), &sum);
    (0..4).for_each(|i| assert_eq!(sum.get(i).to_vec::<f64>(), (x.get(i) + &bias).to_vec::<f64>()));
    tol64("ones", &grad(|b: &Tensor| (&x + b).sum())(&bias), &Tensor::full([3], 4.0, DType::F64));
}

#[test]
fn a8_residuals_and_losses_refuse_to_broadcast() {
    let (column, flat) = (normal(3, &[5, 1]), normal(4, &[5]));
    for (prediction, target) in [(&flat, &column), (&column, &flat)] {
        let refused = [prediction.try_residual(target), prediction.try_mse_loss(target, Reduction::Mean)];
        for outcome in refused {
            let message = outcome.unwrap_err().to_string();
            let shapes = [prediction.shape().to_string(), target.shape().to_string()];
            assert!(shapes.iter().all(|shape| message.contains(shape)) && message.contains("reshape"), "{message}");
        }
    }
    assert!(flat.try_residual(&normal(5, &[1])).is_err());
    // Five class numbers as a column against five rows of scores.
    let (scores, classes) = (normal(6, &[5, 3]), Tensor::from([[0i64], [1], [2], [0], [1]]));
    let message = scores.try_cross_entropy(&classes, &CrossEntropy::default()).unwrap_err().to_string();
    assert!(message.contains("(5, 1)"), "{message}");
    assert!(normal(7, &[5]).try_cross_entropy(&classes, &CrossEntropy::default()).is_err());
    let loss = column.mse_loss(&flat.reshape([5, 1]), Reduction::Sum).item::<f64>();
    let plain: f64 = column.to_vec::<f64>().iter().zip(flat.to_vec::<f64>()).map(|(a, b)| (a - b) * (a - b)).sum();
    assert!((loss - plain).abs() < 1e-12);
}

#[test]
fn a9_an_appended_one_absorbs_the_bias() {
    let (x, w, b) = (normal(1, &[6, 4]), normal(2, &[4]), Tensor::scalar(0.7));
    let explicit = x.matmul(&w) + &b;
    let extended = Tensor::concat(&[&x, &Tensor::ones([6, 1], DType::F64)], 1);
    let weights = Tensor::concat(&[&w, &b.reshape([1])], 0);
    tol64("homogeneous", &extended.matmul(&weights), &explicit);
    for row in 0..6 {
        tol64("row by row", &(x.get(row).dot(&w) + &b), &explicit.get(row));
    }
}

/// Outputs are permutation equivariant, f(P X) = P f(X); the mean loss is permutation invariant.
#[test]
fn a10_outputs_are_equivariant_and_losses_invariant_under_row_permutations() {
    let n = 9;
    let order = Key::new(1).permutation(n).to_vec::<i64>();
    let mut entries = vec![0.0; n * n];
    order.iter().enumerate().for_each(|(row, &column)| entries[row * n + column as usize] = 1.0);
    let p = Tensor::from_vec(entries, [n, n]);
    assert_ne!(order, (0..n as i64).collect::<Vec<_>>());
    let (x, y) = (normal(2, &[n, 4]), normal(3, &[n, 2]));
    let (w1, b1, w2, b2) = (normal(4, &[8, 4]), normal(5, &[8]), normal(6, &[2, 8]), normal(7, &[2]));
    let w = normal(8, &[2, 4]);
    let linear = |x: &Tensor| x.linear(&w, Some(&b2), Activation::Identity);
    let mlp = |x: &Tensor| {
        let hidden = x.linear(&w1, Some(&b1), Activation::Relu);
        hidden.linear(&w2, Some(&b2), Activation::Identity)
    };
    type Model<'a> = (&'a str, &'a dyn Fn(&Tensor) -> Tensor);
    let models: [Model<'_>; 2] = [("linear", &linear), ("mlp", &mlp)];
    for (name, f) in models {
        tol64(name, &f(&p.matmul(&x)), &p.matmul(&f(&x)));
        let loss = |x: &Tensor, y: &Tensor| f(x).mse_loss(y, Reduction::Mean);
        tol64(name, &loss(&p.matmul(&x), &p.matmul(&y)), &loss(&x, &y));
    }
}

#[test]
fn a11_norms_agree_with_numpy_and_are_ordered() {
    let fixture = load("numpy_linalg");
    for name in ["a11 vector", "a11 one", "a11 large"] {
        let case = fixture.case(name);
        let x = tensor(case.input("x"));
        for (order, key) in [(1.0, "l1"), (2.0, "l2"), (f64::INFINITY, "linf")] {
            tol64(name, &x.norm(order), &tensor(case.output(key)));
        }
    }
    let case = fixture.case("a11 matrix");
    let x = tensor(case.input("x"));
    tol64("frobenius", &x.norm(2.0), &tensor(case.output("fro")));
    tol64("rows", &x.norm_axes(2.0, &[1], false), &tensor(case.output("rows")));
    let vectors = normal(12, &[1000, 6]) * normal(13, &[1000, 1]).exp();
    let of = |p: f64| vectors.norm_axes(p, &[1], false);
    let slack = 1.0f64 + 1e-15;
    assert!(of(f64::INFINITY).le(&(of(2.0) * slack)).all().item::<bool>());
    assert!(of(2.0).le(&(of(1.0) * slack)).all().item::<bool>());
    // Equality on multiples of unit vectors.
    let axis = Tensor::from([0.0, -3.0, 0.0]);
    assert!([1.0, 2.0, f64::INFINITY].iter().all(|&p| axis.norm(p).item::<f64>() == 3.0));
}

#[test]
fn a17_the_order_of_evaluation_decides_the_cost() {
    let madds = |n: usize, c: usize| {
        let (x, w, y) = (normal(1, &[n, c]), normal(2, &[c]), normal(3, &[n]));
        let (first, cheap) = meter::measure(|| x.t().matmul(&(x.matmul(&w) - &y)));
        let (second, dear) = meter::measure(|| x.t().matmul(&x).matmul(&w) - x.t().matmul(&y));
        tol64("both orders", &first, &second);
        (cheap.flops_of("matmul") / 2, dear.flops_of("matmul") / 2)
    };
    let (n, c) = (200, 30);
    let (cheap, dear) = madds(n, c);
    assert_eq!(cheap, (2 * n * c) as u64);
    // nc² for XᵀX, c² for its product with w, and nc for Xᵀy.
    assert_eq!(dear, (n * c * c + c * c + n * c) as u64);
    assert_eq!(madds(2 * n, c).0, 2 * cheap);
    assert_eq!(madds(n, 2 * c).0, 2 * cheap);
}
