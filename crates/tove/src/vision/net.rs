//! The three image networks behind one type, and the sizes from which each can be rebuilt.

use serde_json::{Value, json};
use tove_nn::{
    BlockConfig, Cnn, CnnConfig, Layer, Linear, Mlp, Module, Pass, Result, Rng, VisionTransformer, VitConfig, Walk,
    WalkMut,
};
use tove_tensor::{DType, Tensor, TryOps, no_grad};

use crate::net_files::{ModelError, size, sizes};

/// The architectures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NetKind {
    /// Fully-connected layers.
    #[default]
    Mlp,
    /// Convolutional network.
    Cnn,
    /// Vision transformer.
    Vit,
}

impl NetKind {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            NetKind::Mlp => "mlp",
            NetKind::Cnn => "cnn",
            NetKind::Vit => "vit",
        }
    }
}

/// Everything that decides a net's shape.
#[derive(Clone, Debug, PartialEq)]
pub struct NetConfig {
    /// The architecture.
    pub kind: NetKind,
    /// Channels, height and width, borders included.
    pub input: [usize; 3],
    /// Units of the hidden layers; one number for a CNN.
    pub hidden: Vec<usize>,
    /// Filters of a CNN's blocks.
    pub filters: Vec<usize>,
    /// Number of classes.
    pub classes: usize,
}

/// Blocks, heads and features of the transformer.
const VIT: (usize, usize, usize) = (4, 4, 64);
/// Tokens beyond which attention takes too long.
const TOKENS: usize = 1024;

impl NetConfig {
    /// The name of the architecture.
    pub fn name(&self) -> &'static str {
        self.kind.name()
    }

    /// All sizes, as files have them.
    pub fn header(&self) -> Value {
        json!({
            "kind": self.name(), "input": self.input, "hidden": self.hidden, "filters": self.filters,
            "classes": self.classes,
        })
    }

    /// Reads what [`NetConfig::header`] wrote.
    pub(super) fn from_header(header: &Value) -> Option<NetConfig> {
        let kind = match header["kind"].as_str()? {
            "mlp" => NetKind::Mlp,
            "cnn" => NetKind::Cnn,
            "vit" => NetKind::Vit,
            _ => return None,
        };
        let input = <[usize; 3]>::try_from(sizes(header, "input")?).ok()?;
        // Larger ones are no pictures, and looking for their patches would take for ever.
        if !input.iter().all(|size| (1..=1 << 15).contains(size)) {
            return None;
        }
        let (hidden, filters) = (sizes(header, "hidden")?, sizes(header, "filters")?);
        Some(NetConfig { kind, input, hidden, filters, classes: size(header, "classes")? })
    }

    /// Widths of an MLP's layers, from pixels to classes.
    fn widths(&self) -> Vec<usize> {
        let mut widths = vec![self.input.iter().product()];
        widths.extend(&self.hidden);
        widths.push(self.classes);
        widths
    }

    /// The smallest patch of at least 2 × 2 that leaves no more than 64 pieces, or as few as can be had.
    fn patch(&self) -> usize {
        let [_, height, width] = self.input;
        let fits = |patch: &usize| height.is_multiple_of(*patch) && width.is_multiple_of(*patch);
        let pieces = |patch: usize| (height / patch) * (width / patch);
        let possible: Vec<usize> = (1..=height.min(width) / 2).filter(fits).collect();
        let small = possible.iter().copied().find(|&patch| patch > 1 && pieces(patch) <= 64);
        small.or(possible.last().copied()).unwrap_or(1)
    }

    /// The number of parameters, unless it is more than a number can hold. What a file says is checked with it before
    /// any memory is taken.
    pub fn parameters(&self) -> Option<usize> {
        let affine = |inputs: usize, outputs: usize| inputs.checked_add(1)?.checked_mul(outputs);
        let total = |parts: Vec<Option<usize>>| parts.into_iter().try_fold(0usize, |sum, part| sum.checked_add(part?));
        let [mut channels, height, width] = self.input;
        channels.checked_mul(height)?.checked_mul(width)?;
        match self.kind {
            NetKind::Mlp => total(self.widths().windows(2).map(|pair| affine(pair[0], pair[1])).collect()),
            NetKind::Cnn => {
                let mut parts = Vec::new();
                for &filters in &self.filters {
                    parts.push(affine(channels.checked_mul(9)?, filters));
                    channels = filters;
                }
                let halved = |size: usize| size.checked_shr(self.filters.len() as u32).unwrap_or(0);
                let &[hidden] = &self.hidden[..] else { return None };
                let flat = channels.checked_mul(halved(height))?.checked_mul(halved(width))?;
                parts.extend([affine(flat, hidden), affine(hidden, self.classes)]);
                total(parts)
            }
            NetKind::Vit => {
                let (layers, _, features) = VIT;
                let patch = self.patch();
                let tokens = (height / patch) * (width / patch);
                let block = 12 * features * features + 13 * features;
                total(vec![
                    affine(channels * patch * patch, features),
                    (tokens + 2).checked_mul(features),
                    Some(layers * block + 2 * features),
                    affine(features, self.classes),
                ])
            }
        }
    }

    /// A net with random weights.
    pub fn build(&self, rng: &mut Rng) -> std::result::Result<Net, ModelError> {
        match self.kind {
            NetKind::Mlp => Ok(Net::Mlp(Mlp::new(&self.widths(), rng))),
            NetKind::Cnn => {
                let hidden = self.hidden.first().copied().unwrap_or(0);
                let config =
                    CnnConfig { widths: self.filters.clone(), hidden, ..CnnConfig::new(self.input, self.classes) };
                Ok(Net::Cnn(Cnn::new(&config, rng)?))
            }
            NetKind::Vit => {
                let (layers, heads, features) = VIT;
                let block = BlockConfig::new(features, heads);
                let (image, patch, classes) = (self.input, self.patch(), self.classes);
                let config = VitConfig { image, patch, layers, block, classes };
                if config.patches() > TOKENS {
                    let [_, height, width] = image;
                    let problem = format!(
                        "images of {height} × {width} pixels would be {} patches; give sizes with a common divisor, or choose \
                         another architecture",
                        config.patches()
                    );
                    return Err(ModelError::setting("kind", self.name(), problem));
                }
                let net = VisionTransformer::new(&config, rng)?;
                Ok(Net::Vit(Box::new(net)))
            }
        }
    }
}

/// A net for images.
#[derive(Clone)]
pub enum Net {
    /// Fully-connected layers.
    Mlp(Mlp),
    /// Convolutional network.
    Cnn(Cnn),
    /// Vision transformer.
    Vit(Box<VisionTransformer>),
}

impl Net {
    /// What is passed on to other classes, (images, features): the output of the last convolution of a CNN, for the
    /// layer behind it keeps little but what its own classes need; what the last layer sees in the other nets.
    pub fn general_features(&self, x: &Tensor) -> Result<Tensor> {
        Net::in_pieces(x, |x| match self {
            Net::Mlp(net) => net.features(&x.try_flatten(1)?, &Pass::eval()),
            Net::Cnn(net) => {
                let pass = Pass::eval().recording();
                net.forward(x, &pass)?;
                Ok(pass.into_record().input(net, "fc1")?.clone())
            }
            Net::Vit(net) => Ok(net.features(x, &Pass::eval())?.try_select_index(1, 0)?),
        })
    }

    /// Puts a linear classifier of [`Net::general_features`] in the place of the layers that follow them, weight
    /// (classes, features) and bias (classes), trainable. Returns the names of the layers replaced.
    ///
    /// A CNN has a hidden layer there: with z = W x + b its units are the rectified z and −z, whose difference is z.
    pub(super) fn set_classifier(&mut self, weight: &Tensor, bias: &Tensor) -> Result<Vec<String>> {
        let layer = |weight: Tensor, bias: Tensor| -> Result<Linear> {
            Ok(Linear { weight: weight.try_requires_grad()?, bias: Some(bias.try_requires_grad()?) })
        };
        let (weight, bias) = (weight.detach(), bias.detach());
        match self {
            Net::Mlp(net) => {
                let last = net.layers.len().saturating_sub(1);
                if let Some(head) = net.layers.last_mut() {
                    *head = layer(weight, bias)?;
                }
                Ok(vec![format!("layers.{last}")])
            }
            Net::Cnn(net) => {
                let classes = bias.numel();
                let both = |x: &Tensor| Tensor::try_concat(&[x, &-x], 0);
                let one = Tensor::try_eye(classes, bias.dtype())?;
                net.fc1 = layer(both(&weight)?, both(&bias)?)?;
                net.fc2 = layer(both(&one)?.try_t()?.contiguous(), bias.zeros_like())?;
                Ok(vec!["fc1".to_owned(), "fc2".to_owned()])
            }
            Net::Vit(net) => {
                net.classifier = layer(weight, bias)?;
                Ok(vec!["classifier".to_owned()])
            }
        }
    }

    /// What a function of a few hundred images at a time gives for all of them.
    fn in_pieces(x: &Tensor, of: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
        let count = x.dims().first().copied().unwrap_or(0);
        let mut pieces = Vec::new();
        for start in (0..count).step_by(256) {
            let piece = x.try_narrow(0, start, 256.min(count - start))?;
            pieces.push(no_grad(|| of(&piece))?);
        }
        Ok(Tensor::try_concat(&pieces.iter().collect::<Vec<_>>(), 0)?)
    }

    /// Probabilities of the classes, (images, classes) of type f64.
    pub fn probabilities(&self, x: &Tensor) -> Result<Tensor> {
        let logits = Net::in_pieces(x, |x| self.forward(x, &Pass::eval()))?;
        Ok(logits.to_dtype(DType::F64).softmax(-1))
    }
}

impl Module for Net {
    fn kind(&self) -> &'static str {
        match self {
            Net::Mlp(net) => net.kind(),
            Net::Cnn(net) => net.kind(),
            Net::Vit(net) => net.kind(),
        }
    }

    fn parts<'m>(&'m self, walk: &mut dyn Walk<'m>) {
        match self {
            Net::Mlp(net) => net.parts(walk),
            Net::Cnn(net) => net.parts(walk),
            Net::Vit(net) => net.parts(walk),
        }
    }

    fn parts_mut<'m>(&'m mut self, walk: &mut dyn WalkMut<'m>) {
        match self {
            Net::Mlp(net) => net.parts_mut(walk),
            Net::Cnn(net) => net.parts_mut(walk),
            Net::Vit(net) => net.parts_mut(walk),
        }
    }
}

impl Layer for Net {
    fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        match self {
            Net::Mlp(net) => net.forward(&x.try_flatten(1)?, pass),
            Net::Cnn(net) => net.forward(x, pass),
            Net::Vit(net) => net.forward(x, pass),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tove_nn::ModuleExt;

    #[test]
    fn the_number_of_parameters_is_known_before_the_net_is_built() {
        let plan = |kind, hidden: &[usize], filters: &[usize]| NetConfig {
            kind,
            input: [3, 12, 16],
            hidden: hidden.to_vec(),
            filters: filters.to_vec(),
            classes: 5,
        };
        for plan in [plan(NetKind::Mlp, &[7, 6], &[]), plan(NetKind::Cnn, &[9], &[4, 6]), plan(NetKind::Vit, &[], &[])]
        {
            let net = plan.build(&mut Rng::new(0)).unwrap_or_else(|problem| panic!("{problem}"));
            assert_eq!(plan.parameters(), Some(net.count_parameters()), "{plan:?}");
            assert_eq!(NetConfig::from_header(&plan.header()), Some(plan));
        }
        let vast = plan(NetKind::Mlp, &[usize::MAX / 2, usize::MAX / 2], &[]);
        assert_eq!(vast.parameters(), None);
    }
}
