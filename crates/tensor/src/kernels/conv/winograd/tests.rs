//! Against plain loops in double precision and against the direct method, over sizes that the choice would not take too.

use super::super::{Sizes, direct, direct_filter_gradient, direct_transposed};
use super::*;

fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1u32 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn sizes(images: usize, inputs: usize, outputs: usize, image: [usize; 2], padding: usize) -> Sizes {
    Sizes {
        images,
        groups: 1,
        inputs,
        outputs,
        image,
        result: image.map(|size| size + 2 * padding - 2),
        kernel: [3, 3],
        stride: [1, 1],
        padding: [padding; 2],
        dilation: [1, 1],
    }
}

/// Odd sizes, paddings of 0, 1 and 2, one image, channels that fill no register, several blocks and strips.
fn cases() -> Vec<Sizes> {
    vec![
        sizes(3, 32, 64, [14, 14], 1),
        sizes(1, 17, 9, [7, 5], 0),
        sizes(2, 33, 70, [5, 6], 2),
        sizes(2, 1, 3, [9, 8], 1),
        sizes(1, 20, 130, [41, 37], 1),
        sizes(5, 16, 16, [2, 2], 1),
        sizes(1, 3, 5, [1, 1], 1),
        sizes(7, 5, 4, [4, 3], 0),
        sizes(1, 6, 7, [3, 70], 2),
        sizes(40, 8, 8, [6, 6], 1),
    ]
}

/// What a case computes from its numbers: the value and the gradients by image, filters and bias.
struct Results {
    y: Vec<f32>,
    x: Vec<f32>,
    w: Vec<f32>,
    bias: Vec<f32>,
}

struct Case {
    sizes: Sizes,
    x: Vec<f32>,
    w: Vec<f32>,
    bias: Vec<f32>,
    g: Vec<f32>,
    gate: Vec<f32>,
}

impl Case {
    fn new(s: Sizes) -> Case {
        let results = s.images * s.outputs * s.result[0] * s.result[1];
        Case {
            x: numbers(s.images * s.inputs * s.image[0] * s.image[1], 1),
            w: numbers(s.outputs * s.inputs * 9, 2),
            bias: numbers(s.outputs, 3),
            g: numbers(results, 4),
            gate: numbers(results, 5),
            sizes: s,
        }
    }

    fn run(&self, by_winograd: bool) -> Results {
        let s = &self.sizes;
        let mut r = Results {
            y: vec![f32::NAN; self.g.len()],
            x: vec![f32::NAN; self.x.len()],
            w: vec![f32::NAN; self.w.len()],
            bias: vec![f32::NAN; self.bias.len()],
        };
        let (x, w, bias) = (self.x.as_ptr(), self.w.as_ptr(), self.bias.as_ptr());
        let (g, gate) = (self.g.as_ptr(), self.gate.as_ptr());
        let (out, dx, dw, db) = (r.y.as_mut_ptr(), r.x.as_mut_ptr(), r.w.as_mut_ptr(), r.bias.as_mut_ptr());
        // SAFETY: tensors of these sizes.
        unsafe {
            if by_winograd {
                convolve(s, x, w, bias, true, out);
                convolve_transposed(s, g, gate, w, dx);
                filter_gradient(s, x, g, gate, dw, db);
            } else {
                direct(s, x, w, bias, true, out);
                direct_transposed(s, g, gate, w, dx);
                direct_filter_gradient(s, x, g, gate, dw, db);
            }
        }
        r
    }

    /// Calls `visit` with the indices of g, x and w of every product of the trilinear form.
    fn visit(&self, mut visit: impl FnMut(usize, usize, usize)) {
        let s = &self.sizes;
        let ([height, length], [rows, columns]) = (s.image, s.result);
        for n in 0..s.images {
            for o in 0..s.outputs {
                for place in 0..rows * columns {
                    let y = (n * s.outputs + o) * rows * columns + place;
                    for c in 0..s.inputs {
                        for tap in 0..9 {
                            let i = (place / columns + tap / 3).wrapping_sub(s.padding[0]);
                            let j = (place % columns + tap % 3).wrapping_sub(s.padding[1]);
                            if i < height && j < length {
                                let x = ((n * s.inputs + c) * height + i) * length + j;
                                visit(y, x, (o * s.inputs + c) * 9 + tap);
                            }
                        }
                    }
                }
            }
        }
    }

    /// The definition in double precision: y, and the gradients by x, w and bias.
    fn definition(&self) -> [Vec<f64>; 4] {
        let plane = self.sizes.result[0] * self.sizes.result[1];
        let channel = |y: usize| y / plane % self.sizes.outputs;
        let mut y: Vec<f64> = (0..self.g.len()).map(|y| f64::from(self.bias[channel(y)])).collect();
        let (mut dx, mut dw, mut db) = (vec![0.0; self.x.len()], vec![0.0; self.w.len()], vec![0.0; self.bias.len()]);
        let g: Vec<f64> =
            self.g.iter().zip(&self.gate).map(|(&g, &gate)| if gate > 0.0 { f64::from(g) } else { 0.0 }).collect();
        self.visit(|i, j, k| {
            let (x, w) = (f64::from(self.x[j]), f64::from(self.w[k]));
            y[i] += x * w;
            dx[j] += g[i] * w;
            dw[k] += g[i] * x;
        });
        for (i, g) in g.iter().enumerate() {
            db[channel(i)] += g;
        }
        [y.into_iter().map(|y| y.max(0.0)).collect(), dx, dw, db]
    }
}

/// Norm of the difference over the norm.
fn error(a: &[f32], b: impl Iterator<Item = f64>) -> f64 {
    let (mut difference, mut norm) = (0.0, 0.0);
    for (&a, b) in a.iter().zip(b) {
        difference += (f64::from(a) - b).powi(2);
        norm += b * b;
    }
    if norm == 0.0 { difference } else { (difference / norm).sqrt() }
}

#[test]
fn both_methods_meet_the_definition() {
    for s in cases() {
        let case = Case::new(s);
        let wanted = case.definition();
        for (by_winograd, tolerance) in [(true, 3e-6), (false, 1e-6)] {
            let r = case.run(by_winograd);
            for (got, wanted) in [&r.y, &r.x, &r.w, &r.bias].into_iter().zip(&wanted) {
                let error = error(got, wanted.iter().copied());
                assert!(error < tolerance, "{s:?} {by_winograd}: {error:e}");
            }
        }
    }
}

#[test]
fn long_sums_stay_near_the_direct_method() {
    let case = Case::new(sizes(16, 96, 80, [28, 28], 1));
    assert!(pays(&case.sizes));
    let (a, b) = (case.run(true), case.run(false));
    for (a, b) in [(&a.y, &b.y), (&a.x, &b.x), (&a.w, &b.w), (&a.bias, &b.bias)] {
        let error = error(a, b.iter().map(|&b| f64::from(b)));
        assert!(error < 3e-6, "{error:e}");
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<u32>>();
    for s in [sizes(9, 32, 64, [14, 14], 1), sizes(1, 40, 150, [21, 30], 1)] {
        let case = Case::new(s);
        let all = |threads: usize| {
            crate::pool::set_num_threads(threads);
            let r = case.run(true);
            [bits(&r.y), bits(&r.x), bits(&r.w), bits(&r.bias)]
        };
        let one = all(1);
        for threads in [2, 3, 8] {
            assert!(all(threads) == one, "{s:?} on {threads} threads");
        }
    }
    crate::pool::set_num_threads(0);
}

#[test]
fn small_or_other_filters_take_the_direct_method() {
    let fits = sizes(64, 32, 64, [14, 14], 1);
    assert!(pays(&fits));
    let no = [
        Sizes { inputs: 1, ..fits },
        Sizes { outputs: 4, ..fits },
        Sizes { stride: [2, 2], ..fits },
        Sizes { dilation: [1, 2], ..fits },
        Sizes { groups: 2, ..fits },
        Sizes { kernel: [3, 1], ..fits },
        Sizes { padding: [3, 1], ..fits },
        Sizes { images: 0, ..fits },
        sizes(64, 32, 64, [1, 1], 1),
    ];
    for s in no {
        assert!(!pays(&s), "{s:?}");
    }
}
