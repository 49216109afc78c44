//! W40: UMAP of images with a seed. Quality is the trustworthiness of the layout with 15 neighbors.

use std::hint::black_box;

use serde_json::Value;
use tove_learn::{Fit, FittedUmap, Umap};
use tove_tensor::{DType, Tensor};

use crate::learn_margins::pictures;
use crate::workload::{Workload, number};

struct Layout {
    x: Tensor,
    umap: Umap,
}

impl Layout {
    fn fit(&self) -> FittedUmap {
        self.umap.fit(&self.x, None).expect("the data are fine")
    }
}

impl Workload for Layout {
    fn step(&mut self) {
        black_box(self.fit());
    }

    fn quality(&mut self) -> f64 {
        let score = tove::metrics::trustworthiness(&self.x, self.fit().embedding(), 15);
        score.map_or(f64::NAN, |score| score.value)
    }
}

/// One case of W40.
pub fn make(parameters: &Value) -> Result<Box<dyn Workload>, String> {
    let ((x, _), _) = pictures(number(parameters, "rows")?, 1, DType::F32)?;
    Ok(Box::new(Layout { x, umap: Umap::default().seed(1) }))
}
