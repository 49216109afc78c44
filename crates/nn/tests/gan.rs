//! Generative adversarial nets: the game, its optimum, and a generator that learns a distribution.

#![allow(clippy::unwrap_used)]

use tove_nn::*;
use tove_optim::{Adam, Optimizer, Sgd};
use tove_tensor::{DType, Key, Tensor};

fn bits(net: &impl Module) -> Vec<Vec<u32>> {
    net.state().iter().map(|(_, tensor)| tensor.to_vec::<f32>().into_iter().map(f32::to_bits).collect()).collect()
}

fn pair(loss: GeneratorLoss) -> Gan<Mlp, Mlp> {
    let mut rng = Rng::new(11);
    Gan::new(Mlp::new(&[2, 8, 1], &mut rng), Mlp::new(&[1, 8, 1], &mut rng)).generator_loss(loss)
}

#[test]
fn l21_game_has_two_losses_and_alternating_updates() {
    let (real, noise) = (Key::new(1).normal([64, 1], DType::F32) + 3.0, Key::new(2).normal([64, 2], DType::F32));
    let pass = Pass::train(Key::new(0));
    // The formula, spelled out with probabilities: E ln D(x) over the data, E ln(1 − D(G(z))) over noise.
    let gan = pair(GeneratorLoss::ZeroSum);
    let d = |x: &Tensor| gan.discriminator.forward(x, &pass).unwrap().sigmoid();
    let fake = gan.generator.forward(&noise, &pass).unwrap();
    let on_fake = (1.0 - d(&fake)).ln().mean().item::<f32>();
    let value = d(&real).ln().mean().item::<f32>() + on_fake;
    let loss_d = gan.discriminator_loss(&real, &noise, &pass).unwrap().item::<f32>();
    assert!((loss_d + value).abs() < 1e-5, "L_D = -V");
    // Zero sum: the generator's loss is the part of V = -L_D that it has a hand in.
    let loss_g = gan.loss_of_generator(&noise, &pass).unwrap().item::<f32>();
    assert!((loss_g - on_fake).abs() < 1e-5);
    let other = pair(GeneratorLoss::NonSaturating).loss_of_generator(&noise, &pass).unwrap().item::<f32>();
    assert!((other + d(&fake).ln().mean().item::<f32>()).abs() < 1e-5);

    // Each side stays bit for bit while the other steps, and loses against it.
    for loss in [GeneratorLoss::ZeroSum, GeneratorLoss::NonSaturating] {
        let mut gan = pair(loss);
        let (generator, discriminator) = (bits(&gan.generator), bits(&gan.discriminator));
        let before = gan.discriminator_loss(&real, &noise, &pass).unwrap().item::<f32>();
        gan.step_discriminator(&real, &noise, &mut Sgd::new(0.1), &pass).unwrap();
        assert!(gan.discriminator_loss(&real, &noise, &pass).unwrap().item::<f32>() < before);
        assert_eq!(bits(&gan.generator), generator);
        assert_ne!(bits(&gan.discriminator), discriminator);
        let discriminator = bits(&gan.discriminator);
        let before = gan.loss_of_generator(&noise, &pass).unwrap().item::<f32>();
        gan.step_generator(&noise, &mut Sgd::new(0.1), &pass).unwrap();
        assert!(gan.loss_of_generator(&noise, &pass).unwrap().item::<f32>() < before);
        assert_eq!(bits(&gan.discriminator), discriminator);
        assert_ne!(bits(&gan.generator), generator);
        // Nothing is left over for the discriminator's next step.
        assert!(gan.discriminator.parameters().iter().all(|parameter| parameter.grad().is_none()));
    }
}

/// D on finitely many outcomes is a table of logits; gradient ascent on V.
fn train_table(p: &[f64], q: &[f64]) -> Vec<f64> {
    let (p, q) = (Tensor::from(p.to_vec()), Tensor::from(q.to_vec()));
    let mut logits = Tensor::zeros([p.numel()], DType::F64).requires_grad();
    let mut adam = Adam::new(0.05);
    for _ in 0..2000 {
        let loss = (&p * (-&logits).softplus() + &q * logits.softplus()).sum();
        loss.backward();
        adam.step(&mut [&mut logits]).unwrap();
    }
    logits.sigmoid().to_vec()
}

#[test]
fn l22_optimum_is_the_ratio_and_the_value_is_minus_ln_4() {
    let p = [0.1, 0.2, 0.3, 0.4];
    for q in [[0.4, 0.3, 0.2, 0.1], [0.25; 4], p] {
        let (learned, best) = (train_table(&p, &q), optimal_discriminator(&p, &q));
        for (d, best) in learned.iter().zip(&best) {
            assert!((d - best).abs() < 1e-3, "{learned:?} {best}");
        }
        // V at the best discriminator: -ln 4 at equality, larger elsewhere.
        let value = game_value(&p, &q, &best);
        if p == q {
            assert!((value + 1.386294).abs() < 1e-6, "{value}");
        } else {
            assert!(value > -1.386294 + 1e-3, "{value}");
        }
        // and no other discriminator does better
        for other in [[0.5; 4], [0.3, 0.4, 0.5, 0.6]] {
            assert!(game_value(&p, &q, &other) <= value + 1e-15);
        }
    }
}

#[test]
fn l22_gan_matches_a_gaussian() {
    let (mean, deviation) = (4.0, 1.5);
    let mut rng = Rng::new(5);
    let generator = Mlp::new(&[1, 16, 1], &mut rng).activation(Nonlinearity::Tanh);
    let discriminator = Mlp::new(&[1, 32, 32, 1], &mut rng).activation(Nonlinearity::LeakyRelu(0.2));
    let mut gan = Gan::new(generator, discriminator);
    let adam = |rate| Adam::new(rate).with(|settings| settings.beta1(0.5));
    let (mut optimizer_d, mut optimizer_g) = (adam(1e-3), adam(1e-3));
    let key = Key::new(3);
    let (mut means, mut deviations) = (Vec::new(), Vec::new());
    for step in 0..6000 {
        let at = key.fold(step);
        let real = at.fold(0).normal([128, 1], DType::F32) * deviation + mean;
        let noise = |stream| at.fold(stream).normal([128, 1], DType::F32);
        let pass = Pass::train(at);
        gan.step_discriminator(&real, &noise(1), &mut optimizer_d, &pass).unwrap();
        gan.step_generator(&noise(2), &mut optimizer_g, &pass).unwrap();
        if step >= 4000 && step % 20 == 0 {
            let sample = gan.generator.forward(&at.fold(9).normal([2000, 1], DType::F32), &Pass::eval()).unwrap();
            means.push(sample.mean().item::<f32>() as f64);
            deviations.push(sample.std(1).item::<f32>() as f64);
        }
    }
    // The two players circle around the optimum; the mean of the circle is what they have learned.
    let average = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (found_mean, found_deviation) = (average(&means), average(&deviations));
    assert!((found_mean / mean - 1.0).abs() < 0.1, "mean {found_mean}");
    assert!((found_deviation / deviation - 1.0).abs() < 0.1, "deviation {found_deviation}");
    assert_eq!(optimizer_d.name(), "Adam");
}
