//! H24 to H29: batch norm and layer norm.

use tove_nn::{BatchNorm, Init, Layer, LayerNorm, Linear, ModuleExt, Nonlinearity, Pass, Rng, Sequential};
use tove_optim::Sgd;
use tove_tensor::{DType, Key, Tensor, gradcheck};

use crate::support::{TOL32, agrees, case, close, near, tensor};

fn train() -> Pass {
    Pass::train(Key::new(0))
}

/// A batch norm in f64 with scale and shift of its own.
fn batch_norm(channels: usize) -> BatchNorm {
    let mut norm = BatchNorm::new(channels);
    norm.to_dtype(DType::F64).unwrap();
    norm.weight = (Key::new(1).uniform([channels], DType::F64) + 0.5).requires_grad();
    norm.bias = Key::new(2).normal([channels], DType::F64).requires_grad();
    norm
}

/// Mean and deviation (1/m) of every channel of (batch, channels, …).
fn statistics(x: &Tensor) -> (Tensor, Tensor) {
    let axes: Vec<isize> = (0..x.rank() as isize).filter(|&axis| axis != 1).collect();
    (x.mean_axes(&axes, false), x.var_axes(&axes, 0, false).sqrt())
}

#[test]
fn h24_outputs_have_the_learned_mean_and_deviation() {
    let norm = batch_norm(3);
    for shape in [&[50, 3][..], &[4, 3, 5, 6]] {
        let x = Key::new(3).normal(shape, DType::F64) * 4.0 + 7.0;
        let (mean, deviation) = statistics(&norm.forward(&x, &train()).unwrap().detach());
        close(&mean, &norm.bias, 1e-5);
        close(&deviation, &norm.weight, 1e-5);
    }
}

#[test]
fn h24_scale_and_shift_can_undo_it() {
    let x = Key::new(4).normal([40, 5], DType::F64) * 3.0 - 2.0;
    let (mean, deviation) = statistics(&x);
    let mut norm = batch_norm(5);
    norm.weight = (deviation.square() + norm.eps).sqrt();
    norm.bias = mean;
    close(&norm.forward(&x, &train()).unwrap(), &x, 1e-10);
}

/// Two batches in training, with the running statistics after each, and one in evaluation.
fn equals_torch(name: &str, channels: usize) {
    let mut norm = BatchNorm::new(channels);
    for part in ["train 1", "train 2", "eval"] {
        let case = case(&format!("{name} {part}"));
        let running = [&norm.running_mean, &norm.running_var];
        close(&running[0].get(), &tensor(case.input("running_mean before")), TOL32);
        norm.zero_grad();
        agrees(&mut norm, case, &if part == "eval" { Pass::eval() } else { train() });
        close(&norm.running_mean.get(), &tensor(case.output("running_mean")), TOL32);
        close(&norm.running_var.get(), &tensor(case.output("running_var")), TOL32);
    }
}

#[test]
fn h24_batch_norm_equals_pytorch() {
    equals_torch("batch norm 1d", 5);
    equals_torch("batch norm 2d", 4);
}

#[test]
fn h25_evaluation_does_not_depend_on_the_batch() {
    let norm = BatchNorm::new(4);
    for batch in 0..10 {
        norm.forward(&(Key::new(batch).normal([16, 4], DType::F32) * 2.0 + 1.0), &train()).unwrap();
    }
    let x = Key::new(99).normal([6, 4], DType::F32);
    let kept = [norm.running_mean.get(), norm.running_var.get()].map(|buffer| buffer.to_vec::<f32>());
    let all = norm.forward(&x, &Pass::eval()).unwrap();
    for row in 0..6 {
        let alone = norm.forward(&x.narrow(0, row, 1), &Pass::eval()).unwrap();
        assert_eq!(alone.to_vec::<f32>(), all.narrow(0, row, 1).to_vec::<f32>());
    }
    let after = [norm.running_mean.get(), norm.running_var.get()].map(|buffer| buffer.to_vec::<f32>());
    assert_eq!(kept, after); // and leaves no trace
}

#[test]
fn h25_rule_of_the_running_statistics() {
    equals_torch("batch norm 1d", 5); // PyTorch's: unbiased variances, momentum 0.1
    let x = Key::new(5).normal([7, 2], DType::F32) * 3.0 + 1.0;
    for (unbiased, correction) in [(true, 1), (false, 0)] {
        let norm = BatchNorm { momentum: 0.3, unbiased, ..BatchNorm::new(2) };
        let (mut mean, mut variance) = (Tensor::zeros([2], DType::F32), Tensor::ones([2], DType::F32));
        for _ in 0..3 {
            norm.forward(&x, &train()).unwrap();
            mean = mean * 0.7 + x.mean_axes(&[0], false) * 0.3;
            variance = variance * 0.7 + x.var_axes(&[0], correction, false) * 0.3;
        }
        close(&norm.running_mean.get(), &mean, TOL32);
        close(&norm.running_var.get(), &variance, TOL32);
    }
}

const WIDTH: usize = 100;

/// Twenty blocks with weights of this deviation; a block is an affine map with the given layers behind it.
fn deep(deviation: f64, block: fn(Sequential) -> Sequential) -> Sequential {
    let mut rng = Rng::new(6);
    (0..20).fold(Sequential::new(), |net, _| {
        let layer = Linear::new(WIDTH, WIDTH, &mut rng).init(Init::Normal(deviation), &mut rng).unwrap();
        block(net.add(layer))
    })
}

/// Variances of the outputs of one kind of layer.
fn variances(net: &Sequential, kind: &str) -> Vec<f64> {
    let pass = train().recording();
    net.forward(&Key::new(7).normal([64, WIDTH], DType::F32), &pass).unwrap();
    let rows = pass.into_record().moments(net).unwrap();
    rows.iter().filter(|row| row.kind == kind).map(|row| row.variance).collect()
}

#[test]
fn h26_either_place_keeps_variances_flat_for_bad_first_values() {
    let before: fn(Sequential) -> Sequential = |net| net.add(BatchNorm::new(WIDTH)).add(Nonlinearity::Relu);
    let after: fn(Sequential) -> Sequential = |net| net.add(Nonlinearity::Relu).add(BatchNorm::new(WIDTH));
    let without: fn(Sequential) -> Sequential = |net| net.add(Nonlinearity::Relu);
    for deviation in [0.01, 1.0] {
        for block in [before, after] {
            let net = deep(deviation, block);
            let normed = variances(&net, "BatchNorm");
            assert_eq!(normed.len(), 20);
            assert!(normed.iter().all(|variance| (variance - 1.0).abs() < 0.01), "{normed:?}");
            let affine = variances(&net, "Linear");
            let (first, last) = (affine[1], affine[19]);
            assert!((0.5..2.0).contains(&(last / first)), "{affine:?}");
        }
        let plain = variances(&deep(deviation, without), "Linear");
        assert!(!(1e-10..1e10).contains(&(plain[19] / plain[0])), "{plain:?}");
    }
}

#[test]
fn h27_derivatives_of_batch_norm() {
    let x = Key::new(8).normal([6, 2], DType::F64) * 2.0 + 0.5;
    let norm = batch_norm(2);
    let inputs = [x.clone(), norm.weight.detach(), norm.bias.detach()];
    let f = |p: &[Tensor]| {
        let norm = BatchNorm { weight: p[1].clone(), bias: p[2].clone(), ..norm.clone() };
        norm.forward(&p[0], &train()).unwrap().sin()
    };
    gradcheck(f, &inputs).unwrap();
    equals_torch("batch norm 1d", 5);
    equals_torch("batch norm 2d", 4);
    // A shift of the whole batch changes nothing, so the gradients of its samples add up to 0.
    let x = x.requires_grad();
    (norm.forward(&x, &train()).unwrap() * Key::new(9).normal([6, 2], DType::F64)).sum().backward();
    let gradient = x.grad().unwrap();
    assert!(gradient.abs().max().item::<f64>() > 1e-2);
    assert!(gradient.sum_axes(&[0], false).abs().max().item::<f64>() < 1e-12);
}

/// Batch norm with ε = 1e-10 behind a linear map without bias, in f64.
fn normed(weight: &Tensor, x: &Tensor) -> Tensor {
    let mut norm = BatchNorm::new(weight.dims()[0]);
    norm.to_dtype(DType::F64).unwrap();
    norm.eps = 1e-10;
    norm.forward(&x.matmul(&weight.t()), &train()).unwrap()
}

#[test]
fn h28_batch_norm_does_not_feel_the_scale_of_weights() {
    let (w, x) = (Key::new(10).normal([4, 6], DType::F64), Key::new(11).normal([32, 6], DType::F64));
    let norm = BatchNorm { eps: 1e-10, ..batch_norm(6) };
    let apply = |z: &Tensor| norm.forward(z, &train()).unwrap().detach();
    for scale in [0.1, 3.0, 50.0] {
        close(&apply(&(&x * scale + 5.0)), &apply(&x), 1e-4);
        close(&normed(&(&w * scale), &x), &normed(&w, &x), 1e-4);
        // A negative factor changes the sign of the normalised value.
        close(&normed(&(&w * -scale), &x), &-normed(&w, &x), 1e-4);
    }
    let w = w.requires_grad();
    (normed(&w, &x) * Key::new(12).normal([32, 4], DType::F64)).sum().backward();
    let gradient = w.grad().unwrap();
    for unit in 0..4 {
        let (w, g) = (w.detach().get(unit), gradient.get(unit));
        let cosine = w.dot(&g).item::<f64>() / (w.norm(2.0) * g.norm(2.0)).item::<f64>();
        near(cosine, 0.0, 1e-8);
    }
}

/// The way that the direction of W goes over the last of 300 noisy steps, and its length at the end.
fn way(decay: f64) -> (f64, f64) {
    let mut w = Key::new(13).normal([1, 6], DType::F64).requires_grad();
    let mut sgd = Sgd::new(0.05).with(|settings| settings.weight_decay(decay));
    let mut turned = 0.0;
    for step in 0..300 {
        let x = Key::new(500 + step).normal([16, 6], DType::F64);
        let y = Key::new(900 + step).normal([16, 1], DType::F64);
        (normed(&w, &x) - y).square().mean().backward();
        let before = w.detach();
        sgd.step(&mut [&mut w]).unwrap();
        let after = w.detach();
        let cosine = (&before * &after).sum() / (before.norm(2.0) * after.norm(2.0));
        if step >= 200 {
            turned += cosine.item::<f64>().min(1.0).acos();
        }
    }
    (turned, w.detach().norm(2.0).item())
}

#[test]
fn h28_weight_decay_turns_the_weights_faster() {
    let ((slow, long), (fast, short)) = (way(0.0), way(0.1));
    // The effective step is η / ‖W‖²: the shorter W is, the faster it turns.
    assert!(short < 0.8 * long && fast > 1.3 * slow, "{slow} {fast}, lengths {long} {short}");
}

#[test]
fn h29_layer_norm_equals_pytorch_in_both_phases() {
    for pass in [train(), Pass::eval()] {
        agrees(&mut LayerNorm::new(6), case("layer norm"), &pass);
        agrees(&mut LayerNorm::over([3, 2]), case("layer norm of two axes"), &pass);
    }
}

#[test]
fn h29_a_sample_does_not_feel_its_batch_mates() {
    let norm = LayerNorm::new(8);
    let x = Key::new(14).normal([5, 8], DType::F32);
    let all = norm.forward(&x, &train()).unwrap();
    for row in 0..5 {
        let alone = norm.forward(&x.narrow(0, row, 1), &train()).unwrap();
        assert_eq!(alone.to_vec::<f32>(), all.narrow(0, row, 1).to_vec::<f32>());
    }
}
