//! Generative adversarial nets on a mixture in the plane and on digits: all eight modes are found; the discriminator ends
//! near 1/2 on digits, and the generator's images have the digits' mean.

use tove::nn::Gan;
use tove::prelude::*;

type Failure = Box<dyn std::error::Error>;

fn adam(rate: f64) -> Adam {
    Adam::new(rate).with(|settings| settings.beta1(0.5))
}

/// Alternating steps on batches of `data`; returns the trained pair.
fn train(data: &Tensor, noise: usize, sizes: [&[usize]; 2], steps: u64, rate: f64) -> Result<Gan<Mlp, Mlp>, Failure> {
    let mut rng = Rng::new(3);
    let slope = Nonlinearity::LeakyRelu(0.2);
    let [generator, discriminator] = sizes.map(|sizes| Mlp::new(sizes, &mut rng).activation(slope));
    let mut gan = Gan::new(generator, discriminator);
    let (mut first, mut second) = (adam(rate), adam(rate));
    for step in 0..steps {
        let key = Key::new(7).fold(step);
        let rows = key.fold(0).integers(0, data.dims()[0] as i64, [128]);
        let z = |stream| key.fold(stream).normal([128, noise], DType::F32);
        let pass = Pass::train(key);
        gan.step_discriminator(&data.index_select(0, &rows), &z(1), &mut first, &pass)?;
        gan.step_generator(&z(2), &mut second, &pass)?;
    }
    Ok(gan)
}

fn main() -> Result<(), Failure> {
    // Eight modes on a circle of radius 2.
    let angle = |k: usize| std::f64::consts::TAU * k as f64 / 8.0;
    let centres: Vec<[f64; 2]> = (0..8).map(|k| [2.0 * angle(k).cos(), 2.0 * angle(k).sin()]).collect();
    let ring = data::sets::blobs(8000, &centres, 0.1, Key::new(1))?;
    let gan = train(&ring.x().to_dtype(DType::F32), 8, [&[8, 128, 128, 2], &[2, 128, 128, 1]], 12_000, 5e-4)?;
    let points = gan.generator.forward(&Key::new(5).normal([2000, 8], DType::F32), &Pass::eval())?.to_vec::<f32>();
    let mut found = [0usize; 8];
    for point in points.chunks(2) {
        let distance = |c: &[f64; 2]| (c[0] - point[0] as f64).hypot(c[1] - point[1] as f64);
        let nearest = (0..8).min_by(|&a, &b| distance(&centres[a]).total_cmp(&distance(&centres[b])));
        found[nearest.unwrap_or(0)] += usize::from(distance(&centres[nearest.unwrap_or(0)]) < 0.5);
    }
    println!("points near each of the eight modes: {found:?}");
    assert!(found.iter().all(|&count| count >= 5) && found.iter().sum::<usize>() >= 1500);

    let digits = data::sets::digits()?.x().flatten(1) * 2.0 - 1.0;
    let gan = train(&digits, 32, [&[32, 256, 256, 64], &[64, 256, 256, 1]], 6000, 2e-4)?;
    let fake = gan.generator.forward(&Key::new(6).normal([1000, 32], DType::F32), &Pass::eval())?;
    for row in 0..8usize {
        let line = |image: usize| -> String {
            let pixel = |column: usize| fake.at::<f32>(&[image, row * 8 + column]);
            (0..8).map(|column| [' ', '.', 'o', '#'][((pixel(column) + 1.0) * 2.0).clamp(0.0, 3.0) as usize]).collect()
        };
        println!("{}", (0..8).map(line).collect::<Vec<_>>().join("  "));
    }
    let score = |x: &Tensor| gan.discriminator.forward(x, &Pass::eval()).map(|s| s.sigmoid().mean().item::<f32>());
    let away = (fake.mean_axes(&[0], false) - digits.mean_axes(&[0], false)).abs().mean().item::<f32>();
    println!("discriminator on real {:.2}, on made {:.2}; mean image off by {away:.3}", score(&digits)?, score(&fake)?);
    assert!(away < 0.15 && score(&fake)? > 0.2);
    Ok(())
}
