//! Pooling: plain loops, ties, NaN, padding, second derivatives, `vmap`, threads, errors.

use tove_tensor::{DType, PoolOptions, Shape, Tensor, TryConv, hvp, jvp, set_num_threads, vjp, vmap};

/// Few different values, so that ties are frequent.
fn coarse(shape: &[usize], seed: u64) -> Tensor {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 60) as f64 / 4.0 - 2.0
    };
    let data: Vec<f64> = (0..shape.iter().product()).map(|_| next()).collect();
    Tensor::from_vec(data, Shape::new(shape))
}

fn options() -> Vec<PoolOptions> {
    let mut uneven = PoolOptions::new(2);
    (uneven.kernel, uneven.stride, uneven.padding) = ([3, 2], [1, 3], [1, 0]);
    vec![
        PoolOptions::new(2),
        PoolOptions::new(3),
        PoolOptions::new(3).stride(2).padding(1),
        PoolOptions::new(3).stride(1),
        PoolOptions::new(2).stride(3).padding(1).count_include_pad(false),
        uneven,
        uneven.count_include_pad(false),
    ]
}

const SHAPE: [usize; 4] = [2, 3, 9, 7];

/// Values of maxima and means, and the gradients, by plain loops over windows.
fn reference(x: &[f64], g: Option<&[f64]>, o: &PoolOptions) -> ([Vec<f64>; 2], [Vec<f64>; 2]) {
    let (height, width) = (SHAPE[2] as isize, SHAPE[3] as isize);
    let size = |axis: usize| (SHAPE[2 + axis] + 2 * o.padding[axis] - o.kernel[axis]) / o.stride[axis] + 1;
    let (mut values, mut grads) = ([vec![], vec![]], [vec![0.0; x.len()], vec![0.0; x.len()]]);
    for plane in 0..SHAPE[0] * SHAPE[1] {
        for (i, j) in (0..size(0)).flat_map(|i| (0..size(1)).map(move |j| (i, j))) {
            let start = |axis: usize, o_: usize| (o_ * o.stride[axis]) as isize - o.padding[axis] as isize;
            let (mut best, mut sum, mut inside) = (None, 0.0, vec![]);
            for (y, z) in (0..o.kernel[0]).flat_map(|y| (0..o.kernel[1]).map(move |z| (y as isize, z as isize))) {
                let (y, z) = (start(0, i) + y, start(1, j) + z);
                if y < 0 || z < 0 || y >= height || z >= width {
                    continue;
                }
                let place = plane * SHAPE[2] * SHAPE[3] + (y * width + z) as usize;
                if best.is_none_or(|best: usize| x[place] > x[best]) {
                    best = Some(place);
                }
                sum += x[place];
                inside.push(place);
            }
            let count = if o.count_include_pad { o.kernel[0] * o.kernel[1] } else { inside.len() } as f64;
            let best = best.expect("windows are not empty");
            if let Some(g) = g {
                let g = g[values[0].len()];
                grads[0][best] += g;
                inside.iter().for_each(|&place| grads[1][place] += g / count);
            }
            values[0].push(x[best]);
            values[1].push(sum / count);
        }
    }
    (values, grads)
}

fn close(a: &Tensor, b: &[f64], what: &str) {
    assert_eq!(a.numel(), b.len(), "{what}");
    for (a, b) in a.to_f64_vec().iter().zip(b) {
        assert!((a - b).abs() < 1e-12, "{what}: {a} and {b}");
    }
}

#[test]
fn values_and_gradients_equal_plain_loops_with_the_first_of_ties() {
    let x = coarse(&SHAPE, 1);
    for o in options() {
        let (y, pull) = vjp(|x: &Tensor| x.max_pool2d(&o), &x);
        let (mean, pull_mean) = vjp(|x: &Tensor| x.avg_pool2d(&o), &x);
        let g = coarse(y.dims(), 2);
        let (values, grads) = reference(&x.to_vec::<f64>(), Some(&g.to_vec::<f64>()), &o);
        close(&y, &values[0], &format!("{o:?}"));
        close(&mean, &values[1], &format!("{o:?}"));
        close(&pull(&g), &grads[0], &format!("{o:?}"));
        close(&pull_mean(&g), &grads[1], &format!("{o:?}"));
        let single = x.to_dtype(DType::F32);
        assert_eq!(single.max_pool2d(&o).to_f64_vec(), values[0], "f32");
    }
}

/// The definition serves forward mode and second order; it must follow the kernel at ties.
#[test]
fn all_modes_agree_at_ties() {
    let (x, t) = (coarse(&SHAPE, 1), coarse(&SHAPE, 3));
    for o in options() {
        for largest in [true, false] {
            let pool = |x: &Tensor| if largest { x.max_pool2d(&o) } else { x.avg_pool2d(&o) };
            let (y, pull) = vjp(pool, &x);
            let (_, tangent) = jvp(pool, &x, &t);
            let g = coarse(y.dims(), 4);
            let (left, right) = ((&g * &tangent).sum().item::<f64>(), (&pull(&g) * &t).sum().item::<f64>());
            assert!((left - right).abs() < 1e-10, "{o:?}: {left} {right}");
            // ∇ of Σ y³/6 along t is the transpose of y · tangent.
            let second = hvp(|x: &Tensor| pool(x).powf(3.0).sum() / 6.0, &x, &t);
            close(&second, &pull(&(&y * &tangent)).to_f64_vec(), &format!("{o:?}"));
        }
    }
}

#[test]
fn vmap_equals_the_whole() {
    let x = coarse(&SHAPE, 1);
    for o in options() {
        let whole = x.max_pool2d(&o);
        close(&vmap(|x: &Tensor| x.max_pool2d(&o))(&x), &whole.to_f64_vec(), "max");
        close(&vmap(|x: &Tensor| x.avg_pool2d(&o))(&x), &x.avg_pool2d(&o).to_f64_vec(), "mean");
        let gradient = |x: &Tensor| vjp(|x: &Tensor| x.max_pool2d(&o).sin().sum(), x).1(&Tensor::scalar(1.0));
        close(&vmap(gradient)(&x), &gradient(&x).to_f64_vec(), "gradient");
    }
}

#[test]
fn a_nan_wins_and_takes_the_derivative() {
    for nan in 0..4 {
        let mut data = vec![1.0, 5.0, 3.0, 5.0];
        data[nan] = f64::NAN;
        let x = Tensor::from_vec(data, [1, 2, 2]);
        let (y, pull) = vjp(|x: &Tensor| x.max_pool2d(&PoolOptions::new(2)), &x);
        assert!(y.item::<f64>().is_nan());
        let mut wanted = vec![0.0; 4];
        wanted[nan] = 1.0;
        assert_eq!(pull(&Tensor::ones([1, 1, 1], DType::F64)).to_vec::<f64>(), wanted);
    }
}

#[test]
fn infinite_images_keep_their_maximum() {
    let x = Tensor::full([1, 3, 3], f64::NEG_INFINITY, DType::F64);
    let y = x.max_pool2d(&PoolOptions::new(3).stride(2).padding(1));
    assert_eq!(y.to_vec::<f64>(), [f64::NEG_INFINITY; 4]);
}

#[test]
fn one_dimension_and_adaptive_windows() {
    let x = Tensor::from([[[1.0, 4.0, 2.0, 8.0, 5.0]]]);
    assert_eq!(x.max_pool1d(&PoolOptions::new(3).stride(2).padding(1)).to_vec::<f64>(), [4.0, 8.0, 8.0]);
    assert_eq!(x.avg_pool1d(&PoolOptions::new(2)).to_vec::<f64>(), [2.5, 5.0]);
    // Windows 0..3, 2..5 by the rule ⌊i·5/2⌋ .. ⌈(i+1)·5/2⌉.
    let (y, pull) = vjp(|x: &Tensor| x.adaptive_avg_pool2d([1, 2]), &x);
    close(&y, &[7.0 / 3.0, 5.0], "adaptive");
    close(&pull(&Tensor::from([[[3.0, 6.0]]])), &[1.0, 1.0, 3.0, 2.0, 2.0], "adaptive gradient");
    let image = coarse(&[2, 3, 6, 4], 1);
    close(&image.adaptive_avg_pool2d([1, 1]), &image.global_avg_pool2d().to_f64_vec(), "global");
    close(&image.adaptive_avg_pool2d([3, 2]), &image.avg_pool2d(&PoolOptions::new(2)).to_f64_vec(), "even");
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let x = coarse(&[40, 16, 28, 28], 1);
    for o in [PoolOptions::new(2), PoolOptions::new(3).stride(2).padding(1)] {
        let run = |threads: usize| {
            set_num_threads(threads);
            let (y, pull) = vjp(|x: &Tensor| x.max_pool2d(&o) + x.avg_pool2d(&o), &x);
            (y.to_vec::<f64>(), pull(&y).to_vec::<f64>())
        };
        let alone = run(1);
        for threads in [2, 3, 8] {
            assert!(run(threads) == alone, "{threads} threads");
        }
    }
    set_num_threads(0);
}

#[test]
fn an_empty_batch_gives_an_empty_result_and_errors_name_the_shape() {
    let empty = Tensor::zeros([0, 3, 4, 4], DType::F32);
    assert_eq!(empty.max_pool2d(&PoolOptions::new(2)).dims(), [0, 3, 2, 2]);
    assert_eq!(empty.avg_pool2d(&PoolOptions::new(2)).dims(), [0, 3, 2, 2]);
    let x = Tensor::zeros([1, 1, 3, 3], DType::F32);
    let message = |o: PoolOptions| x.try_max_pool2d(&o).map(|_| ()).expect_err("refused").to_string();
    assert!(message(PoolOptions::new(4)).contains("1, 1, 3, 3"));
    assert!(message(PoolOptions::new(2).padding(2)).contains("half the window"));
    assert!(message(PoolOptions::new(0)).contains("at least 1"));
    let whole = x.to_dtype(DType::I64).try_avg_pool2d(&PoolOptions::new(2));
    assert!(whole.expect_err("refused").to_string().contains("i64"));
}
