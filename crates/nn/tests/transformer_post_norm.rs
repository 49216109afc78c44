//! Blocks whose norms come last: the same weights give the same outputs as PyTorch's layers with `norm_first=False`.

#![allow(clippy::unwrap_used)]

mod transformer_common;

use tove_nn::*;
use tove_tensor::{DType, Key, Tensor, grad};
use transformer_common::{close, load, path};

fn config(activation: Nonlinearity, norm_first: bool) -> BlockConfig {
    BlockConfig { hidden: 24, activation, norm_first, ..BlockConfig::new(16, 4) }
}

#[test]
fn a_post_norm_block_is_torchs_encoder_layer() {
    let cases =
        [(Nonlinearity::Relu, "torch_post_norm_layer_relu"), (Nonlinearity::Gelu, "torch_post_norm_layer_gelu")];
    for (activation, file) in cases {
        let values = load(&format!("{file}_values"));
        let x = values.get("x");
        let mut block = TransformerBlock::new(&config(activation, false), &mut Rng::new(0)).unwrap();
        block.load(path(file)).unwrap();
        close(&block.forward(x, &Pass::eval()).unwrap(), values.get("y"));
        close(&block.forward(x, &Pass::eval().recording()).unwrap(), values.get("y"));
        close(&grad(|x: &Tensor| block.forward(x, &Pass::eval()).unwrap().square().sum())(x), values.get("gradient"));
        // The same weights in a block with norms first are something else: names and shapes do not tell.
        block.norm_first = true;
        let gap = (block.forward(x, &Pass::eval()).unwrap() - values.get("y")).abs().max().item::<f32>();
        assert!(gap > 0.1, "{gap}");
    }
}

#[test]
fn a_post_norm_encoder_is_torchs_with_padding_and_causal() {
    let encoder = TransformerEncoder::new(2, &config(Nonlinearity::Gelu, false), &mut Rng::new(0)).unwrap();
    let mut encoder = encoder.without_norm();
    encoder.load(path("torch_post_norm_encoder")).unwrap();
    let values = load("torch_post_norm_encoder_values");
    let x = values.get("x");
    close(&encoder.forward(x, &Pass::eval()).unwrap(), values.get("y"));
    close(&encoder.attend(x, true, None, &Pass::eval()).unwrap(), values.get("causal"));
    let present = Tensor::from([[true; 6], [true, true, true, true, false, false]]);
    let mask = padding_mask(&present, DType::F32).unwrap();
    let padded = encoder.attend(x, false, Some(&mask), &Pass::eval()).unwrap();
    let theirs = values.get("padded");
    close(&padded.get(0), &theirs.get(0));
    close(&padded.get(1).narrow(0, 0, 4), &theirs.get(1).narrow(0, 0, 4)); // padding's own results mean nothing
    // The maps are those of what the attention sees, the tokens themselves.
    let maps = encoder.attention_maps(x, false, None).unwrap();
    let first = encoder.layers[0].self_attn.probabilities(x, false, None).unwrap();
    assert_eq!(maps[0].to_vec::<f32>(), first.to_vec::<f32>());
    let second = encoder.layers[0].forward(x, &Pass::eval()).unwrap();
    let second = encoder.layers[1].self_attn.probabilities(&second, false, None).unwrap();
    assert_eq!(maps[1].to_vec::<f32>(), second.to_vec::<f32>());
}

/// Nets of post-norm blocks: a GPT whose blocks were exchanged writes the same with its cache as without.
#[test]
fn cached_decoding_knows_where_the_norms_are() {
    let config =
        GptConfig { vocabulary: 11, context: 9, layers: 2, heads: 2, width: 8, hidden: 16, ..GptConfig::default() };
    let mut net = Gpt::new(&config, &mut Rng::new(3)).unwrap();
    for parameter in net.parameters_mut() {
        let shaken =
            &*parameter + Key::new(parameter.numel() as u64).normal(parameter.shape().clone(), DType::F32) * 0.3;
        *parameter = shaken.detach().requires_grad();
    }
    let prompt = Tensor::from([[1i64, 2, 3], [4, 5, 6]]);
    let write = |net: &Gpt| {
        let (fast, slow) =
            (net.generate(&prompt, 12, &Sampling::greedy()), net.generate_uncached(&prompt, 12, &Sampling::greedy()));
        assert_eq!(fast.as_ref().unwrap().to_vec::<i64>(), slow.unwrap().to_vec::<i64>());
        fast.unwrap().to_vec::<i64>()
    };
    let pre = write(&net);
    net.blocks.iter_mut().for_each(|block| block.norm_first = false);
    assert_ne!(write(&net), pre);
}

#[test]
fn settings_reach_every_net_of_blocks() {
    let block = |norm_first| BlockConfig { norm_first, ..BlockConfig::new(8, 2) };
    assert!(block(true) == BlockConfig::new(8, 2), "norms come first unless said otherwise");
    let x = Key::new(1).normal([2, 1, 8, 8], DType::F32);
    let tokens = Tensor::from([[1i64, 2, 3]]);
    let outputs = |norm_first| {
        let vit = VitConfig { image: [1, 8, 8], patch: 4, layers: 2, block: block(norm_first), classes: 3 };
        let vit = VisionTransformer::new(&vit, &mut Rng::new(0)).unwrap();
        let text = EncoderConfig { block: block(norm_first), ..EncoderConfig::new(6, 8, Readout::Average, 2) };
        let text = SequenceEncoder::new(&text, &mut Rng::new(0)).unwrap();
        assert!(vit.encoder.layers.iter().chain(&text.encoder.layers).all(|block| block.norm_first == norm_first));
        (
            vit.forward(&x, &Pass::eval()).unwrap().to_vec::<f32>(),
            text.forward(&tokens, &Pass::eval()).unwrap().to_vec::<f32>(),
        )
    };
    let (pre, post) = (outputs(true), outputs(false));
    assert!(pre.0 != post.0 && pre.1 != post.1);
}
