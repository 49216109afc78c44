//! The same bits for any number of threads: every reduction, product and elementwise operation and its gradient, on sizes
//! that are split into several tasks. One test only, since the number of threads is the process's.

use tove_tensor::{DType, Interpolation, Key, Tensor, set_num_threads, vjp};

type Function = Box<dyn Fn(&Tensor) -> Tensor>;

fn normal(seed: u64, shape: &[usize], dtype: DType) -> Tensor {
    Key::new(seed).normal(shape, dtype)
}

/// The value's bits and those of its gradient under a random cotangent.
fn bits(f: &Function, x: &Tensor) -> Vec<u64> {
    let (y, pull) = vjp(|x: &Tensor| f(x), x);
    let gradient =
        if y.dtype().is_float() { pull(&normal(1, y.dims(), y.dtype())) } else { Tensor::zeros([0], DType::F64) };
    let words = |x: &Tensor| x.to_f64_vec().into_iter().map(f64::to_bits);
    words(&y).chain(words(&gradient)).collect()
}

fn named(name: &str, f: impl Fn(&Tensor) -> Tensor + 'static) -> (String, Function) {
    (name.to_string(), Box::new(f))
}

/// Functions of a matrix that fold or scan it.
fn reductions() -> Vec<(String, Function)> {
    let mut list = vec![
        named("sum", |x| x.sum()),
        named("mean", |x| x.mean()),
        named("prod", |x| (x * 0.01f64 + 1.0f64).prod()),
        named("var", |x| x.var(1)),
        named("std", |x| x.std(0)),
        named("norm 2", |x| x.norm(2.0)),
        named("norm 3", |x| x.norm(3.0)),
        named("median", |x| x.median()),
        named("argmax all", |x| x.argmax_all()),
        named("count", |x| x.gt_scalar(0.5).count_nonzero()),
        named("transposed sum", |x| x.t().sum_axes(&[0], false)),
        named("strided sum", |x| x.slice(0, 0, x.dims()[0], 2).sum_axes(&[1], false)),
    ];
    for axis in [0isize, 1] {
        list.extend([
            named("sum axis", move |x| x.sum_axes(&[axis], false)),
            named("mean axis", move |x| x.mean_axes(&[axis], false)),
            named("prod axis", move |x| (x * 0.01f64 + 1.0f64).prod_axes(&[axis], false)),
            named("max axis", move |x| x.max_axes(&[axis], false)),
            named("min axis", move |x| x.min_axes(&[axis], false)),
            named("var axis", move |x| x.var_axes(&[axis], 1, false)),
            named("logsumexp axis", move |x| x.logsumexp(&[axis], false)),
            named("norm axis", move |x| x.norm_axes(2.0, &[axis], false)),
            named("norm inf axis", move |x| x.norm_axes(f64::INFINITY, &[axis], false)),
            named("cumsum axis", move |x| x.cumsum(axis)),
            named("cumprod axis", move |x| (x * 0.01f64 + 1.0f64).cumprod(axis)),
            named("cummax axis", move |x| x.cummax(axis).0),
            named("cummin positions", move |x| x.cummin(axis).1),
            named("logcumsumexp axis", move |x| x.logcumsumexp(axis)),
            named("nanmean axis", move |x| x.nanmean_axes(&[axis], false)),
            named("kthvalue axis", move |x| x.kthvalue(2, axis, false).0),
            named("mode axis", move |x| x.round().mode(axis, false).1),
            named("scatter", move |x| x.scatter(axis, &x.argsort(axis, false), &x.sin())),
            named("quantile axis", move |x| x.quantile_axis(0.3, axis, false)),
            named("argmax axis", move |x| x.argmax(axis)),
            named("any axis", move |x| x.gt_scalar(3.0).any_axes(&[axis], false)),
            named("all axis", move |x| x.gt_scalar(-3.0).all_axes(&[axis], false)),
        ]);
    }
    list
}

/// Functions applied element by element, plain, broadcast and transposed.
fn elementwise() -> Vec<(String, Function)> {
    vec![
        named("exp", |x| x.exp()),
        named("tanh", |x| x.tanh()),
        named("gelu", |x| x.gelu()),
        named("ln", |x| (x.square() + 0.1f64).ln()),
        named("product", |x| x * &x.sin()),
        named("row broadcast", |x| x * &x.get(0)),
        named("column broadcast", |x| x / &(x.narrow(1, 0, 1).square() + 1.0f64)),
        named("transposed", |x| x.t() * 2.0f64 + x.t().cos()),
        named("select", |x| x.gt_scalar(0.0).select(x, &x.square())),
        named("hypot", |x| x.hypot(&x.cos())),
        named("lerp", |x| x.lerp(&x.get(0), &Tensor::scalar(0.3).to_dtype(x.dtype()))),
        named("interpolate", |x| x.interpolate([x.dims()[0] + 7, 30], Interpolation::Bilinear)),
        named("cdist", |x| {
            let rows = x.dims()[0].min(40);
            x.narrow(0, 0, rows).cdist(&x.narrow(0, x.dims()[0] - rows, rows), 2.0)
        }),
        named("group norm", |x| x.group_norm(1, None, None, 1e-5)),
        named("concat", |x| Tensor::concat(&[x, &(x.square() + 1e-3f64).sqrt()], 1)),
    ]
}

/// Products with a fixed matrix on either side.
fn products(dtype: DType) -> Vec<(String, Tensor, Function)> {
    let mut list: Vec<(String, Tensor, Function)> = Vec::new();
    for [m, k, n] in [[300, 200, 250], [1, 3000, 700], [2000, 300, 1], [40, 20_000, 30], [517, 33, 65], [7, 9, 5]] {
        let other = normal(2, &[k, n], dtype);
        let f: Function = Box::new(move |x| x.matmul(&other));
        list.push((format!("matmul {m} {k} {n}"), normal(3, &[m, k], dtype), f));
        let left = normal(4, &[m, k], dtype);
        let f: Function = Box::new(move |x| left.t().matmul(x));
        list.push((format!("transposed {m} {k} {n}"), normal(5, &[m, n], dtype), f));
    }
    let other = normal(6, &[24, 60, 50], dtype);
    list.push(("batched".into(), normal(7, &[24, 40, 60], dtype), Box::new(move |x| x.matmul(&other))));
    let other = normal(8, &[60, 50], dtype);
    list.push(("shared".into(), normal(9, &[24, 40, 60], dtype), Box::new(move |x| x.matmul(&other))));
    let (w, b) = (normal(10, &[128, 64], dtype), normal(11, &[128], dtype));
    let linear = move |x: &Tensor| x.linear(&w, Some(&b), tove_tensor::Activation::Relu);
    list.push(("linear".into(), normal(12, &[900, 64], dtype), Box::new(linear)));
    let w = normal(13, &[70, 90, 20], dtype);
    let einsum = move |x: &Tensor| Tensor::einsum("bij,ikl->bkl", &[x, &w]);
    list.push(("einsum".into(), normal(14, &[30, 70, 50], dtype), Box::new(einsum)));
    list
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let mut all: Vec<(String, Tensor, Function)> = Vec::new();
    for dtype in [DType::F32, DType::F64] {
        // One shape is enough to see that both types are split alike.
        let shapes = [[517, 300], [3, 70_001], [90_000, 2]];
        for shape in &shapes[..if dtype == DType::F32 { 3 } else { 1 }] {
            for (name, f) in reductions().into_iter().chain(elementwise()) {
                all.push((format!("{name} {shape:?} {dtype}"), normal(15, shape, dtype), f));
            }
        }
        all.extend(products(dtype).into_iter().map(|(name, x, f)| (format!("{name} {dtype}"), x, f)));
    }
    for (name, x, f) in &all {
        set_num_threads(1);
        let expected = bits(f, x);
        for threads in [2, 3, 8] {
            set_num_threads(threads);
            assert!(bits(f, x) == expected, "{name}: other bits with {threads} threads than with one");
        }
    }
    let draws = |threads| {
        set_num_threads(threads);
        let key = Key::new(16);
        let floats = [key.uniform([200_000], DType::F32), key.normal([200_000], DType::F32)];
        let shapes = [key.gamma(0.7, [50_000], DType::F64), key.beta(2.0, 0.5, [50_000], DType::F64)];
        let whole = [key.integers(0, 1000, [200_000]), key.categorical(&Tensor::from([1.0, 2.0, 3.0]), 200_000)];
        let all: Vec<Vec<f64>> = floats.iter().chain(&shapes).chain(&whole).map(Tensor::to_f64_vec).collect();
        all
    };
    let expected = draws(1);
    for threads in [2, 3, 8] {
        assert!(draws(threads) == expected, "draws with {threads} threads");
    }
}
