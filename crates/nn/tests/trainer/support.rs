//! Data, nets and trainers that the tests share.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tove_data::TensorDataset;
use tove_nn::*;
use tove_optim::{Adam, ReduceOnPlateau, ReduceOnPlateauSettings, Schedule};
use tove_tensor::{DType, Key, Tensor};

/// A folder that goes away.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Scratch {
        let folder = std::env::temp_dir().join(format!("tove-trainer-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        Scratch(folder)
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Two noisy classes in the plane.
pub fn moons(count: usize, seed: u64) -> TensorDataset {
    let noise = Key::new(seed).normal([count, 2], DType::F32).to_vec::<f32>();
    let angle = Key::new(seed + 1).uniform([count], DType::F32).to_vec::<f32>();
    let mut x = Vec::new();
    for i in 0..count {
        let (sin, cos) = (angle[i] * std::f32::consts::PI).sin_cos();
        let point = if i % 2 == 0 { [cos, sin] } else { [1.0 - cos, 0.5 - sin] };
        x.extend([point[0] + 0.1 * noise[2 * i], point[1] + 0.1 * noise[2 * i + 1]]);
    }
    let y: Vec<i64> = (0..count as i64).map(|i| i % 2).collect();
    TensorDataset::new(Tensor::from_vec(x, [count, 2]), Tensor::from(y)).unwrap()
}

pub fn net() -> Sequential {
    let mut rng = Rng::new(4);
    Sequential::new()
        .add(Linear::new(2, 16, &mut rng))
        .add(BatchNorm::new(16))
        .add(Nonlinearity::Relu)
        .add(Dropout::new(0.2))
        .add(Linear::new(16, 2, &mut rng))
}

pub fn trainer<'c>() -> Trainer<'c> {
    let plateau = ReduceOnPlateau::build(ReduceOnPlateauSettings::default()).unwrap();
    Trainer::new(Adam::new(0.01))
        .epochs(4)
        .batch_size(16)
        .seed(3)
        .schedule(Schedule::cosine(40))
        .plateau(plateau)
        .clip_norm(1.0)
        .keep_best()
        .progress(Progress::Silent)
}

pub fn bits(net: &impl Module) -> Vec<(String, Vec<u32>)> {
    let values = |tensor: Tensor| tensor.to_vec::<f32>().into_iter().map(f32::to_bits).collect();
    net.state().into_iter().map(|(name, tensor)| (name, values(tensor))).collect()
}

/// Ends the run after some steps, as Ctrl-C would.
pub struct After(pub u64, pub Arc<AtomicBool>);

impl Callback for After {
    fn step(&mut self, step: &Step) -> Flow {
        self.1.store(step.step >= self.0, Ordering::Relaxed);
        Flow::Continue
    }
}

pub fn smooth(seed: u64) -> Mlp {
    Mlp::new(&[2, 8, 2], &mut Rng::new(seed)).activation(Nonlinearity::Tanh)
}

pub fn trainer_without_validation<'c>() -> Trainer<'c> {
    Trainer::new(Adam::new(0.01)).epochs(1).batch_size(2).progress(Progress::Silent)
}
