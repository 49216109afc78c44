//! Matrix products and attention of every size, and linear algebra on the smallest ones.

use tove_tensor::linalg::{Norm, eig, eigh, lstsq, qr, slogdet, svd};
use tove_tensor::{Activation, DType, Tensor};

use crate::support::{FLOATS, close, gradients, numbers, same};

fn product(a: &Tensor, b: &Tensor) -> Vec<f64> {
    let (m, k, n) = (a.dims()[0], a.dims()[1], b.dims()[1]);
    let (a, b) = (a.to_f64_vec(), b.to_f64_vec());
    (0..m * n).map(|p| (0..k).map(|i| a[p / n * k + i] * b[i * n + p % n]).sum()).collect()
}

/// The same matrix in other memory.
fn layouts(x: &Tensor) -> Vec<Tensor> {
    let reversed = x.flip(&[0, 1]).contiguous().flip(&[0, 1]);
    let gaps = x.repeat_interleave(2, 1);
    vec![x.clone(), x.t().contiguous().t(), reversed, gaps.slice(1, 0, gaps.dims()[1], 2)]
}

#[test]
fn products_of_every_size_and_layout() {
    const SIZES: [usize; 12] = [0, 1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 33];
    for dtype in FLOATS {
        for m in SIZES {
            for n in SIZES {
                for k in [0, 1, 2, 5, 17, 40] {
                    let (a, b) = (numbers([m, k], 61, dtype), numbers([k, n], 62, dtype));
                    let expected = product(&a, &b);
                    close(&a.matmul(&b), &expected, &format!("{dtype} {m} {k} {n}"));
                    let bias = numbers([n], 63, dtype);
                    let affine = a.linear(&b.t(), Some(&bias), Activation::Relu);
                    let biases = bias.to_f64_vec();
                    let gated: Vec<f64> =
                        expected.iter().enumerate().map(|(i, y)| (y + biases[i % n]).max(0.0)).collect();
                    close(&affine, &gated, &format!("affine {dtype} {m} {k} {n}"));
                }
            }
        }
        for (m, k, n) in
            [(1, 9, 1), (3, 1, 5), (1, 40, 7), (9, 33, 1), (17, 8, 19), (65, 70, 3), (2, 5000, 3), (70, 130, 90)]
        {
            let (a, b) = (numbers([m, k], 64, dtype), numbers([k, n], 65, dtype));
            let expected = product(&a, &b);
            let scale = Tensor::full([1], 1.0 / k as f64, dtype);
            for (i, a) in layouts(&a).iter().enumerate() {
                for (j, b) in layouts(&b).iter().enumerate() {
                    // Long sums are compared by their mean.
                    let expected: Vec<f64> = expected.iter().map(|y| y / k as f64).collect();
                    close(&(a.matmul(b) * &scale), &expected, &format!("{dtype} {m} {k} {n}, layouts {i} and {j}"));
                }
            }
        }
    }
}

#[test]
fn products_of_stacks() {
    for dtype in FLOATS {
        for (left, right) in [
            (vec![3, 2, 4], vec![4, 5]),
            (vec![2, 4], vec![3, 4, 5]),
            (vec![2, 1, 3, 4], vec![5, 4, 1]),
            (vec![0, 2, 4], vec![4, 5]),
            (vec![3, 0, 4], vec![4, 5]),
            (vec![3, 2, 0], vec![0, 5]),
            (vec![1, 3, 1, 4], vec![2, 1, 4, 6]),
        ] {
            let (a, b) = (numbers(left.clone(), 66, dtype), numbers(right.clone(), 67, dtype));
            let y = a.matmul(&b);
            let lead = a.dims()[..a.rank() - 2].to_vec();
            let batch =
                tove_tensor::Shape::from(lead).broadcast(&tove_tensor::Shape::new(&b.dims()[..b.rank() - 2])).unwrap();
            let stretched = |x: &Tensor| {
                let tail = &x.dims()[x.rank() - 2..];
                let shape: Vec<usize> = batch.iter().chain(tail).copied().collect();
                x.broadcast_to(shape).reshape([batch.numel(), tail[0], tail[1]])
            };
            let (sa, sb) = (stretched(&a), stretched(&b));
            let expected: Vec<f64> = (0..batch.numel()).flat_map(|i| product(&sa.get(i), &sb.get(i))).collect();
            close(&y, &expected, &format!("{dtype} {left:?} {right:?}"));
            let grads = gradients(|t| t[0].matmul(&t[1]), &[a.clone(), b.clone()]);
            let by_sum = gradients(
                |t| (t[0].unsqueeze(-1) * t[1].unsqueeze(-3)).sum_axes(&[-2], false),
                &[a.clone(), b.clone()],
            );
            for (found, expected) in grads.iter().zip(&by_sum) {
                same(found, expected, &format!("gradient {dtype} {left:?} {right:?}"));
            }
        }
    }
}

#[test]
fn attention_of_every_size() {
    for dtype in FLOATS {
        for (queries, keys) in [(1, 1), (1, 5), (3, 1), (64, 128), (65, 129), (17, 130), (2, 0)] {
            for (width, out) in [(1, 1), (4, 3), (17, 16)] {
                for causal in [false, true] {
                    let inputs = [
                        numbers([2, queries, width], 71, dtype),
                        numbers([2, keys, width], 72, dtype),
                        numbers([2, keys, out], 73, dtype),
                    ];
                    let by_parts = |t: &[Tensor]| {
                        let mut scores = t[0].matmul(&t[1].t_last()) * (1.0 / (width as f64).sqrt());
                        if causal {
                            let hidden = Tensor::ones([queries, keys], DType::F64).triu(1).gt_scalar(0.5);
                            scores = scores.masked_fill(&hidden, f64::NEG_INFINITY);
                        }
                        scores.softmax(-1).matmul(&t[2])
                    };
                    let fused = |t: &[Tensor]| t[0].scaled_dot_product_attention(&t[1], &t[2], causal, None, None);
                    let what = format!("{dtype} {queries} {keys} {width} {out} {causal}");
                    same(&fused(&inputs), &by_parts(&inputs), &what);
                    for (found, expected) in gradients(fused, &inputs).iter().zip(gradients(by_parts, &inputs)) {
                        same(found, &expected, &format!("gradient {what}"));
                    }
                }
            }
        }
        for (tokens, heads, width) in [(1, 1, 1), (5, 2, 3), (70, 3, 4)] {
            let packed = numbers([2, tokens, 3 * heads * width], 74, dtype);
            let y = packed.packed_attention(heads, true, None, None);
            let apart = packed.reshape([2, tokens, 3 * heads, width]).swap_axes(1, 2);
            let part = |i: usize| apart.narrow(1, i * heads, heads);
            let mixed = part(0).scaled_dot_product_attention(&part(1), &part(2), true, None, None);
            same(&y, &mixed.swap_axes(1, 2).reshape([2, tokens, heads * width]), "packed");
        }
    }
}

trait LastTwo {
    fn t_last(&self) -> Tensor;
}

impl LastTwo for Tensor {
    fn t_last(&self) -> Tensor {
        self.swap_axes(-1, -2)
    }
}

#[test]
fn linear_algebra_on_small_matrices() {
    for dtype in FLOATS {
        for n in [1, 2, 3, 5, 8, 17, 33] {
            let b = numbers([n, n], 81, dtype);
            let a = b.matmul(&b.t()) + &(Tensor::eye(n, dtype) * n as f64);
            for a in layouts(&a) {
                let what = format!("{dtype} {n}");
                let l = a.cholesky();
                same(&l.matmul(&l.t()), &a, &what);
                let eye = Tensor::eye(n, dtype);
                same(&a.matmul(&a.inverse()), &eye, &what);
                same(&a.matmul(&a.solve(&b)), &b, &what);
                let found = qr(&a).unwrap();
                same(&found.q.matmul(&found.r), &a, &what);
                let found = svd(&a).unwrap();
                same(&(found.u * found.s.unsqueeze(0)).matmul(&found.vt), &a, &what);
                let found = eigh(&a).unwrap();
                same(&(&found.vectors * found.values.unsqueeze(0)).matmul(&found.vectors.t()), &a, &what);
                let log = slogdet(&a).unwrap();
                assert!(log.logdet.item_f64().is_finite() && eig(&a).is_ok(), "{what}");
                let root = a.matrix_norm(Norm::Frobenius).item_f64();
                close(&a.square().sum(), &[root * root], &what);
                let fitted = lstsq(&a, &b, None).unwrap();
                same(&a.matmul(&fitted.solution), &b, &what);
            }
        }
    }
}

trait Item {
    fn item_f64(&self) -> f64;
}

impl Item for Tensor {
    fn item_f64(&self) -> f64 {
        self.to_f64_vec()[0]
    }
}
