//! W10: projected gradient descent in the l-infinity norm on a batch of images through the net of W4. Quality is the mean
//! cross-entropy at the inputs found.

use std::hint::black_box;

use serde_json::Value;
use tove::prelude::*;
use tove::trust::robustness::{AttackNorm, InputRules, Pgd};

use crate::cnn::Cnn;
use crate::data;
use crate::workload::{Workload, number, value};

const EPS: f64 = 0.05;

struct Attack {
    net: Cnn,
    x: Tensor,
    y: Tensor,
    pgd: Pgd,
}

impl Attack {
    fn attacked(&self) -> Tensor {
        let model = |x: &Tensor| Ok(self.net.forward(x));
        self.pgd.perturb(&model, &self.x, &self.y, EPS).expect("the batch is valid")
    }
}

impl Workload for Attack {
    fn step(&mut self) {
        black_box(self.attacked());
    }

    fn quality(&mut self) -> f64 {
        value(&self.net.forward(&self.attacked()).cross_entropy(&self.y, &CrossEntropy::default()))
    }
}

/// W10: so many steps of a quarter of the budget, from the inputs themselves.
pub fn make(parameters: &Value) -> Result<Box<dyn Workload>, String> {
    let batch = number(parameters, "batch")?;
    Ok(Box::new(Attack {
        net: Cnn::new().trainable(DType::F32),
        x: Tensor::from_vec(data::fill_f32(1, batch * 28 * 28, 1.0), [batch, 1, 28, 28]),
        y: Tensor::from(data::labels(2, batch, 10)),
        pgd: Pgd::new(AttackNorm::LInf)
            .steps(number(parameters, "steps")?)
            .relative_step(0.25)
            .random_start(false)
            .rules(InputRules::range(-1.0, 1.0)),
    }))
}
