//! Generative adversarial nets: the game, its optimum, and a generator that learns a distribution.

#![allow(clippy::unwrap_used)]

use tove_nn::*;
use tove_optim::{Adam, Schedule, Sgd};
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
        // What was learned has nearly this value: V is flat at its maximum, so that errors of 1e-3 in D cost their square.
        assert!((game_value(&p, &q, &learned) - value).abs() < 1e-5);
    }
    // Larger elsewhere, wherever that is: V = −ln 4 + 2 JSD(p, q), and a divergence is positive unless p = q.
    for seed in 0..200 {
        let weights = Key::new(seed).uniform([4], DType::F64).to_vec::<f64>();
        let sum: f64 = weights.iter().sum();
        let q: Vec<f64> = weights.iter().map(|weight| weight / sum).collect();
        let divergence = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * (a / b).ln()).sum::<f64>();
        let middle: Vec<f64> = p.iter().zip(&q).map(|(p, q)| (p + q) / 2.0).collect();
        let twice_jsd = divergence(&p, &middle) + divergence(&q, &middle);
        let value = game_value(&p, &q, &optimal_discriminator(&p, &q));
        assert!(twice_jsd > 0.0 && (value + 4f64.ln() - twice_jsd).abs() < 1e-12, "{q:?}: {value}");
    }
}

/// The game against N(mean, deviation²), with step sizes that fall to 0 so that the players stop circling: mean and
/// deviation of 50,000 samples of the last generator, and the discriminator's D at places within two deviations.
fn gaussian_game(mean: f64, deviation: f64, seed: u64) -> (f64, f64, Vec<f64>) {
    let mut rng = Rng::new(seed);
    let generator = Mlp::new(&[1, 16, 1], &mut rng).activation(Nonlinearity::Tanh);
    let discriminator = Mlp::new(&[1, 32, 32, 1], &mut rng).activation(Nonlinearity::LeakyRelu(0.2));
    let mut gan = Gan::new(generator, discriminator);
    let adam = || Adam::new(1e-3).with(|settings| settings.beta1(0.5));
    let (mut optimizer_d, mut optimizer_g) = (adam(), adam());
    let (key, steps) = (Key::new(seed + 3), 6000);
    let schedule = Schedule::cosine(steps);
    for step in 0..steps {
        let at = key.fold(step);
        let real = at.fold(0).normal([128, 1], DType::F32) * deviation + mean;
        let noise = |stream| at.fold(stream).normal([128, 1], DType::F32);
        let pass = Pass::train(at);
        schedule.apply(&mut optimizer_d, 1e-3, step).unwrap();
        schedule.apply(&mut optimizer_g, 1e-3, step).unwrap();
        gan.step_discriminator(&real, &noise(1), &mut optimizer_d, &pass).unwrap();
        gan.step_generator(&noise(2), &mut optimizer_g, &pass).unwrap();
    }
    let sample = gan.generator.forward(&key.fold(1 << 40).normal([50_000, 1], DType::F32), &Pass::eval()).unwrap();
    let places: Vec<f32> = (-4..=4).map(|i| (mean + 0.5 * f64::from(i) * deviation) as f32).collect();
    let d = gan.discriminator.forward(&Tensor::from_vec(places, [9, 1]), &Pass::eval()).unwrap().sigmoid();
    (sample.mean().item::<f32>() as f64, sample.std(1).item::<f32>() as f64, d.to_f64_vec())
}

#[test]
fn l22_gan_matches_a_gaussian() {
    let (mean, deviation) = (4.0, 1.5);
    for seed in [5, 6, 7] {
        let (found_mean, found_deviation, d) = gaussian_game(mean, deviation, seed);
        println!("seed {seed}: mean {found_mean}, deviation {found_deviation}, D {d:.2?}");
        // The clause's 10%; the sample itself is known to 1.5 / √50,000 = 0.007, a fiftieth of the bound.
        assert!((found_mean / mean - 1.0).abs() < 0.1, "seed {seed}: mean {found_mean}");
        assert!((found_deviation / deviation - 1.0).abs() < 0.1, "seed {seed}: deviation {found_deviation}");
        // Near the optimum the discriminator can no longer tell: D is near 1/2 where the data are.
        assert!(d.iter().all(|d| (d - 0.5).abs() < 0.15), "seed {seed}: {d:?}");
    }
}
