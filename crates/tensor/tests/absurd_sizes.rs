//! Random calls of `try_` methods with sizes from nothing to beyond any machine: each returns, a result or an error.
//!
//! The allocator of this program refuses what is larger than [`MOST`] bytes, so that whoever asks for an absurd size without
//! looking at the answer ends the process, and nobody gets gigabytes. A call that does not return is named and ended.
#![allow(clippy::unwrap_used, unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tove_tensor::linalg::{Norm, Triangle, eig, eigh, lstsq, qr, slogdet, svd};
use tove_tensor::{
    Activation, ConvOptions, CrossEntropy, DType, Element, Interpolation, Key, PoolOptions, Reduction, Result, Tensor,
    TryConv, TryIndex, TryLinalg, TryNorm, TryOps, TryReduce, TryUnary, grad_of,
};

/// The largest block that anybody gets.
const MOST: usize = 64 << 20;

/// Elements of a stretched view: of f32 they are more than the largest block, and they can still be walked.
const STRETCHED: usize = MOST / 4 + 1;

struct Modest;

// SAFETY: what is not refused goes to the system's allocator.
unsafe impl GlobalAlloc for Modest {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: passed on.
        if layout.size() > MOST { std::ptr::null_mut() } else { unsafe { System.alloc(layout) } }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: passed on.
        if layout.size() > MOST { std::ptr::null_mut() } else { unsafe { System.alloc_zeroed(layout) } }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: passed on.
        if size > MOST { std::ptr::null_mut() } else { unsafe { System.realloc(pointer, layout, size) } }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Modest = Modest;

const SIZES: [usize; 19] = [
    0,
    1,
    1,
    2,
    2,
    3,
    3,
    4,
    7,
    1 << 16,
    (1 << 20) + 1,
    1 << 31,
    1 << 32,
    (1 << 40) + 3,
    1 << 50,
    1 << 60,
    isize::MAX as usize,
    usize::MAX / 2 + 1,
    usize::MAX,
];

/// Numbers without a seed from outside: a linear congruence.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    /// Any size.
    fn size(&mut self) -> usize {
        SIZES[self.below(SIZES.len())]
    }

    fn pair(&mut self) -> [usize; 2] {
        [self.size(), self.size()]
    }

    /// A size that a tensor of a few axes can have.
    fn small(&mut self) -> usize {
        SIZES[self.below(9)]
    }

    fn signed(&mut self) -> isize {
        let size = self.size() as isize;
        if self.below(2) == 0 { size } else { size.wrapping_neg() }
    }

    fn axis(&mut self) -> isize {
        self.below(7) as isize - 3
    }

    fn bool(&mut self) -> bool {
        self.below(2) == 0
    }

    fn dtype(&mut self) -> DType {
        [DType::F32, DType::F64, DType::F64, DType::I64, DType::U8, DType::Bool][self.below(6)]
    }

    /// A tensor of so many axes: small, or empty with an absurd axis or two, perhaps a view, perhaps one number that is
    /// stretched to more than the largest block holds.
    fn tensor(&mut self, rank: usize, dtype: DType) -> Tensor {
        let mut dims: Vec<usize> = (0..rank).map(|_| self.small()).collect();
        if rank > 1 && self.below(4) == 0 {
            let (empty, absurd) = (self.below(rank), self.below(rank));
            dims[absurd] = self.size();
            dims[empty] = 0;
        }
        let Ok(x) = Tensor::try_full(dims, 0.75, dtype) else { return Tensor::zeros(vec![0; rank], dtype) };
        match self.below(4) {
            0 if rank > 1 => x.swap_axes(0, -1),
            1 if rank > 0 => x.flip(&[0]),
            // Once in a while: whoever walks it takes his time.
            3 if rank > 0 && self.below(12) == 0 => {
                let mut stretched = vec![1; rank];
                let one = Tensor::full(stretched.clone(), 0.75, dtype);
                stretched[self.below(rank)] = STRETCHED;
                one.broadcast_to(stretched)
            }
            2 if rank > 0 && x.dims()[0] > 1 => x.slice(0, 0, x.dims()[0], 2),
            _ => x,
        }
    }

    fn float(&mut self, rank: usize) -> Tensor {
        let dtype = if self.bool() { DType::F32 } else { DType::F64 };
        let x = self.tensor(rank, dtype);
        if self.bool() { x.requires_grad() } else { x }
    }

    fn like(&mut self, x: &Tensor, rank: usize) -> Tensor {
        self.tensor(rank, x.dtype())
    }

    fn index(&mut self, rank: usize) -> Tensor {
        let mut x = self.tensor(rank, DType::I64);
        if x.numel() < 1000 {
            x = x.contiguous();
            let value = [0, 1, -1, 2, i64::MAX, i64::MIN][self.below(6)];
            x.as_mut_slice::<i64>().unwrap().fill(value);
        }
        x
    }

    fn rank(&mut self) -> usize {
        self.below(5)
    }

    fn conv(&mut self) -> ConvOptions {
        let mut o = ConvOptions::new();
        if self.bool() {
            o.stride = self.pair();
        }
        if self.bool() {
            o.padding = self.pair();
        }
        if self.below(3) == 0 {
            o.dilation = self.pair();
        }
        if self.below(4) == 0 {
            o.groups = self.size();
        }
        if self.below(4) == 0 {
            o.output_padding = self.pair();
        }
        if self.bool() {
            o.activation = Activation::Relu;
        }
        o
    }

    fn pool(&mut self) -> PoolOptions {
        let mut o = PoolOptions::new(1);
        (o.kernel, o.stride) = (self.pair(), self.pair());
        if self.bool() {
            o.padding = self.pair();
        }
        o
    }
}

/// What a call did: a tensor whose gradient can be asked for, or something else.
type Call = fn(&mut Draw) -> Result<Tensor>;

fn first<T>(pair: (Tensor, T)) -> Tensor {
    pair.0
}

fn images(d: &mut Draw) -> Result<Tensor> {
    let (x, o) = (d.float(4), d.conv());
    let (kernel, method) = (d.pair(), [Interpolation::Nearest, Interpolation::Bilinear][d.below(2)]);
    match d.below(8) {
        0 => x.try_unfold(kernel, &o),
        1 => d.float(3).try_fold(d.pair(), kernel, &o),
        2 => x.try_interpolate(kernel, method),
        3 => x.try_adaptive_avg_pool2d(kernel),
        4 => x.try_max_pool2d(&d.pool()),
        5 => x.try_avg_pool2d(&d.pool()),
        6 => d.float(3).try_max_pool1d(&d.pool()),
        _ => d.float(3).try_avg_pool1d(&d.pool()),
    }
}

fn convolutions(d: &mut Draw) -> Result<Tensor> {
    let (x, o) = (d.float(4), d.conv());
    let mut w = d.like(&x, 4);
    if d.below(3) > 0 {
        // Channels that fit.
        let (channels, out) = (x.dims()[1], d.small());
        let sizes = [d.small().max(1), d.small().max(1)];
        let forward = Tensor::try_full([out, channels, sizes[0], sizes[1]], 0.5, x.dtype());
        w = forward.unwrap_or(w);
    }
    let bias = d.bool().then(|| Tensor::full([w.dims()[0].min(9)], 0.5, x.dtype()));
    match d.below(4) {
        0 => x.try_conv_transpose2d(&if d.bool() { w.swap_axes(0, 1) } else { w }, None, &o),
        1 if x.numel() > 0 => {
            let (line, taps) = (x.get(0), w.try_get(0)?);
            match line.try_conv_transpose1d(&taps, None, &o) {
                Ok(y) => Ok(y),
                Err(_) => line.try_conv1d(&taps, None, &o),
            }
        }
        _ => x.try_conv2d(&w, bias.as_ref(), &o),
    }
}

fn norms(d: &mut Draw) -> Result<Tensor> {
    let rank = d.rank();
    let x = d.float(rank);
    let channels = x.dims().get(1).copied().unwrap_or(1).min(64);
    let per_channel = Tensor::full([channels], 1.5, x.dtype());
    let given = d.bool().then_some(&per_channel);
    match d.below(9) {
        0 => x.try_softmax(d.axis()),
        1 => x.try_log_softmax(d.axis()),
        2 => x.try_batch_norm_with(&per_channel, &per_channel, given, given, 1e-5),
        3 => x.try_batch_norm(given, given, 1e-5).map(first),
        4 => {
            let axes = d.below(rank + 1);
            x.try_layer_norm(&x.dims()[rank - axes..], None, None, 1e-5)
        }
        5 => x.try_group_norm(d.size(), given, given, 1e-5),
        6 => x.try_instance_norm(given, given, 1e-5),
        7 => x.try_dropout(0.5, Key::new(3)),
        _ => {
            let rows = x.dims().first().copied().unwrap_or(1);
            let target = Tensor::try_full([rows], 0.0, DType::I64)?;
            x.try_cross_entropy(&target, &CrossEntropy::default())
        }
    }
}

fn attention(d: &mut Draw) -> Result<Tensor> {
    let x = d.float(3);
    if d.bool() {
        return x.try_packed_attention(d.size(), d.bool(), None, None);
    }
    let (k, v) = (d.like(&x, 3), d.like(&x, 3));
    let (k, v) = if d.bool() { (x.detach(), v) } else { (k, v) };
    let v = if d.bool() { x.detach() } else { v };
    x.try_scaled_dot_product_attention(&k, &v, d.bool(), None, None)
}

fn indexing(d: &mut Draw) -> Result<Tensor> {
    let (rank, index_rank, axis) = (d.rank(), d.rank(), d.axis());
    let (x, index) = (d.float(rank), d.index(index_rank));
    let source = d.like(&x, index_rank);
    match d.below(13) {
        0 => x.try_gather(axis, &index),
        1 => x.try_scatter_add(axis, &index, &source),
        2 => x.try_scatter(axis, &index, &source),
        3 => x.try_index_select(axis, &index),
        4 => x.try_index_add(axis, &index, &source),
        5 => x.try_index_fill(axis, &index, 2.0),
        6 => x.try_embedding(&index),
        7 => index.try_one_hot(d.size(), x.dtype()),
        8 => x.try_index(&index),
        9 => index.try_bincount(None, d.size()),
        10 => x.try_masked_select(&d.tensor(rank, DType::Bool)),
        11 => x.try_searchsorted(&source, d.bool()),
        _ => x.try_nonzero(),
    }
}

fn sorting(d: &mut Draw) -> Result<Tensor> {
    let (rank, axis) = (d.rank(), d.axis());
    let x = d.float(rank);
    match d.below(8) {
        0 => x.try_sort(axis, d.bool()).map(first),
        1 => x.try_topk(d.size(), axis, d.bool()).map(first),
        2 => x.try_kthvalue(d.size(), axis, d.bool()).map(first),
        3 => x.try_mode(axis, d.bool()).map(first),
        4 => x.try_unique().map(|found| found.values),
        5 => x.try_unique_axis(axis).map(|found| found.values),
        6 => x.try_quantile_axis(0.3, axis, d.bool()),
        _ => x.try_median(),
    }
}

fn reductions(d: &mut Draw) -> Result<Tensor> {
    let (rank, axis, keep) = (d.rank(), d.axis(), d.bool());
    let x = d.float(rank);
    match d.below(16) {
        0 => x.try_sum_axes(&[axis], keep),
        1 => x.try_mean_axes(&[axis], keep),
        2 => x.try_max_axes(&[axis], keep),
        3 => x.try_min_axes(&[axis], keep),
        4 => x.try_prod_axes(&[axis], keep),
        5 => x.try_var_axes(&[axis], d.size(), keep),
        6 => x.try_logsumexp(&[axis], keep),
        7 => x.try_norm_axes(2.0, &[axis], keep),
        8 => x.try_cumsum(axis),
        9 => x.try_cumprod(axis),
        10 => x.try_cummax(axis).map(first),
        11 => x.try_logcumsumexp(axis),
        12 => x.try_argmax(axis),
        13 => x.try_any_axes(&[axis], keep),
        14 => x.try_count_nonzero_axes(&[axis], keep),
        _ => x.try_sum(),
    }
}

fn shapes(d: &mut Draw) -> Result<Tensor> {
    let (rank, axis) = (d.rank(), d.axis());
    let dtype = d.dtype();
    let x = d.tensor(rank, dtype);
    let dims = |d: &mut Draw| (0..d.rank()).map(|_| d.size()).collect::<Vec<_>>();
    match d.below(19) {
        0 => x.try_reshape(dims(d)),
        1 => x.try_broadcast_to(dims(d)).map(|y| y.flip(&[])),
        2 => x.try_tile(&dims(d)).and_then(|y| if y.numel() < 9 { y.try_contiguous() } else { Ok(y) }),
        3 => x.try_repeat_interleave(d.size(), axis),
        4 => x.try_pad(&(0..rank).map(|_| (d.size(), d.small())).collect::<Vec<_>>(), 1.0),
        5 => x.try_slice(axis, d.size(), d.size(), d.signed()),
        6 => x.try_narrow(axis, d.size(), d.size()),
        7 => x.try_roll(d.signed(), axis),
        8 => x.try_diagonal(d.signed()),
        9 => x.try_diag_embed(d.signed()),
        10 => x.try_tril(d.signed()),
        11 => x.try_triu(d.signed()),
        12 => x.try_select_index(axis, d.size()),
        13 => Tensor::try_concat(&[&x, &d.tensor(rank, dtype), &x], axis),
        14 => Tensor::try_stack(&[&x, &x], axis),
        15 => x.try_flip(&[axis]),
        16 => x.try_unsqueeze(axis),
        17 => x.try_chunk(d.size(), axis).map(|mut pieces| pieces.pop().unwrap_or(x)),
        _ => x.try_to_dtype(d.dtype()),
    }
}

fn products(d: &mut Draw) -> Result<Tensor> {
    let (rank, other) = (d.rank(), d.rank());
    let x = d.float(rank);
    let mut y = d.like(&x, other);
    if d.bool() && rank > 0 {
        y = x.detach().try_swap_axes(-1, -2).unwrap_or(y);
    }
    match d.below(10) {
        0..=2 => x.try_matmul(&y),
        3 => x.try_linear(&y, None, Activation::Relu),
        4 => x.try_outer(&y),
        5 => x.try_kron(&y),
        6 => x.try_cdist(&y, 2.0),
        7 => Tensor::try_einsum("ij,jk->ik", &[&x, &y]),
        8 => x.try_cov(d.size()),
        _ => x.try_add(&y),
    }
}

fn matrices(d: &mut Draw) -> Result<Tensor> {
    let rank = 2 + d.below(2);
    let mut x = d.float(rank);
    if d.bool() {
        let n = d.small();
        x = Tensor::try_full([n, n], 0.1, DType::F64)?.try_add(&Tensor::try_eye(n, DType::F64)?)?;
    }
    let y = d.like(&x, rank);
    match d.below(15) {
        0 => x.try_cholesky(),
        1 => x.try_solve(&y),
        2 => x.try_inverse(),
        3 => x.try_pinv(None),
        4 => x.try_det(),
        5 => x.try_singular_values(),
        6 => x.try_eigvalsh(),
        7 => x.try_matrix_norm(Norm::Frobenius),
        8 => x.try_expm(),
        9 => x.try_matrix_power([0, 1, -1, 3, i32::MAX, i32::MIN][d.below(6)]),
        10 => qr(&x).map(|found| found.r),
        11 => svd(&x).map(|found| found.s),
        12 => eigh(&x).map(|found| found.values),
        13 => x.try_triangular_solve(&y, Triangle::LOWER),
        _ => {
            let _ = (slogdet(&x), eig(&x), lstsq(&x, &y, None));
            x.try_trace()
        }
    }
}

fn making(d: &mut Draw) -> Result<Tensor> {
    let dims: Vec<usize> = (0..d.rank()).map(|_| d.size()).collect();
    let (key, dtype) = (Key::new(1), d.dtype());
    match d.below(9) {
        0 => Tensor::try_zeros(dims, dtype),
        1 => Tensor::try_full(dims, 1.0, dtype),
        2 => Tensor::try_eye(d.size(), dtype),
        3 => Tensor::try_arange(d.signed() as i64, d.signed() as i64),
        4 => Tensor::try_arange_step(0.0, d.size() as f64, 0.5),
        5 => key.try_normal(dims, dtype),
        6 => key.try_uniform(dims, dtype),
        7 => key.try_bernoulli(0.5, dims),
        _ => key.try_permutation(d.size()),
    }
}

fn elements(d: &mut Draw) -> Result<Tensor> {
    let (rank, other) = (d.rank(), d.rank());
    let x = d.float(rank);
    let y = d.like(&x, other);
    match d.below(8) {
        0 => x.try_mul(&y),
        1 => x.try_maximum(&y),
        2 => x.try_gt(&y),
        3 => x.try_exp(),
        4 => x.try_gelu(),
        5 => x.try_gt(&x)?.try_select(&x, &y),
        6 => x.try_mse_loss(&y, Reduction::Mean),
        _ => x.try_lerp(&y, &y),
    }
}

const CALLS: [(&str, Call, usize); 12] = [
    ("convolutions", convolutions, 6000),
    ("images", images, 4000),
    ("norms", norms, 4000),
    ("attention", attention, 3000),
    ("indexing", indexing, 4000),
    ("sorting", sorting, 3000),
    ("reductions", reductions, 4000),
    ("shapes", shapes, 6000),
    ("products", products, 4000),
    ("matrices", matrices, 3000),
    ("making", making, 3000),
    ("elements", elements, 3000),
];

/// The call under way and when it began.
static NOW: Mutex<Option<(&str, usize, Instant)>> = Mutex::new(None);

/// Ends the process with a name when a call does not return.
fn watch() {
    std::thread::spawn(|| {
        loop {
            std::thread::sleep(Duration::from_secs(1));
            if let Some((name, seed, start)) = *NOW.lock().unwrap()
                && start.elapsed() > Duration::from_secs(100)
            {
                // Not `eprintln`, which a test's output is kept back from.
                let _ = writeln!(std::io::stderr(), "{name} with seed {seed} does not return");
                std::process::abort();
            }
        }
    });
}

/// The numbers of a tensor are read once, and so is its gradient's: both must be there.
fn read(y: &Tensor) {
    if y.numel() <= 1 << 16 {
        assert_eq!(y.to_f64_vec().len(), y.numel());
    }
}

#[test]
fn every_call_returns() {
    watch();
    let (mut results, mut errors, mut failures) = (0, 0, Vec::new());
    // The sanitizer's build is slow; a part of the seeds is enough to walk every call.
    let share = if cfg!(tove_asan) { 4 } else { 1 };
    for (name, call, count) in CALLS {
        for seed in 0..count / share {
            *NOW.lock().unwrap() = Some((name, seed, Instant::now()));
            let mut draw = Draw(seed as u64 * 977 + 5);
            let outcome = catch_unwind(AssertUnwindSafe(|| match call(&mut draw) {
                Ok(y) => {
                    read(&y);
                    if y.is_tracked() && y.numel() <= 1 << 16 {
                        // Backwards too, from a leaf made in front.
                        if let Ok(total) = y.try_sum() {
                            let _ = total.try_backward();
                        }
                    }
                    true
                }
                Err(error) => {
                    assert!(!error.to_string().is_empty());
                    false
                }
            }));
            match outcome {
                Ok(true) => results += 1,
                Ok(false) => errors += 1,
                Err(panic) => {
                    let text = panic.downcast_ref::<String>().map(String::as_str);
                    let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or_default();
                    failures.push(format!("{name} with seed {seed}: {text}"));
                }
            }
        }
    }
    *NOW.lock().unwrap() = None;
    assert!(failures.is_empty(), "{} calls panic:\n{}", failures.len(), failures[..failures.len().min(20)].join("\n"));
    // Neither only errors nor only results.
    assert!(results > 1000 && errors > 1000, "{results} results, {errors} errors");
}

#[test]
fn the_largest_sizes_are_refused_by_name() {
    for exponent in [27, 40, 59] {
        let error = Tensor::try_zeros([1 << exponent], DType::F64).unwrap_err().to_string();
        assert!(error.starts_with("zeros: "), "{error}");
    }
    let x = Tensor::ones([1 << 12], DType::F64);
    let (column, row) = (x.reshape([1 << 12, 1]), x.reshape([1, 1 << 12]));
    assert!(column.try_add(&row).is_err() && column.try_matmul(&row).is_err());
    assert_eq!(f64::DTYPE, DType::F64);
    // Statistics of as many channels as an empty image has, out of one number.
    let image = Tensor::zeros([0, 1 << 40, 3], DType::F64);
    let wide = Tensor::full([1], 1.5, DType::F64).broadcast_to([1 << 40]);
    assert!(image.try_batch_norm_with(&wide, &wide, None, None, 1e-5).is_err());
    // What was refused has left nothing behind: the next call works.
    let leaf = row.requires_grad();
    let y = leaf.matmul(&column);
    assert_eq!(grad_of(&y.sum(), &[&leaf], false).unwrap()[0].to_vec::<f64>(), vec![1.0; 1 << 12]);
}
