//! What holds beyond values: second derivatives, `vmap`, thread counts, messages, dropout.

use tove_tensor::optimizer_kernels::{AdamStep, adam_step};
use tove_tensor::random::Key;
use tove_tensor::{CrossEntropy, DType, Tensor, TryNorm, grad, set_num_threads, vjp, vmap};

use crate::support::{Function, close, gradcheck, random};

#[test]
fn second_derivatives_in_both_modes() {
    let x = random(1, &[3, 4, 2]);
    gradcheck("softmax", std::slice::from_ref(&x), &|p| p[0].softmax(1));
    gradcheck("log_softmax", std::slice::from_ref(&x), &|p| p[0].log_softmax(-1));
    gradcheck("gelu_tanh", &[&x * 3.0], &|p| p[0].gelu_tanh());
    gradcheck("gelu", &[&x * 3.0], &|p| p[0].gelu());
    let affine = |n: usize| [x.clone(), random(2, &[n]), random(3, &[n])];
    gradcheck("layer_norm", &affine(2), &|p| p[0].layer_norm(&[2], Some(&p[1]), Some(&p[2]), 0.1));
    gradcheck("batch_norm", &affine(4), &|p| p[0].batch_norm(Some(&p[1]), Some(&p[2]), 0.1).0);
    let whole = [x.clone(), random(2, &[4, 2])];
    gradcheck("layer_norm of two axes", &whole, &|p| p[0].layer_norm(&[4, 2], Some(&p[1]), None, 0.1));
    let qkv = [random(4, &[2, 5, 3]), random(5, &[2, 5, 3]), random(6, &[2, 5, 2])];
    gradcheck("attention", &qkv, &|p| p[0].scaled_dot_product_attention(&p[1], &p[2], false, None, Some(0.7)));
    gradcheck("causal attention", &qkv, &|p| p[0].scaled_dot_product_attention(&p[1], &p[2], true, None, None));
}

#[test]
fn vmap_is_a_loop_over_slices() {
    let rows = |x: &Tensor, f: &dyn Fn(&Tensor) -> Tensor| {
        let results: Vec<Tensor> = (0..x.dims()[0]).map(|i| f(&x.get(i))).collect();
        Tensor::stack(&results.iter().collect::<Vec<_>>(), 0)
    };
    let x = random(1, &[3, 4, 5]);
    let classes = Tensor::from([0i64, 4, 2, 2]);
    let mean = CrossEntropy { ignore_index: Some(2), ..CrossEntropy::default() };
    type Function = Box<dyn Fn(&Tensor) -> Tensor>;
    let functions: [(&str, Function); 8] = [
        ("softmax", Box::new(|x| x.softmax(0))),
        ("log_softmax", Box::new(|x| x.log_softmax(1))),
        ("layer_norm", Box::new(|x| x.layer_norm(&[5], None, None, 1e-5))),
        ("batch_norm", Box::new(|x| x.batch_norm(None, None, 1e-5).0)),
        ("statistics", Box::new(|x| x.batch_norm(None, None, 1e-5).1.variance)),
        ("cross_entropy", Box::new(move |x| x.cross_entropy(&classes, &mean))),
        ("attention", Box::new(|x| x.scaled_dot_product_attention(x, x, true, None, None))),
        ("packed_attention", Box::new(|x| x.narrow(1, 0, 3).packed_attention(1, true, None, None))),
    ];
    for (name, f) in &functions {
        close(name, &vmap(|x: &Tensor| f(x))(&x), &rows(&x, f), 1e-13);
        let slope = |x: &Tensor| grad(|x: &Tensor| f(x).square().sum())(x);
        close(&format!("slope of {name}"), &vmap(slope)(&x), &rows(&x, &slope), 1e-11);
    }
    let keys = random(2, &[4, 5]);
    let mixed = |x: &Tensor| x.scaled_dot_product_attention(&keys, x, false, None, None);
    close("mixed", &vmap(mixed)(&x), &rows(&x, &mixed), 1e-13);
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let x = random(1, &[700, 130]).to_dtype(DType::F32);
    let images = x.reshape([70, 13, 100]);
    let heads = random(2, &[6, 200, 8]).to_dtype(DType::F32);
    let (w, b) = (random(3, &[130]).to_dtype(DType::F32), random(4, &[130]).to_dtype(DType::F32));
    let classes = Tensor::from_vec((0..700).map(|i| i % 130).collect::<Vec<i64>>(), [700]);
    let all = || {
        let mut results = Vec::new();
        let mut keep = |inputs: Vec<Tensor>, f: Function<'_>| {
            let (y, pull) = vjp(f, &inputs);
            results.extend(pull(&random(9, y.dims()).to_dtype(DType::F32)).iter().map(|g| g.to_vec::<f32>()));
            results.push(y.to_vec::<f32>());
        };
        keep(vec![x.clone()], &|p| p[0].softmax(-1));
        keep(vec![x.clone()], &|p| p[0].log_softmax(0));
        keep(vec![x.clone(), w.clone(), b.clone()], &|p| p[0].layer_norm(&[130], Some(&p[1]), Some(&p[2]), 1e-5));
        keep(vec![x.clone(), w.clone(), b.clone()], &|p| p[0].batch_norm(Some(&p[1]), Some(&p[2]), 1e-5).0);
        keep(vec![images.clone()], &|p| p[0].batch_norm(None, None, 1e-5).0);
        keep(vec![x.clone()], &|p| p[0].cross_entropy(&classes, &CrossEntropy::default()));
        keep(vec![heads.clone()], &|p| p[0].scaled_dot_product_attention(&p[0], &p[0], true, None, None));
        keep(vec![heads.reshape([6, 100, 48 / 3])], &|p| p[0].narrow(2, 0, 12).packed_attention(2, true, None, None));
        let (mut p, mut m, mut v) = (x.clone(), x.zeros_like(), x.zeros_like());
        adam_step(&mut p, &x, &mut m, &mut v, &AdamStep::default()).expect("shapes agree");
        results.push(p.to_vec::<f32>());
        results
    };
    set_num_threads(1);
    let alone = all();
    for threads in [2, 3, 8] {
        set_num_threads(threads);
        assert!(all() == alone, "{threads} threads");
    }
    set_num_threads(0);
}

#[test]
fn messages_name_what_is_wrong() {
    let x = random(1, &[2, 3]);
    let text = |result: tove_tensor::Result<Tensor>| result.expect_err("wrong on purpose").to_string();
    let wrong = text(x.try_cross_entropy(&Tensor::from([0i64, 3]), &CrossEntropy::default()));
    assert_eq!(wrong, "cross_entropy: target has class 3 in row 1, but there are 3 classes, 0 to 2");
    assert!(text(x.try_cross_entropy(&Tensor::from([0i64]), &CrossEntropy::default())).contains("(2, 3)"));
    assert!(text(x.try_softmax(2)).contains("axis 2"));
    assert!(text(x.try_layer_norm(&[2], None, None, 1e-5)).contains("last axes"));
    assert!(text(x.try_layer_norm(&[3], Some(&random(1, &[2])), None, 1e-5)).contains("weight needs shape"));
    assert!(text(x.try_layer_norm(&[3], None, None, -1.0)).contains("eps"));
    assert!(text(Tensor::from([1.0]).try_batch_norm(None, None, 1e-5).map(|(y, _)| y)).contains("channel"));
    assert!(text(x.try_scaled_dot_product_attention(&random(1, &[2, 4]), &x, false, None, None)).contains("width"));
    let (mut p, g) = (x.clone(), random(1, &[3]));
    let (mut m, mut v) = (x.zeros_like(), x.zeros_like());
    let error = adam_step(&mut p, &g, &mut m, &mut v, &AdamStep::default()).expect_err("shapes differ");
    assert!(error.to_string().contains("(3)") || error.to_string().contains("(3,)"), "{error}");
}

#[test]
fn dropout_is_a_function_of_key_and_index() {
    let x = random(1, &[100, 130]);
    let y = x.dropout(0.25, Key::new(1));
    let (a, b) = (x.to_vec::<f64>(), y.to_vec::<f64>());
    assert!(a.iter().zip(&b).all(|(x, y)| *y == 0.0 || (y - x / 0.75).abs() < 1e-15));
    let dropped = b.iter().filter(|y| **y == 0.0).count() as f64 / b.len() as f64;
    assert!((dropped - 0.25).abs() < 0.02, "{dropped}");
    assert_ne!(b, x.dropout(0.25, Key::new(2)).to_vec::<f64>());
    assert_eq!(x.dropout(0.0, Key::new(1)).to_vec::<f64>(), a);
    assert!(x.dropout(1.0, Key::new(1)).to_vec::<f64>().iter().all(|y| *y == 0.0));
    assert!(x.try_dropout(1.5, Key::new(1)).expect_err("no probability").to_string().contains("1.5"));
    gradcheck("dropout", &[random(1, &[4, 5])], &|p| p[0].dropout(0.5, Key::new(3)));
}
