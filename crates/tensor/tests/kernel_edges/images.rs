//! Convolutions, pooling, patches and interpolation against plain loops.

use tove_tensor::{Activation, ConvOptions, DType, Interpolation, PoolOptions, Tensor};

use crate::support::{FLOATS, close, gradients, numbers, same, slopes_agree};

/// Sizes of a convolution.
#[derive(Clone, Copy, Debug)]
struct Case {
    images: usize,
    inputs: usize,
    outputs: usize,
    groups: usize,
    image: [usize; 2],
    kernel: [usize; 2],
    stride: [usize; 2],
    padding: [usize; 2],
    dilation: [usize; 2],
}

impl Case {
    fn options(&self) -> ConvOptions {
        let mut o = ConvOptions::new().groups(self.groups);
        (o.stride, o.padding, o.dilation) = (self.stride, self.padding, self.dilation);
        o
    }

    fn result(&self) -> Option<[usize; 2]> {
        let windows = |a: usize| {
            let rest =
                (self.image[a] + 2 * self.padding[a]).checked_sub((self.kernel[a] - 1) * self.dilation[a] + 1)?;
            Some(rest / self.stride[a] + 1)
        };
        Some([windows(0)?, windows(1)?])
    }

    /// Every pair of an output and an input that a tap connects: positions in result, image and filters.
    fn pairs(&self, mut visit: impl FnMut(usize, usize, usize)) {
        let [rows, columns] = self.result().unwrap();
        let [height, width] = self.image;
        let (inputs, outputs) = (self.inputs / self.groups, self.outputs / self.groups);
        for n in 0..self.images {
            for o in 0..self.outputs {
                for (i, j) in (0..rows * columns).map(|p| (p / columns, p % columns)) {
                    for c in 0..inputs {
                        for (s, t) in
                            (0..self.kernel[0] * self.kernel[1]).map(|k| (k / self.kernel[1], k % self.kernel[1]))
                        {
                            let y = (i * self.stride[0] + s * self.dilation[0]).wrapping_sub(self.padding[0]);
                            let x = (j * self.stride[1] + t * self.dilation[1]).wrapping_sub(self.padding[1]);
                            if y < height && x < width {
                                let channel = o / outputs * inputs + c;
                                let source = ((n * self.inputs + channel) * height + y) * width + x;
                                let target = ((n * self.outputs + o) * rows + i) * columns + j;
                                let filter = ((o * inputs + c) * self.kernel[0] + s) * self.kernel[1] + t;
                                visit(target, source, filter);
                            }
                        }
                    }
                }
            }
        }
    }

    fn check(&self, dtype: DType) {
        let Some([rows, columns]) = self.result() else { return };
        let what = format!("{dtype} {self:?}");
        let x = numbers([self.images, self.inputs, self.image[0], self.image[1]], 21, dtype);
        let w = numbers([self.outputs, self.inputs / self.groups, self.kernel[0], self.kernel[1]], 22, dtype);
        let b = numbers([self.outputs], 23, dtype);
        let o = self.options();
        let (xs, ws, bs) = (x.to_f64_vec(), w.to_f64_vec(), b.to_f64_vec());
        let mut plain = vec![0.0; self.images * self.outputs * rows * columns];
        self.pairs(|target, source, filter| plain[target] += xs[source] * ws[filter]);
        close(&x.conv2d(&w, None, &o), &plain, &what);
        let channel = |i: usize| i / (rows * columns) % self.outputs;
        let fused: Vec<f64> = plain.iter().enumerate().map(|(i, y)| (y + bs[channel(i)]).max(0.0)).collect();
        let relu = o.activation(Activation::Relu);
        close(&x.conv2d(&w, Some(&b), &relu), &fused, &what);
        // Gradients of a weighted sum, with and without the rectifier.
        for gated in [false, true] {
            let options = if gated { relu } else { o };
            let found = gradients(|t| t[0].conv2d(&t[1], Some(&t[2]), &options), &[x.clone(), w.clone(), b.clone()]);
            let g = numbers([self.images, self.outputs, rows, columns], 77, dtype).to_f64_vec();
            let g: Vec<f64> = g.iter().zip(&fused).map(|(g, y)| if gated && *y <= 0.0 { 0.0 } else { *g }).collect();
            let (mut dx, mut dw, mut db) = (vec![0.0; xs.len()], vec![0.0; ws.len()], vec![0.0; bs.len()]);
            self.pairs(|target, source, filter| {
                dx[source] += g[target] * ws[filter];
                dw[filter] += g[target] * xs[source];
            });
            g.iter().enumerate().for_each(|(i, g)| db[channel(i)] += g);
            for (found, expected) in found.iter().zip([&dx, &dw, &db]) {
                close(found, expected, &format!("gradient, rectifier {gated}: {what}"));
            }
        }
        // The transposed convolution sends a result back.
        let y = numbers([self.images, self.outputs, rows, columns], 24, dtype);
        let mut back = o;
        for a in 0..2 {
            let covered = ([rows, columns][a] - 1) * self.stride[a] + (self.kernel[a] - 1) * self.dilation[a] + 1;
            back.output_padding[a] = (self.image[a] + 2 * self.padding[a]) - covered;
        }
        let (ys, mut expected) = (y.to_f64_vec(), vec![0.0; xs.len()]);
        self.pairs(|target, source, filter| expected[source] += ys[target] * ws[filter]);
        close(&y.conv_transpose2d(&w, None, &back), &expected, &format!("transposed: {what}"));
    }
}

#[test]
fn convolutions_of_every_form() {
    let base = Case {
        images: 2,
        inputs: 3,
        outputs: 2,
        groups: 1,
        image: [5, 7],
        kernel: [3, 2],
        stride: [1, 1],
        padding: [0, 0],
        dilation: [1, 1],
    };
    let mut cases = Vec::new();
    // Widths of results and channels around those of registers.
    for width in [1, 2, 3, 7, 8, 9, 15, 16, 17, 33] {
        for outputs in [1, 3, 4, 8, 9, 17] {
            cases.push(Case { image: [2, width], kernel: [1, 1], outputs, ..base });
            cases.push(Case { image: [3, width], padding: [1, 1], kernel: [3, 3], outputs, images: 1, ..base });
        }
    }
    // Strides, paddings and dilations beyond kernel and image.
    for stride in [1, 2, 3, 9] {
        for padding in [0, 1, 4, 11] {
            for dilation in [1, 2, 5] {
                for (image, kernel) in [([1, 1], [1, 1]), ([1, 6], [1, 3]), ([4, 5], [2, 3]), ([5, 2], [4, 2])] {
                    let (stride, padding, dilation) = ([stride, 1], [padding, padding / 2], [dilation, 1]);
                    cases.push(Case { image, kernel, stride, padding, dilation, ..base });
                }
            }
        }
    }
    cases.push(Case { inputs: 6, outputs: 4, groups: 2, padding: [2, 0], stride: [2, 3], ..base });
    cases.push(Case { inputs: 5, outputs: 5, groups: 5, padding: [1, 1], ..base });
    cases.push(Case { images: 1, inputs: 1, outputs: 1, image: [1, 1], kernel: [1, 1], ..base });
    // Large enough for the method of fewer multiplications, with odd edges.
    for image in [[6, 6], [7, 9], [13, 5], [4, 30]] {
        for padding in [[0, 0], [1, 1], [2, 1]] {
            cases.push(Case { images: 2, inputs: 9, outputs: 17, image, kernel: [3, 3], padding, ..base });
        }
    }
    for case in cases {
        for dtype in FLOATS {
            case.check(dtype);
        }
    }
}

#[test]
fn pooling_of_every_form() {
    for dtype in FLOATS {
        for image in [[1, 1], [1, 5], [2, 2], [4, 6], [5, 7], [3, 33], [2, 64], [6, 130]] {
            for kernel in [[1, 1], [2, 2], [3, 2], [2, 5], [4, 4]] {
                for stride in [[1, 1], [2, 2], [3, 1], [9, 9]] {
                    for padding in [[0, 0], [1, 1]] {
                        pooled(dtype, image, kernel, stride, padding);
                    }
                }
            }
        }
    }
}

fn pooled(dtype: DType, image: [usize; 2], kernel: [usize; 2], stride: [usize; 2], padding: [usize; 2]) {
    let windows = |a: usize| Some((image[a] + 2 * padding[a]).checked_sub(kernel[a])? / stride[a] + 1);
    let fits = padding[0] <= kernel[0] / 2 && padding[1] <= kernel[1] / 2;
    let mut o = PoolOptions::new(1);
    (o.kernel, o.stride, o.padding) = (kernel, stride, padding);
    let x = numbers([2, 1, image[0], image[1]], 31, dtype);
    let (Some(rows), Some(columns), true) = (windows(0), windows(1), fits) else { return };
    let data = x.to_f64_vec();
    let (mut largest, mut mean) = (Vec::new(), Vec::new());
    let (mut by_largest, mut by_mean) = (vec![0.0; data.len()], vec![0.0; data.len()]);
    let g = numbers([2, 1, rows, columns], 77, dtype).to_f64_vec();
    for (entry, &g) in g.iter().enumerate() {
        let (n, i, j) = (entry / (rows * columns), entry / columns % rows, entry % columns);
        let inside: Vec<usize> = (0..kernel[0] * kernel[1])
            .filter_map(|k| {
                let y = (i * stride[0] + k / kernel[1]).wrapping_sub(padding[0]);
                let x = (j * stride[1] + k % kernel[1]).wrapping_sub(padding[1]);
                (y < image[0] && x < image[1]).then(|| (n * image[0] + y) * image[1] + x)
            })
            .collect();
        let best = *inside.iter().max_by(|&&a, &&b| data[a].total_cmp(&data[b])).unwrap();
        let reach = |a: usize, o: usize| (o * stride[a] + kernel[a]).min(image[a] + 2 * padding[a]) - o * stride[a];
        let count = (reach(0, i) * reach(1, j)) as f64;
        largest.push(data[best]);
        mean.push(inside.iter().map(|&p| data[p]).sum::<f64>() / count);
        by_largest[best] += g;
        inside.iter().for_each(|&p| by_mean[p] += g / count);
    }
    let what = format!("{dtype} {image:?} {o:?}");
    close(&x.max_pool2d(&o), &largest, &what);
    close(&x.avg_pool2d(&o), &mean, &what);
    let inputs = std::slice::from_ref(&x);
    close(&gradients(|x| x[0].max_pool2d(&o), inputs)[0], &by_largest, &what);
    close(&gradients(|x| x[0].avg_pool2d(&o), inputs)[0], &by_mean, &what);
}

#[test]
fn patches_and_back() {
    for (image, kernel) in [([1, 1], [1, 1]), ([3, 4], [2, 3]), ([2, 17], [2, 2])] {
        for stride in [1, 3] {
            for padding in [0, 2] {
                for dilation in [1, 2] {
                    let o = ConvOptions::new().stride(stride).padding(padding).dilation(dilation);
                    let x = numbers([2, 3, image[0], image[1]], 41, DType::F64);
                    // Too large a window is an error, which `tests/size_limits.rs` is about.
                    let reach = |a: usize| (kernel[a] - 1) * dilation < image[a] + 2 * padding;
                    if !(reach(0) && reach(1)) {
                        continue;
                    }
                    let columns = x.unfold(kernel, &o);
                    let y = numbers(columns.shape().clone(), 42, DType::F64);
                    // <unfold x, y> = <x, fold y>
                    let (left, right) = ((&columns * &y).sum(), (&y.fold(image, kernel, &o) * &x).sum());
                    assert!((left.item::<f64>() - right.item::<f64>()).abs() < 1e-9, "{image:?} {o:?}");
                    // A filter of ones sums the rows of its channel.
                    let ones = Tensor::ones([1, 3, kernel[0], kernel[1]], DType::F64);
                    let summed = columns.sum_axes(&[1], true);
                    close(&x.conv2d(&ones, None, &o), &summed.to_f64_vec(), &format!("{image:?} {o:?}"));
                }
            }
        }
    }
}

#[test]
fn other_sizes_of_images() {
    for image in [[1, 1], [2, 3], [5, 1], [4, 7]] {
        for size in [[1, 1], [2, 2], [3, 5], [9, 1], [1, 20]] {
            let inputs = [numbers([2, image[0], image[1]], 51, DType::F64)];
            for method in [Interpolation::Nearest, Interpolation::Bilinear] {
                let y = inputs[0].interpolate(size, method);
                assert_eq!(y.shape(), &[2, size[0], size[1]]);
                // Never outside the range of the image.
                assert!(y.max().item::<f64>() <= inputs[0].max().item::<f64>() + 1e-12);
                slopes_agree(|x| x[0].interpolate(size, method), &inputs, &format!("{image:?} {size:?} {method:?}"));
            }
            let y = inputs[0].adaptive_avg_pool2d(size);
            let window = |a: usize, i: usize| i * image[a] / size[a]..((i + 1) * image[a]).div_ceil(size[a]);
            let data = inputs[0].to_f64_vec();
            let mut expected = Vec::new();
            for entry in 0..2 * size[0] * size[1] {
                let (n, i, j) = (entry / (size[0] * size[1]), entry / size[1] % size[0], entry % size[1]);
                let (rows, columns) = (window(0, i), window(1, j));
                let count = (rows.len() * columns.len()) as f64;
                let sum: f64 = rows
                    .flat_map(|y| columns.clone().map(move |x| (n * image[0] + y) * image[1] + x))
                    .map(|p| data[p])
                    .sum();
                expected.push(sum / count);
            }
            close(&y, &expected, &format!("{image:?} to {size:?}"));
            slopes_agree(|x| x[0].adaptive_avg_pool2d(size), &inputs, &format!("{image:?} to {size:?}"));
            same(&y.adaptive_avg_pool2d(size), &y, "already of this size");
        }
    }
}
