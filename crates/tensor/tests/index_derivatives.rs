//! Derivatives to second order in every mode, and `vmap`, of the operations that move elements.
#![allow(clippy::needless_borrows_for_generic_args, reason = "index tensors are borrowed, as users write it")]

use tove_tensor::{DType, Ellipsis, Tensor, grad, hvp, jvp, per_sample_grad, set_num_threads, stepped, vmap};

fn wave(shape: &[usize], phase: f64) -> Tensor {
    let n: usize = shape.iter().product();
    Tensor::from_vec((0..n).map(|i| (1.7 * i as f64 + phase).sin()).collect::<Vec<f64>>(), shape.to_vec())
}

fn ints(values: &[i64], shape: &[usize]) -> Tensor {
    Tensor::from_vec(values.to_vec(), shape.to_vec())
}

#[track_caller]
fn close(a: &Tensor, b: &Tensor, tolerance: f64, what: &str) {
    assert_eq!(a.shape(), b.shape(), "{what}");
    for (x, y) in a.to_f64_vec().iter().zip(b.to_f64_vec()) {
        assert!((x - y).abs() <= tolerance * (1.0 + y.abs()), "{what}: {a} {b}");
    }
}

/// Compares `h = Σ w sin(f)` with central differences: gradient, directional derivative, and second derivatives by
/// forward over reverse, reverse over reverse and forward over forward.
#[track_caller]
fn check(name: &str, f: impl Fn(&Tensor) -> Tensor, x: &Tensor) {
    let weights = wave(f(x).dims(), 0.3);
    let h = |x: &Tensor| (f(x).sin() * &weights).sum();
    let (v, e) = (wave(x.dims(), 2.0), 1e-5);
    let step = |s: f64| x + &(&v * s);
    let dot = |a: &Tensor, b: &Tensor| (a * b).sum();
    let slope = (h(&step(e)) - h(&step(-e))) / (2.0 * e);
    close(&dot(&grad(h)(x), &v), &slope, 1e-8, name);
    close(&jvp(h, x, &v).1, &slope, 1e-8, name);
    let bend = (grad(h)(&step(e)) - grad(h)(&step(-e))) / (2.0 * e);
    close(&hvp(h, x, &v), &bend, 1e-8, name);
    close(&grad(|x: &Tensor| dot(&grad(h)(x), &v))(x), &bend, 1e-8, name);
    let twice = jvp(|x: &Tensor| jvp(h, x, &v).1, x, &v).1;
    close(&twice, &dot(&bend, &v), 1e-8, name);
}

/// `vmap` of the function, of its gradient and of its directional derivative against a loop.
#[track_caller]
fn check_batched(name: &str, f: impl Fn(&Tensor) -> Tensor, x: &Tensor) {
    let batch = Tensor::stack(&[x, &(x * 2.0), &(x - 0.25)], 0);
    let weights = wave(f(x).dims(), 0.9);
    let h = |x: &Tensor| (f(x).sin() * &weights).sum();
    let looped = |g: &dyn Fn(&Tensor) -> Tensor| {
        let results: Vec<Tensor> = (0..3).map(|i| g(&batch.get(i))).collect();
        Tensor::stack(&results.iter().collect::<Vec<_>>(), 0)
    };
    close(&vmap(|x: &Tensor| f(x))(&batch), &looped(&|x| f(x)), 0.0, name);
    close(&vmap(|x: &Tensor| grad(h)(x))(&batch), &looped(&|x| grad(h)(x)), 1e-14, name);
    let push = |x: &Tensor| jvp(h, x, &x.cos()).1;
    close(&vmap(push)(&batch), &looped(&push), 1e-14, name);
}

type Function = Box<dyn Fn(&Tensor) -> Tensor>;

/// Functions of a (3, 4) matrix.
fn functions() -> Vec<(&'static str, Function)> {
    let index = || ints(&[2, 0, -1, 0], &[4]);
    let grid = || ints(&[0, 3, 3, -2, 1, 0], &[3, 2]);
    let mask = || Tensor::from([[true, false, true, true], [false; 4], [false, true, true, false]]);
    let rows = || Tensor::from([true, false, true]);
    vec![
        ("flip", Box::new(|x| x.flip(&[0, 1]))),
        ("roll", Box::new(|x| x.roll(3, 1).roll(-1, 0))),
        ("pad", Box::new(|x| x.pad(&[(1, 0), (2, 1)], 0.7))),
        ("tile", Box::new(|x| x.tile(&[2, 1, 3]))),
        ("repeat_interleave", Box::new(|x| x.repeat_interleave(2, 0).repeat_interleave(3, -1))),
        (
            "split",
            Box::new(|x| {
                let p = x.split(&[1, 3], 1);
                &p[0] * &p[1]
            }),
        ),
        (
            "chunk",
            Box::new(|x| {
                let p = x.chunk(2, 1);
                &p[0] * &p[1]
            }),
        ),
        ("tril", Box::new(|x| x.tril(-1))),
        ("triu", Box::new(|x| x.triu(1))),
        ("diagonal", Box::new(|x| x.diagonal(1))),
        ("diagonal below", Box::new(|x| x.diag(-1))),
        ("diag_embed", Box::new(|x| x.diag_embed(-1))),
        ("move_axis", Box::new(|x| x.move_axis(0, 1))),
        (
            "meshgrid",
            Box::new(|x| {
                let g = Tensor::meshgrid(&[&x.get(0), &x.get(1)]);
                &g[0] * &g[1]
            }),
        ),
        ("gather", Box::new(move |x| x.gather(1, &grid()))),
        ("gather rows", Box::new(move |x| x.gather(0, &ints(&[2, 2, 0, 1], &[1, 4])))),
        ("gather broadcast", Box::new(move |x| x.gather(1, &ints(&[3, 1, 1], &[1, 3])))),
        ("scatter_add into", Box::new(move |x| x.scatter_add(1, &grid(), &wave(&[3, 2], 0.5)))),
        (
            "scatter_add of",
            Box::new(|x| {
                let index = ints(&[0, 1, 1, 0, 4, 4, 4, 2, -1, 0, 3, 3], &[3, 4]);
                wave(&[3, 5], 0.1).scatter_add(1, &index, x)
            }),
        ),
        ("index_select", Box::new(move |x| x.index_select(0, &index()))),
        ("index_select columns", Box::new(move |x| x.index_select(1, &index()))),
        ("index_add into", Box::new(move |x| x.index_add(0, &index(), &wave(&[4, 4], 0.5)))),
        ("index_add of", Box::new(|x| wave(&[3, 5], 0.5).index_add(1, &ints(&[4, 1, 4, 0], &[4]), x))),
        ("embedding", Box::new(move |x| x.embedding(&ints(&[2, 2, 0, 1], &[2, 2])))),
        ("sort", Box::new(|x| x.sort(1, false).0)),
        ("sort down", Box::new(|x| x.sort(0, true).0)),
        ("topk", Box::new(|x| x.topk(2, -1, true).0)),
        ("masked_fill", Box::new(move |x| x.masked_fill(&mask(), 0.4))),
        ("masked_select", Box::new(move |x| x.masked_select(&mask()))),
        ("bincount", Box::new(|x| ints(&[0, 2, 2, 5], &[4]).bincount(Some(&x.get(1)), 0))),
        ("index", Box::new(|x| x.index((stepped(.., -1), 1..3)))),
        ("index tensors", Box::new(|x| x.index((&ints(&[0, 2, 2], &[3]), &ints(&[1, -1, -1], &[3]))))),
        ("index apart", Box::new(|x| x.unsqueeze(1).index((&ints(&[0, 2], &[2]), .., &ints(&[1, 3], &[2]))))),
        ("index mask", Box::new(move |x| x.index((&rows(), Ellipsis)))),
        ("index_set into", Box::new(|x| x.index_set((1.., &ints(&[0, 2], &[2])), &wave(&[2, 2], 0.2)))),
        // Entry 1 is written twice: only the second value counts.
        ("index_set of", Box::new(|x| wave(&[6], 0.2).index_set(&ints(&[1, 1, 4, -1], &[4]), &x.get(0)))),
        ("index_accumulate", Box::new(|x| wave(&[6], 0.2).index_accumulate(&ints(&[1, 1, 4, -1], &[4]), &x.get(0)))),
    ]
}

#[test]
fn derivatives_to_second_order() {
    let x = wave(&[3, 4], 0.0);
    for (name, f) in functions() {
        check(name, &f, &x);
        check(&format!("{name} on a view"), |x: &Tensor| f(&x.t()), &wave(&[4, 3], 0.4));
    }
}

#[test]
fn vmap_agrees_with_a_loop() {
    let x = wave(&[3, 4], 0.0);
    for (name, f) in functions() {
        check_batched(name, &f, &x);
    }
}

#[test]
fn index_tensors_can_be_batched() {
    let tables = wave(&[3, 5, 2], 0.1);
    let rows = ints(&[0, 4, 2, -1, 1, 1, 3, 0, 0], &[3, 3]);
    let places = ints(&[0, 1, 1, -1, 0, 0], &[3, 2, 1]);
    let loop_of = |f: &dyn Fn(usize) -> Tensor| {
        let all: Vec<Tensor> = (0..3).map(f).collect();
        Tensor::stack(&all.iter().collect::<Vec<_>>(), 0)
    };
    let table = tables.get(0);
    // Only the index depends on the sample, then both do.
    let got = vmap(|i: &Tensor| table.index_select(0, i))(&rows);
    close(&got, &loop_of(&|b| table.index_select(0, &rows.get(b))), 0.0, "index_select by index");
    let columns = rows.rem(&Tensor::scalar(2i64));
    let got = vmap(|(x, i): &(Tensor, Tensor)| x.index_select(1, i))(&(tables.clone(), columns.clone()));
    close(&got, &loop_of(&|b| tables.get(b).index_select(1, &columns.get(b))), 0.0, "index_select by both");
    let source = wave(&[3, 2], 0.8);
    let got = vmap(|(x, i): &(Tensor, Tensor)| x.index_add(0, i, &source))(&(tables.clone(), rows.clone()));
    close(&got, &loop_of(&|b| tables.get(b).index_add(0, &rows.get(b), &source)), 0.0, "index_add");
    let got =
        vmap(|(x, i): &(Tensor, Tensor)| x.gather(1, &i.broadcast_to([2, 1]).index((&ints(&[0, 1, 0, 1, 0], &[5]),))))(
            &(tables.clone(), places.clone()),
        );
    let want = |b: usize| tables.get(b).gather(1, &places.get(b).index((&ints(&[0, 1, 0, 1, 0], &[5]),)));
    close(&got, &loop_of(&want), 0.0, "gather");
    let got = vmap(|i: &Tensor| table.index_set(i, &Tensor::scalar(9.0)))(&rows);
    close(&got, &loop_of(&|b| table.index_set(&rows.get(b), &Tensor::scalar(9.0))), 0.0, "index_set");
    let got = vmap(|i: &Tensor| i.one_hot(5, DType::F64))(&rows);
    close(&got, &loop_of(&|b| rows.get(b).one_hot(5, DType::F64)), 0.0, "one_hot");
    // One gradient per sample of a lookup.
    let loss = |table: &Tensor, i: &Tensor| table.embedding(i).square().sum();
    let got = per_sample_grad(loss)(&table, &rows);
    close(&got, &loop_of(&|b| grad(|t: &Tensor| loss(t, &rows.get(b)))(&table)), 1e-14, "per-sample");
    // What depends on values of the sample has no shape of its own.
    let result =
        std::panic::catch_unwind(|| vmap(|x: &Tensor| x.masked_select(&x.gt_scalar(0.0)))(&wave(&[3, 4], 0.0)));
    assert!(result.is_err());
}

#[test]
fn gradients_add_up_where_an_index_repeats() {
    let table = wave(&[4, 3], 0.0);
    let index = ints(&[1, 1, 3, 1], &[4]);
    let g = grad(|t: &Tensor| t.embedding(&index).sum())(&table);
    assert_eq!(g.sum_axes(&[1], false).to_vec::<f64>(), [0.0, 9.0, 0.0, 3.0]);
}

#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    let (rows, features, count) = (3000, 48, 5000);
    let table = wave(&[rows, features], 0.0).to_dtype(DType::F32);
    let index = Tensor::from((0..count).map(|i| (i * i * 7 + i) % rows as i64).collect::<Vec<i64>>());
    let weights = wave(&[count as usize, features], 1.0).to_dtype(DType::F32);
    let grid = Tensor::arange(0, 400 * 300).reshape([400, 300]).rem(&Tensor::scalar(48i64));
    let wide = table.narrow(0, 0, 400);
    let all = || {
        let lookup = grad(|t: &Tensor| (t.embedding(&index) * &weights).sum())(&table);
        let along = grad(|t: &Tensor| t.gather(1, &grid).sin().sum())(&wide);
        let order = table.argsort(0, false);
        let best = table.topk(5, 1, true).0;
        let moved = table.roll(7, 0).tril(3).pad(&[(1, 1), (2, 2)], 1.0).index(&index);
        (
            lookup.to_vec::<f32>(),
            along.to_vec::<f32>(),
            order.to_vec::<i64>(),
            best.to_vec::<f32>(),
            moved.to_vec::<f32>(),
        )
    };
    set_num_threads(1);
    let single = all();
    for threads in [2, 3, 8] {
        set_num_threads(threads);
        assert!(all() == single, "{threads} threads");
    }
    set_num_threads(0);
    // And they are right: against plain loops in f64.
    let (places, w) = (index.to_vec::<i64>(), weights.to_f64_vec());
    let mut plain = vec![0.0f64; rows * features];
    for (i, &place) in places.iter().enumerate() {
        (0..features).for_each(|j| plain[place as usize * features + j] += w[i * features + j]);
    }
    assert!(plain.iter().zip(&single.0).all(|(a, &b)| (a - f64::from(b)).abs() < 1e-5));
}
