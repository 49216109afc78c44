//! A small generator of random numbers for the inner loops, and tables to draw words from.

/// Random numbers of one block: splitmix64, started from the seed and the indices of the epoch and the block.
pub(super) struct Draws(u64);

impl Draws {
    /// The generator of a block.
    pub fn new(seed: u64, epoch: u64, block: u64) -> Draws {
        let mut draws = Draws(seed);
        draws.0 = draws.bits() ^ epoch;
        draws.0 = draws.bits() ^ block;
        draws
    }

    /// 64 random bits.
    #[inline(always)]
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// An integer in [0, n).
    #[inline(always)]
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }

    /// A number in [0, 1).
    #[inline(always)]
    pub fn unit(&mut self) -> f32 {
        (self.bits() >> 40) as f32 * (1.0 / (1u64 << 24) as f32)
    }

    /// Puts the values in random order.
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for i in (1..values.len()).rev() {
            values.swap(i, self.below(i + 1));
        }
    }
}

/// Draws indices with given probabilities in constant time (Walker's alias method).
pub(super) struct Alias {
    /// Probability to keep an index, and the index to take otherwise.
    columns: Vec<(f32, u32)>,
}

impl Alias {
    /// A table for weights, which need not sum to 1.
    pub fn new(weights: &[f64]) -> Alias {
        let total: f64 = weights.iter().sum();
        let mut scaled: Vec<f64> = weights.iter().map(|w| w / total * weights.len() as f64).collect();
        let mut columns: Vec<(f32, u32)> = (0..weights.len()).map(|i| (1.0, i as u32)).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..weights.len()).partition(|&i| scaled[i] < 1.0);
        while let (Some(low), Some(&high)) = (small.pop(), large.last()) {
            columns[low] = (scaled[low] as f32, high as u32);
            scaled[high] -= 1.0 - scaled[low];
            if scaled[high] < 1.0 {
                large.pop();
                small.push(high);
            }
        }
        Alias { columns }
    }

    /// A random index.
    #[inline(always)]
    pub fn draw(&self, draws: &mut Draws) -> u32 {
        let column = draws.below(self.columns.len());
        let (keep, other) = self.columns[column];
        if draws.unit() < keep { column as u32 } else { other }
    }
}
