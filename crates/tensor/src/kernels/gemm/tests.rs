use super::*;
use crate::kernels::simd::isa;

/// Numbers that are exact in either type, and whose products are too.
fn numbers(count: usize, seed: usize) -> Vec<f64> {
    (0..count).map(|i| ((i * 7919 + seed * 104_729) % 61) as f64 / 8.0 - 3.5).collect()
}

trait Real: GemmScalar + std::fmt::Debug {
    const EPSILON: f64;
    fn of(value: f64) -> Self;
    fn value(self) -> f64;
}

impl Real for f32 {
    const EPSILON: f64 = f32::EPSILON as f64;
    fn of(value: f64) -> Self {
        value as f32
    }
    fn value(self) -> f64 {
        f64::from(self)
    }
}

impl Real for f64 {
    const EPSILON: f64 = f64::EPSILON;
    fn of(value: f64) -> Self {
        value
    }
    fn value(self) -> f64 {
        self
    }
}

/// How a matrix lies in memory.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Layout {
    Rows,
    Columns,
    /// Neither rows nor columns adjacent.
    Sparse,
    /// Both strides negative.
    Reversed,
    /// Rows with a gap after each.
    Padded,
    /// All rows the same.
    RepeatedRow,
    /// All columns the same.
    RepeatedColumn,
}

const LAYOUTS: [Layout; 7] = [
    Layout::Rows,
    Layout::Columns,
    Layout::Sparse,
    Layout::Reversed,
    Layout::Padded,
    Layout::RepeatedRow,
    Layout::RepeatedColumn,
];

/// Strides and the index of element (0, 0).
fn place(layout: Layout, rows: usize, cols: usize) -> (isize, isize, usize) {
    let (r, c) = (rows as isize, cols as isize);
    match layout {
        Layout::Rows => (c, 1, 0),
        Layout::Columns => (1, r, 0),
        Layout::Sparse => (3 * c + 2, 3, 1),
        Layout::Reversed => (-c, -1, (rows * cols).saturating_sub(1)),
        Layout::Padded => (c + 5, 1, 2),
        Layout::RepeatedRow => (0, 1, 0),
        Layout::RepeatedColumn => (1, 0, 0),
    }
}

struct Matrix<T> {
    data: Vec<T>,
    rows: usize,
    cols: usize,
    place: (isize, isize, usize),
}

impl<T: Real> Matrix<T> {
    fn new(layout: Layout, rows: usize, cols: usize, seed: usize) -> Self {
        let data = numbers(3 * (rows + 2) * (cols + 6) + 8, seed).into_iter().map(T::of).collect();
        Self { data, rows, cols, place: place(layout, rows, cols) }
    }

    fn view(&self) -> MatRef<T> {
        let (row_stride, col_stride, start) = self.place;
        MatRef { ptr: self.data[start..].as_ptr(), rows: self.rows, cols: self.cols, row_stride, col_stride }
    }

    fn view_mut(&mut self) -> MatMut<T> {
        let (row_stride, col_stride, start) = self.place;
        MatMut { ptr: self.data[start..].as_mut_ptr(), rows: self.rows, cols: self.cols, row_stride, col_stride }
    }

    fn index(&self, i: usize, j: usize) -> usize {
        (self.place.2 as isize + i as isize * self.place.0 + j as isize * self.place.1) as usize
    }

    fn get(&self, i: usize, j: usize) -> f64 {
        self.data[self.index(i, j)].value()
    }
}

#[derive(Clone, Copy, Debug)]
struct Case {
    isa: Isa,
    shape: (usize, usize, usize),
    layouts: (Layout, Layout, Layout),
    alpha: f64,
    beta: f64,
    epilogue: usize,
}

/// Runs a case and compares every element, and that nothing beside the result was written.
fn check<T: Real>(case: Case) {
    let Case { isa, shape: (m, n, k), layouts, alpha, beta, epilogue } = case;
    let a = Matrix::<T>::new(layouts.0, m, k, 1);
    let b = Matrix::<T>::new(layouts.1, k, n, 2);
    let mut c = Matrix::<T>::new(layouts.2, m, n, 3);
    let bias: Vec<T> = numbers(n, 4).into_iter().map(T::of).collect();
    if beta == 0.0 {
        for i in 0..m {
            for j in 0..n {
                let at = c.index(i, j);
                c.data[at] = T::of(f64::NAN);
            }
        }
    }
    let before = c.data.clone();
    let end = [Epilogue::None, Epilogue::Bias(bias.as_ptr()), Epilogue::BiasRelu(bias.as_ptr())][epilogue];
    // SAFETY: the matrices are as large as their views say, and the instruction set is there.
    unsafe { gemm_on(isa, true, T::of(alpha), a.view(), b.view(), T::of(beta), c.view_mut(), end) };
    let mut untouched = vec![true; before.len()];
    // Under the memory checker the plain loop takes minutes; a part of it is enough there.
    let step = if cfg!(tove_asan) { 1 + m * n * k / 5000 } else { 1 };
    for i in 0..m {
        for (j, bias) in bias.iter().enumerate() {
            let at = c.index(i, j);
            untouched[at] = false;
            if !(i * n + j).is_multiple_of(step) {
                continue;
            }
            let (mut sum, mut size) = (0.0, 0.0);
            for p in 0..k {
                sum += a.get(i, p) * b.get(p, j);
                size += (a.get(i, p) * b.get(p, j)).abs();
            }
            let mut expected = alpha * sum;
            size *= alpha.abs();
            if beta != 0.0 {
                expected += beta * before[at].value();
                size += (beta * before[at].value()).abs();
            }
            if epilogue > 0 {
                expected += bias.value();
                size += bias.value().abs();
            }
            if epilogue == 2 {
                expected = expected.max(0.0);
            }
            let difference = (c.data[at].value() - expected).abs();
            let bound = T::EPSILON * (k as f64 + 4.0) * size;
            assert!(difference <= bound, "{case:?} at ({i}, {j}): {:?} for {expected}", c.data[at]);
        }
    }
    for (at, _) in untouched.iter().enumerate().filter(|(_, untouched)| **untouched) {
        assert!(c.data[at] == before[at], "{case:?} wrote beside the result at {at}");
    }
}

fn instruction_sets() -> Vec<Isa> {
    [Isa::Baseline, Isa::Avx2, Isa::Avx512].into_iter().filter(|&candidate| candidate <= isa()).collect()
}

fn both(case: Case) {
    check::<f32>(case);
    check::<f64>(case);
}

const PLAIN: Case = Case {
    isa: Isa::Baseline,
    shape: (1, 1, 1),
    layouts: (Layout::Rows, Layout::Rows, Layout::Rows),
    alpha: 1.0,
    beta: 0.0,
    epilogue: 0,
};

#[test]
fn small_shapes_agree_with_the_triple_loop() {
    let sizes = [0, 1, 2, 3, 5, 6, 7, 8, 13, 14, 15, 16, 17, 29, 31, 32, 33, 40];
    for isa in instruction_sets() {
        for m in sizes {
            for n in sizes {
                for k in [0, 1, 2, 3, 8, 17, 33] {
                    both(Case { isa, shape: (m, n, k), ..PLAIN });
                }
            }
        }
    }
}

#[test]
fn every_layout_agrees_with_the_triple_loop() {
    let outputs = [Layout::Rows, Layout::Columns, Layout::Sparse, Layout::Reversed, Layout::Padded];
    for isa in instruction_sets() {
        for a in LAYOUTS {
            for b in LAYOUTS {
                for c in outputs {
                    for shape in [
                        (1, 1, 5),
                        (1, 37, 19),
                        (23, 1, 19),
                        (7, 9, 1),
                        (30, 41, 19),
                        (17, 70, 35),
                        (2, 300, 40),
                        (300, 3, 40),
                    ] {
                        both(Case { isa, shape, layouts: (a, b, c), ..PLAIN });
                    }
                }
            }
        }
    }
}

#[test]
fn factors_and_epilogues() {
    for isa in instruction_sets() {
        for alpha in [1.0, -0.5, 0.0] {
            for beta in [0.0, 1.0, 0.25] {
                for epilogue in 0..3 {
                    for shape in [
                        (5, 7, 0),
                        (3, 50, 40),
                        (50, 4, 33),
                        (1, 9, 6),
                        (9, 1, 6),
                        (1, 300, 40),
                        (33, 35, 9),
                        (20, 40, 800),
                        (6, 7, 5000),
                    ] {
                        for c in [Layout::Rows, Layout::Columns, Layout::Sparse] {
                            let layouts = (Layout::Rows, Layout::Columns, c);
                            both(Case { isa, shape, alpha, beta, epilogue, layouts });
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn larger_shapes_agree_with_the_triple_loop() {
    let shapes = [(129, 131, 137), (257, 300, 70), (70, 600, 401), (15, 17, 9000), (600, 33, 500), (301, 259, 811)];
    for isa in instruction_sets() {
        for shape in shapes {
            for a in [Layout::Rows, Layout::Columns, Layout::Reversed] {
                for b in [Layout::Rows, Layout::Columns, Layout::Sparse] {
                    check::<f32>(Case { isa, shape, layouts: (a, b, Layout::Rows), ..PLAIN });
                }
            }
            check::<f64>(Case { isa, shape, layouts: (Layout::Columns, Layout::Rows, Layout::Padded), ..PLAIN });
        }
    }
}

#[test]
fn spans_of_more_than_one_block() {
    both(Case { isa: isa(), shape: (4200, 3, 2), ..PLAIN });
    both(Case { isa: isa(), shape: (33, 1, 20_000), layouts: (Layout::Columns, Layout::Rows, Layout::Rows), ..PLAIN });
    both(Case { isa: isa(), shape: (1, 35, 20_000), epilogue: 1, ..PLAIN });
    both(Case { isa: isa(), shape: (3, 4200, 2), layouts: (Layout::Rows, Layout::Columns, Layout::Rows), ..PLAIN });
    both(Case { isa: isa(), shape: (4101, 20, 400), beta: 0.5, epilogue: 2, ..PLAIN });
}

#[test]
fn large_results_of_short_sums() {
    // Rows a multiple of a page apart, then more than the caches hold.
    for isa in instruction_sets() {
        both(Case { isa, shape: (35, 16_384, 9), epilogue: 2, ..PLAIN });
        both(Case { isa, shape: (17, 132_005, 3), ..PLAIN });
    }
}

/// A product into memory that begins `shift` numbers after a cache line, as bits.
fn product_at<T: Real>(isa: Isa, (m, n, k): (usize, usize, usize), shift: usize) -> Vec<u64> {
    let (a, b) = (Matrix::<T>::new(Layout::Rows, m, k, 1), Matrix::<T>::new(Layout::Rows, k, n, 2));
    let bias: Vec<T> = numbers(n, 4).into_iter().map(|value| T::of(value / 3.0)).collect();
    let mut c = vec![T::of(f64::NAN); m * n + 128];
    let start = c.as_ptr().align_offset(64) + shift;
    let view = MatMut::row_major(c[start..].as_mut_ptr(), m, n);
    let end = Epilogue::BiasRelu(bias.as_ptr());
    // SAFETY: the operands are as large as their views say, and the instruction set is there.
    unsafe { gemm_on(isa, true, T::of(1.0), a.view(), b.view(), T::of(0.0), view, end) };
    let nothing = |value: &T| value.value().is_nan();
    assert!(c[..start].iter().all(nothing) && c[start + m * n..].iter().all(nothing), "wrote beside the result");
    c[start..start + m * n].iter().map(|value| value.value().to_bits()).collect()
}

#[test]
fn results_around_the_caches_have_the_same_bits() {
    // Whole lines go around the caches, other places do not; the last columns are not a whole panel.
    for isa in instruction_sets() {
        for shape in [(32, 65_616, 9), (15, 140_048, 4)] {
            assert!(product_at::<f32>(isa, shape, 0) == product_at::<f32>(isa, shape, 1), "{isa:?} {shape:?}");
            assert!(product_at::<f64>(isa, shape, 0) == product_at::<f64>(isa, shape, 1), "{isa:?} {shape:?}");
        }
    }
}

#[test]
fn batches_agree_with_single_products() {
    for (batch, (m, n, k)) in
        [(0, (3, 4, 5)), (1, (9, 8, 7)), (48, (64, 64, 32)), (3, (200, 210, 220)), (7, (33, 1, 65))]
    {
        let a = Matrix::<f32>::new(Layout::Rows, batch * m, k, 1);
        let b = Matrix::<f32>::new(Layout::Rows, batch * n, k, 2);
        let (mut each, mut all) = (vec![f32::NAN; batch * m * n], vec![f32::NAN; batch * m * n]);
        let left = |i: usize| MatRef::row_major(a.data[i * m * k..].as_ptr(), m, k);
        let right = |i: usize| MatRef::row_major(b.data[i * n * k..].as_ptr(), n, k).transposed();
        for i in 0..batch {
            let c = MatMut::row_major(each[i * m * n..].as_mut_ptr(), m, n);
            // SAFETY: the operands are as large as their views say.
            unsafe { gemm(0.5, left(i), right(i), 0.0, c, Epilogue::None) };
        }
        let c = MatMut::row_major(all.as_mut_ptr(), m, n);
        let (sa, sb, sc) = ((m * k) as isize, (n * k) as isize, (m * n) as isize);
        // SAFETY: as above.
        unsafe { gemm_batched(batch, 0.5, left(0), sa, right(0), sb, 0.0, c, sc) };
        assert_eq!(each, all);
    }
}

#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    let shapes = [
        (64, 64, 20_000),
        (300, 300, 300),
        (65, 129, 3000),
        (1, 3000, 700),
        (3000, 1, 700),
        (3, 1000, 300),
        (1000, 4, 300),
        (7, 1, 100_000),
        (1, 1, 300_000),
        (54, 54, 50_001),
        (35, 16_384, 9),
    ];
    for (m, n, k) in shapes {
        for layout in [Layout::Rows, Layout::Columns] {
            let a = Matrix::<f32>::new(layout, m, k, 5);
            let b = Matrix::<f32>::new(layout, k, n, 6);
            let results = [1, 2, 3, 8].map(|threads| {
                crate::set_num_threads(threads);
                let mut c = vec![0.0; m * n];
                let view = MatMut::row_major(c.as_mut_ptr(), m, n);
                // SAFETY: the operands are as large as their views say.
                unsafe { gemm(0.1, a.view(), b.view(), 0.0, view, Epilogue::None) };
                c.into_iter().map(f32::to_bits).collect::<Vec<_>>()
            });
            crate::set_num_threads(0);
            assert!(results.iter().all(|result| *result == results[0]), "{m} {n} {k} {layout:?}");
        }
    }
}

/// A matrix known only by its number of rows and a formula: element (p, j) is `p - 2 j`.
struct Formula(usize);

impl PackB<f64> for Formula {
    fn rows(&self) -> usize {
        self.0
    }

    unsafe fn pack(&self, k0: usize, kc: usize, n0: usize, columns: usize, width: usize, to: *mut f64) {
        for p in 0..kc {
            for j in 0..width {
                let value = if j < columns { (k0 + p) as f64 - 2.0 * (n0 + j) as f64 } else { f64::NAN };
                // SAFETY: the driver gives room for `kc * width` numbers.
                unsafe { *to.add(p * width + j) = value };
            }
        }
    }
}

#[test]
fn a_matrix_can_pack_itself() {
    for (m, n, k) in [(1, 5, 3), (20, 1, 7), (33, 70, 500), (200, 210, 390)] {
        let a = Matrix::<f64>::new(Layout::Rows, m, k, 1);
        let mut c = vec![f64::NAN; m * n];
        let bias = numbers(n, 9);
        let view = MatMut::row_major(c.as_mut_ptr(), m, n);
        // SAFETY: the operands are as large as they say.
        unsafe { multiply(isa(), true, 1.0, a.view(), &Formula(k), 0.0, view, Epilogue::Bias(bias.as_ptr())) };
        for i in 0..m {
            for j in 0..n {
                let expected: f64 = (0..k).map(|p| a.get(i, p) * (p as f64 - 2.0 * j as f64)).sum::<f64>() + bias[j];
                let bound = 1e-12 * (k * (n + k)) as f64;
                assert!((c[i * n + j] - expected).abs() <= bound);
            }
        }
    }
}
