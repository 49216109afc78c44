//! Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as
//! 1, 2, 3" (SC 2011): ten rounds of multiplication and exchange turn a counter of four words and a key of two into four
//! random words. No state is carried from one counter to the next.
use super::Key;

const MULTIPLIER: [u32; 2] = [0xd251_1f53, 0xcd9e_8d57];
const WEYL: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];

/// Blocks that are computed side by side.
pub(super) const LANES: usize = 16;

/// The four words of `LANES` consecutive counters.
pub(super) type Tile = [[u32; LANES]; 4];

#[inline(always)]
fn wide(a: u32, b: u32) -> (u32, u32) {
    let product = u64::from(a) * u64::from(b);
    ((product >> 32) as u32, product as u32)
}

#[inline(always)]
fn round(c: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let (high0, low0) = wide(MULTIPLIER[0], c[0]);
    let (high1, low1) = wide(MULTIPLIER[1], c[2]);
    [high1 ^ c[1] ^ key[0], low1, high0 ^ c[3] ^ key[1], low0]
}

/// The random words of one counter.
#[inline(always)]
pub(super) fn block(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for i in 0..10 {
        if i > 0 {
            key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
        }
        counter = round(counter, key);
    }
    counter
}

#[inline(always)]
pub(super) fn halves(x: u64) -> [u32; 2] {
    [x as u32, (x >> 32) as u32]
}

/// The words of block `index` of a key's stream.
#[inline(always)]
pub(super) fn block_of(key: Key, index: u64) -> [u32; 4] {
    let ([i0, i1], [s0, s1]) = (halves(index), halves(key.stream));
    block([i0, i1, s0, s1], halves(key.key))
}

/// Blocks `LANES` tile … `LANES` tile + 15 of a key's stream, lane by lane, so that the compiler uses SIMD.
#[inline(always)]
pub(super) fn tile(key: Key, tile: u64) -> Tile {
    let ([s0, s1], mut round_key) = (halves(key.stream), halves(key.key));
    let [base, high] = halves(tile.wrapping_mul(LANES as u64));
    // `base` is a multiple of 16, so counting the lanes never carries.
    let mut words: Tile = [std::array::from_fn(|lane| base | lane as u32), [high; LANES], [s0; LANES], [s1; LANES]];
    for i in 0..10 {
        if i > 0 {
            round_key = [round_key[0].wrapping_add(WEYL[0]), round_key[1].wrapping_add(WEYL[1])];
        }
        let [w0, w1, w2, w3] = &mut words;
        for (((a, b), c), d) in w0.iter_mut().zip(w1).zip(w2).zip(w3) {
            [*a, *b, *c, *d] = round([*a, *b, *c, *d], round_key);
        }
    }
    words
}
