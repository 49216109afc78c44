//! Numbers both sides make for themselves: the same formula stands in `bench/peers/data.py`.
//!
//! Index `i` of the stream `seed` is a multiplicative hash of the counter, 32 bits of it; a value takes the upper 24.

// Not every function has a user yet: they are the vocabulary of the workloads.
#![allow(dead_code)]

/// 32 pseudo-random bits for one index of a stream.
fn hash(seed: u32, index: usize) -> u32 {
    // Only the low 32 bits of the counter matter: all arithmetic is modulo 2^32.
    let counter = (index as u32).wrapping_add(1);
    let mut z = counter.wrapping_mul(2_654_435_761).wrapping_add(seed.wrapping_mul(40_503));
    z ^= z >> 16;
    z = z.wrapping_mul(2_246_822_519);
    z ^= z >> 13;
    z = z.wrapping_mul(3_266_489_917);
    z ^ (z >> 16)
}

/// Values in [-scale, scale).
pub fn fill_f64(seed: u32, count: usize, scale: f64) -> Vec<f64> {
    let value = |index| (f64::from(hash(seed, index) >> 8) / 16_777_216.0 * 2.0 - 1.0) * scale;
    (0..count).map(value).collect()
}

/// The same values, rounded to f32.
pub fn fill_f32(seed: u32, count: usize, scale: f64) -> Vec<f32> {
    fill_f64(seed, count, scale).into_iter().map(|value| value as f32).collect()
}

/// Class numbers below `classes`.
pub fn labels(seed: u32, count: usize, classes: u32) -> Vec<i64> {
    (0..count).map(|index| i64::from((hash(seed, index) >> 8) % classes)).collect()
}

/// Weight (out, in) and bias (out) of each layer, in [-1/sqrt(in), 1/sqrt(in)); seeds 10, 11, 12, ...
pub fn mlp_parameters(sizes: &[usize]) -> Vec<(Vec<f32>, Vec<f32>)> {
    let layer = |(index, pair): (usize, &[usize])| {
        let (scale, seed) = (1.0 / (pair[0] as f64).sqrt(), 10 + 2 * index as u32);
        (fill_f32(seed, pair[1] * pair[0], scale), fill_f32(seed + 1, pair[1], scale))
    };
    sizes.windows(2).enumerate().map(layer).collect()
}

/// The images and labels of a step of a loss curve: each class has a pattern, which noise is added to.
pub fn image_batch(step: u32, batch: usize, pixels: usize, classes: u32, strength: f64) -> (Vec<f32>, Vec<i64>) {
    let patterns = fill_f32(3, classes as usize * pixels, strength);
    let chosen = labels(1001 + 2 * step, batch, classes);
    let mut images = fill_f32(1000 + 2 * step, batch * pixels, 1.0);
    for (image, &class) in images.chunks_exact_mut(pixels).zip(&chosen) {
        let pattern = &patterns[class as usize * pixels..][..pixels];
        image.iter_mut().zip(pattern).for_each(|(pixel, add)| *pixel += add);
    }
    (images, chosen)
}

/// The tokens of a step of a loss curve: of ten, six follow from the one before, three from the one before that.
pub fn token_batch(step: u32, batch: usize, length: usize, vocabulary: u32) -> Vec<i64> {
    let count = vocabulary as usize;
    let (after_one, after_two) = (labels(3, count, vocabulary), labels(4, count, vocabulary));
    let choice = labels(1000 + 2 * step, batch * length, 10);
    let mut tokens = labels(1001 + 2 * step, batch * length, vocabulary);
    for (text, choice) in tokens.chunks_exact_mut(length).zip(choice.chunks_exact(length)) {
        for place in 2..length {
            match choice[place] {
                0..6 => text[place] = after_one[text[place - 1] as usize],
                6..9 => text[place] = after_two[text[place - 2] as usize],
                _ => {}
            }
        }
    }
    tokens
}

/// The quality of one result of a kernel; those of several results are added up.
pub fn root_mean_square(values: &[f64]) -> f64 {
    (values.iter().map(|value| value * value).sum::<f64>() / values.len() as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_in_range_and_streams_differ() {
        let values = fill_f64(1, 10_000, 3.0);
        assert!(values.iter().all(|value| (-3.0..3.0).contains(value)));
        // A uniform value in [-3, 3) has mean 0 and root mean square 3 / sqrt(3).
        assert!((values.iter().sum::<f64>() / 1e4).abs() < 0.05);
        assert!((root_mean_square(&values) - 3f64.sqrt()).abs() < 0.03);
        assert_ne!(values, fill_f64(2, 10_000, 3.0));
        assert!(labels(2, 1000, 10).iter().all(|label| (0..10).contains(label)));
    }

    #[test]
    fn layers_have_their_sizes() {
        let sizes: Vec<(usize, usize)> =
            mlp_parameters(&[8, 8, 8, 5]).iter().map(|(weight, bias)| (weight.len(), bias.len())).collect();
        assert_eq!(sizes, [(64, 8), (64, 8), (40, 5)]);
    }
}
