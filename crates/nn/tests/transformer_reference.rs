//! The same weights give the same outputs as PyTorch's layers and the nets of `transformers`.

#![allow(clippy::unwrap_used)]

mod transformer_common;

use tove_nn::*;
use tove_tensor::{DType, Key, Tensor, grad, gradcheck};
use transformer_common::{Values, close, largest_gap, load, path};

fn block(activation: Nonlinearity, file: &str) -> TransformerBlock {
    let config = BlockConfig { hidden: 24, activation, ..BlockConfig::new(16, 4) };
    let mut block = TransformerBlock::new(&config, &mut Rng::new(0)).unwrap();
    block.load(path(file)).unwrap(); // by PyTorch's names, all of them and no other
    block
}

#[test]
fn j1_block_is_torchs_encoder_layer_and_the_identity_with_zeroed_branches() {
    for (activation, file) in
        [(Nonlinearity::Relu, "torch_encoder_layer_relu"), (Nonlinearity::Gelu, "torch_encoder_layer_gelu")]
    {
        let (block, values) = (block(activation, file), load(&format!("{file}_values")));
        let x = values.get("x");
        close(&block.forward(x, &Pass::eval()).unwrap(), values.get("y"));
        let loss = |x: &Tensor| block.forward(x, &Pass::eval()).unwrap().square().sum();
        close(&grad(loss)(x), values.get("gradient"));
    }

    let mut zeroed = block(Nonlinearity::Gelu, "torch_encoder_layer_gelu");
    for name in ["self_attn.out_proj.weight", "self_attn.out_proj.bias", "linear2.weight", "linear2.bias"] {
        let state: Vec<(String, Tensor)> = zeroed.state();
        let (_, value) = state.iter().find(|(other, _)| other == name).unwrap();
        let left = zeroed.load_matching(&[(name.to_owned(), value.zeros_like())]).unwrap();
        assert_eq!(left.len(), state.len() - 1);
    }
    let x = Key::new(3).normal([2, 5, 16], DType::F32);
    assert_eq!(zeroed.forward(&x, &Pass::eval()).unwrap().to_vec::<f32>(), x.to_vec::<f32>());
}

#[test]
fn an_encoder_is_torchs_with_and_without_padding() {
    let config = BlockConfig { hidden: 32, ..BlockConfig::new(16, 2) };
    let mut encoder = TransformerEncoder::new(2, &config, &mut Rng::new(0)).unwrap();
    encoder.load(path("torch_encoder")).unwrap();
    let values = load("torch_encoder_values");
    let x = values.get("x");
    close(&encoder.forward(x, &Pass::eval()).unwrap(), values.get("y"));

    let present = Tensor::from([[true; 6], [true, true, true, true, false, false]]);
    let mask = padding_mask(&present, DType::F32).unwrap();
    let padded = encoder.attend(x, false, Some(&mask), &Pass::eval()).unwrap();
    let theirs = values.get("padded");
    close(&padded.get(0), &theirs.get(0));
    close(&padded.get(1).narrow(0, 0, 4), &theirs.get(1).narrow(0, 0, 4)); // padding's own results mean nothing
}

/// softmax(X W_Q W_Kᵀ Xᵀ / √d) X W_V, written out.
fn self_attention(x: &Tensor, w_q: &Tensor, w_k: &Tensor, w_v: &Tensor) -> Tensor {
    let scale = 1.0 / (w_k.dims()[1] as f64).sqrt();
    (x.matmul(w_q).matmul(&w_k.t()).matmul(&x.t()) * scale).softmax(-1).matmul(&x.matmul(w_v))
}

#[test]
fn j5_self_attention_is_torchs_and_passes_the_gradient_check() {
    let (weights, values) = (load("torch_attention"), load("torch_attention_values"));
    let (q, k, v) = (values.get("q"), values.get("k"), values.get("v"));
    close(&q.scaled_dot_product_attention(k, v, false, None, None), values.get("y"));

    let (x, [w_q, w_k, w_v]) = (values.get("wide"), ["w_q", "w_k", "w_v"].map(|name| weights.get(name)));
    let fused = |x: &Tensor, w_q: &Tensor, w_k: &Tensor, w_v: &Tensor| {
        x.matmul(w_q).scaled_dot_product_attention(&x.matmul(w_k), &x.matmul(w_v), false, None, None)
    };
    close(&fused(x, w_q, w_k, w_v), values.get("z"));
    close(&self_attention(x, w_q, w_k, w_v), values.get("z"));

    // Gradients by W_Q, W_K and W_V, through the layer itself: in_proj holds all three.
    let wide = |x: &Tensor| x.to_dtype(DType::F64);
    let x = wide(x);
    let inputs = [&wide(w_q), &wide(w_k), &wide(w_v)];
    gradcheck(|w: &[Tensor]| fused(&x, &w[0], &w[1], &w[2]), &inputs.map(Tensor::clone)).unwrap();
    let mut layer = MultiHeadAttention::new(8, 2, &mut Rng::new(1)).unwrap();
    transformer_common::widen(&mut layer);
    let check = |w: &[Tensor]| {
        let mut layer = layer.clone();
        layer.in_proj_weight = w[0].clone();
        layer.forward(&x, &Pass::eval()).unwrap()
    };
    gradcheck(check, &[layer.in_proj_weight.detach()]).unwrap();
}

#[test]
fn j6_multi_head_attention_is_torchs_and_one_head_is_plain_attention() {
    let mut layer = MultiHeadAttention::new(12, 3, &mut Rng::new(0)).unwrap();
    layer.load(path("torch_multihead")).unwrap();
    let values = load("torch_multihead_values");
    let x = values.get("x");
    close(&layer.forward(x, &Pass::eval()).unwrap(), values.get("y"));
    close(&layer.attend(x, true, None, &Pass::eval()).unwrap(), values.get("causal"));
    close(&layer.probabilities(x, false, None).unwrap(), values.get("weights"));

    // One head and W_O = I leave the formula of self-attention.
    let mut one = MultiHeadAttention::new(12, 1, &mut Rng::new(5)).unwrap().without_bias();
    one.out_proj.weight = Tensor::eye(12, DType::F32);
    let part = |index: usize| one.in_proj_weight.detach().narrow(0, 12 * index, 12).t();
    let x = x.get(0);
    close(&one.forward(&x, &Pass::eval()).unwrap(), &self_attention(&x, &part(0), &part(1), &part(2)));
    // Not so with the roles of W_K and W_V exchanged.
    let wrong = self_attention(&x, &part(0), &part(2), &part(1));
    assert!(largest_gap(&one.forward(&x, &Pass::eval()).unwrap(), &wrong) > 1e-2);
}

#[test]
fn gpt2_of_transformers_loads_and_agrees() {
    let Values(state) = load("transformers_gpt2");
    let values = load("transformers_gpt2_values");
    let net = Gpt::from_gpt2_state(&state, 4).unwrap();
    assert!(net.config().tied && net.config().bias);
    assert_eq!((net.config().layers, net.config().context, net.config().vocabulary), (2, 12, 17));
    let logits = net.forward(values.get("tokens"), &Pass::eval()).unwrap();
    close(&logits, values.get("logits"));
    let prompt = values.get("tokens").narrow(1, 0, 3).contiguous();
    let text = net.generate(&prompt, 8, &Sampling::greedy()).unwrap();
    assert_eq!(text.to_vec::<i64>(), values.get("greedy").to_vec::<i64>());

    // A head of its own stays one; a missing matrix is named.
    let mut untied = state.clone();
    untied.push(("lm_head.weight".into(), Tensor::ones([17, 16], DType::F32)));
    assert!(!Gpt::from_gpt2_state(&untied, 4).unwrap().config().tied);
    let part: Vec<_> = state.into_iter().filter(|(name, _)| !name.ends_with("1.mlp.c_fc.weight")).collect();
    let error = Gpt::from_gpt2_state(&part, 4).unwrap_err().to_string();
    assert!(error.contains("h.1.mlp.c_fc.weight"), "{error}");
}

#[test]
fn a_net_in_nanogpts_layout_loads_untransposed() {
    let net = Gpt::new(&GptConfig { layers: 1, tied: false, ..GptConfig::default() }, &mut Rng::new(4)).unwrap();
    let renames = [
        ("self_attn.in_proj_weight", "attn.c_attn.weight"),
        ("self_attn.out_proj", "attn.c_proj"),
        ("linear1", "mlp.c_fc"),
        ("linear2", "mlp.c_proj"),
        ("norm1", "ln_1"),
        ("norm2", "ln_2"),
    ];
    let rename = |name: String| {
        let name = renames.iter().fold(name, |name, (ours, theirs)| name.replace(ours, theirs));
        if name.starts_with("lm_head") { name } else { format!("transformer.{name}") }
    };
    let state: Vec<(String, Tensor)> = net.state().into_iter().map(|(name, value)| (rename(name), value)).collect();
    let loaded = Gpt::from_gpt2_state(&state, 4).unwrap();
    assert_eq!(loaded.config(), net.config());
    let tokens = Tensor::from([[1i64, 5, 9]]);
    let (a, b) = (loaded.forward(&tokens, &Pass::eval()), net.forward(&tokens, &Pass::eval()));
    assert_eq!(a.unwrap().to_vec::<f32>(), b.unwrap().to_vec::<f32>());
}

#[test]
fn vit_of_transformers_loads_and_agrees_under_both_sets_of_names() {
    for name in ["transformers_vit", "transformers_vit_memory"] {
        let (Values(state), values) = (load(name), load(&format!("{name}_values")));
        let net = VisionTransformer::from_vit_state(&state, 4).unwrap();
        assert_eq!((net.config().image, net.config().patch, net.config().classes), ([3, 8, 8], 4, 5));
        let images = values.get("images");
        close(&net.forward(images, &Pass::eval()).unwrap(), values.get("logits"));
        close(&net.attention_maps(images).unwrap()[0], values.get("attention"));
    }
}

#[test]
fn settings_out_of_range_are_errors() {
    let rng = &mut Rng::new(0);
    let message = MultiHeadAttention::new(10, 3, rng).unwrap_err().to_string();
    assert!(message.contains("width 10"), "{message}");
    assert!(MultiHeadAttention::new(8, 0, rng).is_err());
    assert!(TransformerBlock::new(&BlockConfig { dropout: 1.0, ..BlockConfig::new(8, 2) }, rng).is_err());
    assert!(Gpt::new(&GptConfig { layers: 0, ..GptConfig::default() }, rng).is_err());
    let message = VisionTransformer::new(&VitConfig { patch: 5, ..VitConfig::digits() }, rng).unwrap_err().to_string();
    assert!(message.contains("28"), "{message}");
    let net = VisionTransformer::new(&VitConfig::digits(), rng).unwrap();
    assert!(net.forward(&Tensor::zeros([1, 3, 28, 28], DType::F32), &Pass::eval()).is_err());
    let layer = MultiHeadAttention::new(8, 2, rng).unwrap();
    assert!(layer.forward(&Tensor::zeros([8], DType::F32), &Pass::eval()).is_err());
    assert!(layer.forward(&Tensor::zeros([3, 9], DType::F32), &Pass::eval()).is_err());
}
