//! Weights of GPT-2 and ViT as the `transformers` library and nanoGPT write them, taken over by name.
//!
//! Both nets compute what [`Gpt`] and [`VisionTransformer`] compute; the files differ in names and layout. GPT-2's
//! `Conv1D` holds its matrices as (in, out), so they are transposed; ViT's three projections become one.

use std::collections::HashMap;

use tove_tensor::{Tensor, TryOps};

use super::{Gpt, GptConfig, VisionTransformer, VitConfig};
use crate::layers::{BlockConfig, Nonlinearity};
use crate::{Error, ModuleExt, Result, Rng};

/// Weights by name, with a prefix that all of them may carry.
struct Weights<'s> {
    by_name: HashMap<&'s str, &'s Tensor>,
}

impl<'s> Weights<'s> {
    fn new(state: &'s [(String, Tensor)], prefix: &str) -> Weights<'s> {
        let by_name = state.iter().map(|(name, tensor)| (name.strip_prefix(prefix).unwrap_or(name), tensor)).collect();
        Weights { by_name }
    }

    fn find(&self, name: &str) -> Option<&'s Tensor> {
        self.by_name.get(name).copied()
    }

    fn get(&self, name: &str) -> Result<&'s Tensor> {
        self.find(name).ok_or_else(|| Error::Weights { missing: vec![name.to_owned()], unknown: Vec::new() })
    }

    /// Sizes of a weight of known rank.
    fn sizes<const N: usize>(&self, name: &str) -> Result<[usize; N]> {
        let tensor = self.get(name)?;
        <[usize; N]>::try_from(tensor.dims())
            .map_err(|_| tove_tensor::Error::shape("weights", tensor.shape(), format!("{name} needs {N} axes")).into())
    }

    /// Number of the blocks whose names begin with `stem`, a number and a dot.
    fn count(&self, stem: &str) -> usize {
        let number = |name: &str| name.strip_prefix(stem)?.split('.').next()?.parse::<usize>().ok();
        self.by_name.keys().filter_map(|name| number(name)).max().map_or(0, |last| last.saturating_add(1))
    }
}

/// Values under the names of our nets.
#[derive(Default)]
struct Renamed(Vec<(String, Tensor)>);

impl Renamed {
    fn put(&mut self, name: impl Into<String>, value: &Tensor) {
        self.0.push((name.into(), value.clone()));
    }

    /// Weight and, if there is one, bias of a layer.
    fn layer(&mut self, to: &str, from: &str, weights: &Weights<'_>, transposed: bool) -> Result<()> {
        let weight = weights.get(&format!("{from}.weight"))?;
        let weight = if transposed { weight.try_t()?.contiguous() } else { weight.clone() };
        self.put(format!("{to}.weight"), &weight);
        if let Some(bias) = weights.find(&format!("{from}.bias")) {
            self.put(format!("{to}.bias"), bias);
        }
        Ok(())
    }

    /// The last entry under another name.
    fn rename(&mut self, from: &str, to: &str) {
        self.0.iter_mut().filter(|(name, _)| name == from).for_each(|(name, _)| *name = to.to_owned());
    }
}

/// Names of one GPT block, ours and theirs.
const GPT_BLOCK: [(&str, &str, bool); 6] = [
    ("self_attn.in_proj", "attn.c_attn", true),
    ("self_attn.out_proj", "attn.c_proj", true),
    ("linear1", "mlp.c_fc", true),
    ("linear2", "mlp.c_proj", true),
    ("norm1", "ln_1", false),
    ("norm2", "ln_2", false),
];

impl Gpt {
    /// The net of a GPT-2 file of `transformers` (`transformer.wte.weight`, `transformer.h.0.attn.c_attn.weight`, …) or of
    /// nanoGPT, with `heads` heads, which the weights do not tell. All sizes come from the weights. Matrices that are
    /// (in, out), as GPT-2's are, are transposed, and the non-linearity is GPT-2's approximate GELU then, the exact one
    /// otherwise. The head is tied unless the file has one with other values than `wte`.
    ///
    /// ```no_run
    /// let state = tove_tensor::io::read_safetensors("model.safetensors")?;
    /// let net = tove_nn::Gpt::from_gpt2_state(&state, 12)?;
    /// # Ok::<(), tove_nn::Error>(())
    /// ```
    pub fn from_gpt2_state(state: &[(String, Tensor)], heads: usize) -> Result<Gpt> {
        let weights = Weights::new(state, "transformer.");
        let [vocabulary, width] = weights.sizes("wte.weight")?;
        let [context, _] = weights.sizes("wpe.weight")?;
        let [first, second] = weights.sizes("h.0.attn.c_attn.weight")?;
        let transposed = first < second;
        let [a, b] = weights.sizes("h.0.mlp.c_fc.weight")?;
        let own_head = weights.find("lm_head.weight").filter(|head| differs(head, weights.by_name["wte.weight"]));
        let config = GptConfig {
            vocabulary,
            context,
            layers: weights.count("h."),
            heads,
            width,
            hidden: if transposed { b } else { a },
            bias: weights.find("ln_f.bias").is_some(),
            dropout: 0.0,
            tied: own_head.is_none(),
            activation: if transposed { Nonlinearity::GeluTanh } else { Nonlinearity::Gelu },
        };
        let mut renamed = Renamed::default();
        renamed.layer("wte", "wte", &weights, false)?;
        renamed.layer("wpe", "wpe", &weights, false)?;
        renamed.layer("ln_f", "ln_f", &weights, false)?;
        if let Some(head) = own_head {
            renamed.put("lm_head.weight", head);
        }
        for layer in 0..config.layers {
            for (to, from, matrix) in GPT_BLOCK {
                let to = format!("h.{layer}.{to}");
                renamed.layer(&to, &format!("h.{layer}.{from}"), &weights, matrix && transposed)?;
                if to.ends_with("in_proj") {
                    renamed.rename(&format!("{to}.weight"), &format!("{to}_weight"));
                    renamed.rename(&format!("{to}.bias"), &format!("{to}_bias"));
                }
            }
        }
        let mut net = Gpt::new(&config, &mut Rng::new(0))?;
        net.load_state(&renamed.0)?;
        Ok(net)
    }
}

/// Whether two matrices hold other values.
fn differs(a: &Tensor, b: &Tensor) -> bool {
    a.shape() != b.shape() || a.to_f64_vec() != b.to_f64_vec()
}

/// Names of one ViT block: ours, those in files, and those of `transformers` 5 in memory.
const VIT_BLOCK: [(&str, &str, &str); 5] = [
    ("self_attn.out_proj", "attention.output.dense", "attention.o_proj"),
    ("linear1", "intermediate.dense", "mlp.fc1"),
    ("linear2", "output.dense", "mlp.fc2"),
    ("norm1", "layernorm_before", "layernorm_before"),
    ("norm2", "layernorm_after", "layernorm_after"),
];

/// The same for the three projections.
const VIT_PROJECTIONS: [(&str, &str); 3] = [
    ("attention.attention.query", "attention.q_proj"),
    ("attention.attention.key", "attention.k_proj"),
    ("attention.attention.value", "attention.v_proj"),
];

impl VisionTransformer {
    /// The net of a ViT file of `transformers` (`vit.embeddings.cls_token`,
    /// `vit.encoder.layer.0.attention.attention.query.weight`, …, `classifier.weight`), with `heads` heads. All other sizes
    /// come from the weights; images are square. The norms have ViT's ε of 1e-12.
    pub fn from_vit_state(state: &[(String, Tensor)], heads: usize) -> Result<VisionTransformer> {
        let weights = Weights::new(state, "vit.");
        let [width, channels, patch, _] = weights.sizes("embeddings.patch_embeddings.projection.weight")?;
        let [_, tokens, _] = weights.sizes("embeddings.position_embeddings")?;
        let [classes, _] = weights.sizes("classifier.weight")?;
        let in_files = weights.count("encoder.layer.") > 0;
        let (stem, layers) = match in_files {
            true => ("encoder.layer", weights.count("encoder.layer.")),
            false => ("layers", weights.count("layers.")),
        };
        let name = |files: &str, memory: &str, layer: usize| {
            format!("{stem}.{layer}.{}", if in_files { files } else { memory })
        };
        let hidden = weights.sizes::<2>(&format!("{}.weight", name("intermediate.dense", "mlp.fc1", 0)))?[0];
        let side = patch * tokens.saturating_sub(1).isqrt();
        let block = BlockConfig { hidden, eps: 1e-12, ..BlockConfig::new(width, heads) };
        let config = VitConfig { image: [channels, side, side], patch, layers, block, classes };
        let mut renamed = Renamed::default();
        renamed.layer("projection", "embeddings.patch_embeddings.projection", &weights, false)?;
        renamed.put("cls_token", weights.get("embeddings.cls_token")?);
        renamed.put("position_embeddings", weights.get("embeddings.position_embeddings")?);
        renamed.layer("encoder.norm", "layernorm", &weights, false)?;
        renamed.layer("classifier", "classifier", &weights, false)?;
        for layer in 0..layers {
            let to = format!("encoder.layers.{layer}");
            for (ours, files, memory) in VIT_BLOCK {
                renamed.layer(&format!("{to}.{ours}"), &name(files, memory, layer), &weights, false)?;
            }
            for kind in ["weight", "bias"] {
                let part =
                    |(files, memory): (&str, &str)| weights.get(&format!("{}.{kind}", name(files, memory, layer)));
                let parts = VIT_PROJECTIONS.map(part).into_iter().collect::<Result<Vec<_>>>()?;
                renamed.put(format!("{to}.self_attn.in_proj_{kind}"), &Tensor::try_concat(&parts, 0)?);
            }
        }
        let mut net = VisionTransformer::new(&config, &mut Rng::new(0))?;
        net.load_state(&renamed.0)?;
        Ok(net)
    }
}
