//! Models, data and helpers that the tests share.

use tove_data::{TensorDataset, sets};
use tove_nn::{Classification, Layer, Mlp, Nonlinearity, Pass, Progress, Rng, Trainer};
use tove_optim::Adam;
use tove_tensor::{DType, Key, Tensor, TryOps};
use tove_trust::Result;

/// Random numbers of a normal distribution, (n, d), in double precision.
pub fn normal(n: usize, d: usize, seed: u64) -> Tensor {
    Key::new(seed).normal([n, d], DType::F64)
}

/// A linear model with two scores (0, w·x + b).
pub fn linear(w: &[f64], b: f64) -> impl Fn(&Tensor) -> Result<Tensor> + use<> {
    let w = Tensor::from_slice(w);
    move |x: &Tensor| Ok(x.try_matmul(&w)?.try_add(&Tensor::scalar(b))?)
}

/// A net with three classes in double precision, with a smooth non-linearity.
pub fn small_net(inputs: usize, seed: u64) -> impl Fn(&Tensor) -> Result<Tensor> + use<> {
    let (w1, w2) = (normal(inputs, 10, seed), normal(10, 3, seed + 1));
    move |x: &Tensor| Ok(x.try_matmul(&w1)?.tanh().try_matmul(&w2)?)
}

/// The predicted classes, computed here.
pub fn predicted(model: &dyn Fn(&Tensor) -> Result<Tensor>, x: &Tensor) -> Vec<usize> {
    let scores = model(x).unwrap();
    if scores.rank() == 1 {
        return scores.to_f64_vec().into_iter().map(|z| usize::from(z > 0.0)).collect();
    }
    scores.argmax(1).to_vec::<i64>().into_iter().map(|class| class as usize).collect()
}

/// Class indices as labels.
pub fn labels(classes: &[usize]) -> Tensor {
    Tensor::from_slice(&classes.iter().map(|&class| class as i64).collect::<Vec<_>>())
}

/// Rows as vectors of doubles.
pub fn rows(x: &Tensor) -> Vec<Vec<f64>> {
    let width = x.numel() / x.dims()[0];
    x.contiguous().to_f64_vec().chunks_exact(width).map(<[f64]>::to_vec).collect()
}

/// Digits as rows of 64 pixels from 0 to 1, of type f32, with their classes: `count` of them from `first` on.
pub fn digits(first: usize, count: usize) -> (Tensor, Tensor) {
    let digits = sets::digits().unwrap();
    let x = digits.x().reshape([1797, 64]);
    (x.narrow(0, first, count).contiguous(), digits.y().narrow(0, first, count).contiguous())
}

/// A net that has learned the digits.
pub fn digits_net(x: &Tensor, y: &Tensor, epochs: usize, seed: u64) -> Mlp {
    let mut net = Mlp::new(&[64, 64, 10], &mut Rng::new(seed)).activation(Nonlinearity::Relu);
    let set = TensorDataset::new(x.clone(), y.clone()).unwrap();
    let mut trainer = Trainer::new(Adam::new(3e-3)).epochs(epochs).seed(seed).progress(Progress::Silent);
    trainer.fit(&mut net, &Classification::new(), &set, None).unwrap();
    net
}

/// A net as a model to attack.
pub fn scores_of(net: &Mlp) -> impl Fn(&Tensor) -> Result<Tensor> + '_ {
    |x: &Tensor| Ok(net.forward(x, &Pass::eval())?)
}
