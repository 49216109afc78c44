//! A net that trains gets no memory of tensors from the system once it has run for a while.
//!
//! Blocks of tensors are the ones aligned to a cache line or more; a counting allocator tells them from small structures
//! such as graph nodes. Other large requests are counted with them, so that scratch memory in a plain `Vec` is seen too.
#![allow(unsafe_code, reason = "an allocator that counts")]
#![allow(clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use tove::nn::{Cnn, CnnConfig, Gpt, GptConfig, VisionTransformer, VitConfig};
use tove::prelude::*;
use tove::tensor::set_num_threads;

/// Requests of tensor blocks, or of anything larger than a page, by any thread.
static BLOCKS: AtomicU64 = AtomicU64::new(0);
const PAGE: usize = 4096;

struct Counting;

// SAFETY: everything is handed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() >= 64 || layout.size() >= PAGE {
            BLOCKS.fetch_add(1, Ordering::Relaxed);
        }
        // SAFETY: by the caller's promise.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: by the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Blocks asked of the system in the first steps, and in 100 steps after them.
fn blocks<N: Layer>(mut net: N, x: &Tensor, y: &Tensor) -> [u64; 2] {
    let mut adam = Adam::default();
    let mut train = |steps: u64| {
        let before = BLOCKS.load(Ordering::Relaxed);
        for step in 0..steps {
            let logits = net.forward(x, &Pass::train(Key::new(step))).unwrap();
            let loss = logits.cross_entropy(y, &CrossEntropy::default());
            loss.backward();
            clip_norm(&net.parameters_mut(), 1.0).unwrap();
            adam.step(&mut net.parameters_mut()).unwrap();
            assert!(loss.item::<f32>().is_finite());
        }
        BLOCKS.load(Ordering::Relaxed) - before
    };
    [train(20), train(100)]
}

// One test, because every thread's requests are counted.
#[test]
fn training_asks_the_system_for_no_tensor_memory_once_it_runs() {
    let rng = &mut Rng::new(1);
    let image = |side: usize| Key::new(2).normal([8, 1, side, side], DType::F32);
    let classes = Key::new(3).integers(0, 10, [8]);
    let gpt = GptConfig { layers: 2, width: 32, hidden: 128, context: 16, ..GptConfig::default() };
    let tokens = |seed: u64| Key::new(seed).integers(0, gpt.vocabulary as i64, [4, 16]);
    let cnn = CnnConfig { dropout: 0.25, widths: vec![8, 16], hidden: 32, ..CnnConfig::new([1, 16, 16], 10) };
    let vit = VitConfig { layers: 1, patch: 7, ..VitConfig::digits() };
    for threads in [1, 2] {
        set_num_threads(threads);
        let counts = [
            (
                "MLP",
                blocks(
                    Mlp::new(&[64, 128, 10], rng),
                    &Key::new(4).normal([32, 64], DType::F32),
                    &Key::new(7).integers(0, 10, [32]),
                ),
            ),
            ("CNN", blocks(Cnn::new(&cnn, rng).unwrap(), &image(16), &classes)),
            ("GPT", blocks(Gpt::new(&gpt, rng).unwrap(), &tokens(5), &tokens(6))),
            ("ViT", blocks(VisionTransformer::new(&vit, rng).unwrap(), &image(28), &classes)),
        ];
        println!("{threads} threads, blocks in the first 20 and the next 100 steps: {counts:?}");
        for (name, [first, later]) in counts {
            if threads == 1 {
                assert!(first > 0, "{name}: the counter counts");
                assert_eq!(later, 0, "{name}");
            } else {
                // A worker that gets a kind of task for the first time asks for scratch memory of its own, once: a few
                // blocks beside the tens of thousands of tensors of 100 steps.
                assert!(later <= 8, "{name}: {later} blocks with {threads} threads");
            }
        }
    }
    set_num_threads(0);
}
