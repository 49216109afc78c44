//! One hidden layer approximates sin 2πx on [0, 1]: the largest error of trained nets is below 0.01.

use tove::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let x = Tensor::linspace(0.0, 1.0, 513).reshape([513, 1]);
    let y = (&x * (2.0 * std::f64::consts::PI)).sin();
    let set = TensorDataset::new(x.clone(), y.clone())?;
    let mut last = f64::INFINITY;
    for units in [4, 16, 64] {
        let mut net = Mlp::new(&[1, units, 1], &mut Rng::new(2)).activation(Nonlinearity::Tanh);
        net.to_dtype(DType::F64)?;
        let steps = 6000;
        let mut trainer = Trainer::new(Adam::new(0.02)).steps(steps).batch_size(513).shuffle(false);
        trainer = trainer.schedule(Schedule::cosine(steps)).evaluate_every(steps).progress(Progress::Silent);
        trainer.fit(&mut net, &Regression, &set, None)?;
        last = (net.forward(&x, &Pass::eval())? - &y).abs().max().item::<f64>();
        println!("{units:>3} units: largest error {last:.4}");
    }
    assert!(last < 0.01);
    Ok(())
}
