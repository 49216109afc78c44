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

const STATES: usize = 20;

/// As many one-hot rows of each outcome as `counts` says, f64.
fn one_hot_rows(counts: &[usize]) -> Tensor {
    let rows = counts.iter().enumerate().flat_map(|(outcome, &count)| std::iter::repeat_n(outcome as i64, count));
    Tensor::from(rows.collect::<Vec<i64>>()).one_hot(counts.len(), DType::F64)
}

/// A game on finitely many outcomes, each a one-hot vector: noise is one of 20 states, all equally likely; a linear
/// generator sends `counts` of them to each outcome; a linear discriminator has one logit for each outcome.
fn finite_game(counts: &[usize]) -> (Gan<Linear, Linear>, Tensor) {
    assert_eq!(counts.iter().sum::<usize>(), STATES);
    let mut rng = Rng::new(1);
    let mut generator = Linear::new(STATES, counts.len(), &mut rng).without_bias();
    let mut discriminator = Linear::new(counts.len(), 1, &mut rng).without_bias();
    generator.to_dtype(DType::F64).unwrap();
    discriminator.to_dtype(DType::F64).unwrap();
    generator.weight = one_hot_rows(counts).t().contiguous().requires_grad();
    (Gan::new(generator, discriminator), Tensor::eye(STATES, DType::F64))
}

/// D for every outcome and V after the discriminator has minimised `Gan::discriminator_loss`.
fn best_response(data: &[usize], generated: &[usize]) -> (Vec<f64>, f64) {
    let ((mut gan, noise), real) = (finite_game(generated), one_hot_rows(data));
    let (mut adam, pass, steps) = (Adam::new(0.3), Pass::train(Key::new(0)), 3000);
    let before = gan.generator.weight.to_vec::<f64>();
    for step in 0..steps {
        Schedule::cosine(steps).apply(&mut adam, 0.3, step).unwrap();
        gan.step_discriminator(&real, &noise, &mut adam, &pass).unwrap();
    }
    assert_eq!(gan.generator.weight.to_vec::<f64>(), before);
    let d = gan.discriminator.forward(&Tensor::eye(data.len(), DType::F64), &pass).unwrap().sigmoid().to_vec();
    (d, -gan.discriminator_loss(&real, &noise, &pass).unwrap().item::<f64>())
}

/// p and q from counts, p / (p + q), and −ln 4 + 2 JSD(p, q), term by term.
fn by_formula(data: &[usize], generated: &[usize]) -> (Vec<f64>, f64) {
    let share = |counts: &[usize]| counts.iter().map(|&count| count as f64 / STATES as f64).collect::<Vec<_>>();
    let (p, q) = (share(data), share(generated));
    let ratio = p.iter().zip(&q).map(|(p, q)| p / (p + q)).collect();
    let term = |a: f64, b: f64| if a > 0.0 { a * (2.0 * a / (a + b)).ln() } else { 0.0 };
    let twice_jsd: f64 = p.iter().zip(&q).map(|(&p, &q)| term(p, q) + term(q, p)).sum();
    (ratio, twice_jsd - 4f64.ln())
}

#[test]
fn l22_optimum_is_the_ratio_and_the_value_is_minus_ln_4() {
    let data = [2, 4, 6, 8];
    let elsewhere =
        [[8, 6, 4, 2], [5, 5, 5, 5], [3, 3, 6, 8], [2, 4, 7, 7], [1, 1, 1, 17], [0, 4, 8, 8], [20, 0, 0, 0]];
    for generated in elsewhere.into_iter().chain([data]) {
        let (learned, value) = best_response(&data, &generated);
        let (best, expected) = by_formula(&data, &generated);
        for (d, best) in learned.iter().zip(&best) {
            assert!((d - best).abs() < 1e-3, "{generated:?}: {learned:?} {best:?}");
        }
        // V is flat at its maximum, except where D* is 0 or 1, which no finite logit gives.
        let tolerance = if generated.contains(&0) { 1e-3 } else { 1e-6 };
        assert!((value - expected).abs() < tolerance, "{generated:?}: V {value}, by formula {expected}");
        if generated == data {
            assert!((value + 1.386294).abs() < 1e-6, "{value}");
            assert!(learned.iter().all(|d| (d - 0.5).abs() < 1e-3), "{learned:?}");
        } else {
            assert!(value > -1.386294 + 1e-3, "{generated:?}: {value}");
        }
        // The formulas that the library has agree.
        let share = |counts: &[usize]| counts.iter().map(|&count| count as f64 / STATES as f64).collect::<Vec<_>>();
        let (p, q) = (share(&data), share(&generated));
        assert_eq!(optimal_discriminator(&p, &q), best);
        assert!((game_value(&p, &q, &best) - expected).abs() < 1e-12);
        // No other discriminator does better, and the generator cannot reach less than at p_g = p_data.
        for other in [[0.5; 4], [0.3, 0.4, 0.5, 0.6]] {
            assert!(game_value(&p, &q, &other) <= expected + 1e-15);
        }
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
