//! The file of a trained net for images: kind "ImageModel", version 1.

use std::path::Path;

use serde_json::{Value, json};
use tove::nn::{ModuleExt, Rng};
use tove::tensor::Tensor;
use tove::tensor::io::{Container, WriteOptions};

use super::net::{Net, Plan};
use super::source::bordered;
use crate::commands::training::{damaged, open, size};
use crate::failure::Failure;

const KIND: &str = "ImageModel";

/// A net with what is needed to use it on other images.
pub struct ImageModel {
    pub net: Net,
    pub plan: Plan,
    pub classes: Vec<String>,
    /// Width of the border put round images.
    pub border: usize,
    /// Seed, settings and scores.
    pub facts: Value,
}

impl ImageModel {
    /// Channels, height and width of images without their border.
    pub fn picture(&self) -> [usize; 3] {
        let [channels, height, width] = self.plan.input;
        [channels, height - 2 * self.border, width - 2 * self.border]
    }

    /// Pictures as the net wants them.
    pub fn framed(&self, x: &Tensor) -> Tensor {
        bordered(x, self.border)
    }

    pub fn save(&self, path: &Path, options: WriteOptions) -> Result<(), Failure> {
        let header = json!({
            "tove": env!("CARGO_PKG_VERSION"), "net": self.plan.header(), "classes": self.classes,
            "border": self.border, "scaling": {"from": [0, 255], "to": [0.0, 1.0]}, "facts": self.facts,
        });
        let mut container = Container::new(KIND, 1, header);
        for (name, tensor) in self.net.state() {
            container.insert(name, tensor);
        }
        Ok(container.save(path, options)?)
    }

    /// Reads a file. Nothing it says is believed before it has been checked against the tensors it holds.
    pub fn load(path: &Path) -> Result<ImageModel, Failure> {
        let container = open(path, KIND, "tove images fit")?;
        let header = &container.header;
        let plan = Plan::from_header(&header["net"]).ok_or_else(|| damaged(path, "the plan of the net"))?;
        let held: usize = container.tensors.values().map(Tensor::numel).sum();
        if plan.parameters() != Some(held) {
            return Err(damaged(path, "the plan does not fit the tensors"));
        }
        let names = header["classes"].as_array().map(|list| list.iter().map(|name| name.as_str().map(str::to_owned)));
        let classes: Option<Vec<String>> = names.and_then(Iterator::collect);
        let classes = classes.filter(|classes| classes.len() == plan.classes && !classes.is_empty());
        let classes = classes.ok_or_else(|| damaged(path, "the names of the classes"))?;
        let room = plan.input[1].min(plan.input[2]);
        let border = size(header, "border").filter(|&border| border < room.div_ceil(2));
        let border = border.ok_or_else(|| damaged(path, "the border"))?;
        let mut net = plan.build(&mut Rng::new(0)).map_err(|problem| damaged(path, &problem))?;
        let state: Vec<(String, Tensor)> = container.tensors.iter().map(|(n, x)| (n.clone(), x.clone())).collect();
        net.load_state(&state).map_err(|error| damaged(path, &error.to_string()))?;
        Ok(ImageModel { net, plan, classes, border, facts: header["facts"].clone() })
    }
}
