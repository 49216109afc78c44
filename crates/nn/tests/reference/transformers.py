"""Writes the fixtures of the transformer tests: weights, and in files of their own inputs and outputs.

    python transformers.py

PyTorch's own layers and the nets of the `transformers` library, small and with random weights. The metadata of the files
name the versions that wrote them.
"""

import sys
import tempfile
from pathlib import Path

# This file's own name must not hide the library's.
sys.path = [entry for entry in sys.path if Path(entry or ".").resolve() != Path(__file__).resolve().parent]

import safetensors.torch
import torch
import transformers
from torch import nn

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
VERSIONS = {"torch": torch.__version__.split("+")[0], "transformers": transformers.__version__}


def save(path, tensors):
    tensors = {key: value.detach().clone().contiguous() for key, value in tensors.items()}
    safetensors.torch.save_file(tensors, path, metadata=VERSIONS)
    path.chmod(0o644)


def write(name, state, **tensors):
    """Weights and, beside them, inputs and outputs of one case."""
    save(FIXTURES / f"{name}.safetensors", state)
    save(FIXTURES / f"{name}_values.safetensors", tensors)


def shake(net):
    """Random values for everything, so that biases and norms count as well."""
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return net.eval()


def encoder_layer(name, activation):
    net = nn.TransformerEncoderLayer(16, 4, 24, dropout=0.0, activation=activation, batch_first=True, norm_first=True)
    shake(net)
    x = torch.randn(3, 5, 16, requires_grad=True)
    y = net(x)
    (gradient,) = torch.autograd.grad(y.square().sum(), x)
    write(name, net.state_dict(), x=x, y=y, gradient=gradient)


def encoder():
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
    net = shake(nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(16), enable_nested_tensor=False))
    x = torch.randn(2, 6, 16)
    padded = torch.tensor([[False] * 6, [False] * 4 + [True] * 2])
    write("torch_encoder", net.state_dict(), x=x, y=net(x), padded=net(x, src_key_padding_mask=padded))


def multihead():
    net = shake(nn.MultiheadAttention(12, 3, batch_first=True))
    x = torch.randn(2, 7, 12)
    y, weights = net(x, x, x, average_attn_weights=False)
    hidden = torch.ones(7, 7, dtype=torch.bool).triu(1)
    causal, _ = net(x, x, x, attn_mask=hidden)
    write("torch_multihead", net.state_dict(), x=x, y=y, weights=weights, causal=causal)


def scaled_dot_product():
    q, k, v = torch.randn(2, 5, 8), torch.randn(2, 6, 8), torch.randn(2, 6, 4)
    y = nn.functional.scaled_dot_product_attention(q, k, v)
    wide = torch.randn(9, 8)
    w_q, w_k, w_v = torch.randn(8, 4), torch.randn(8, 4), torch.randn(8, 4)
    z = nn.functional.scaled_dot_product_attention(wide @ w_q, wide @ w_k, wide @ w_v)
    write("torch_attention", {"w_q": w_q, "w_k": w_k, "w_v": w_v}, q=q, k=k, v=v, y=y, wide=wide, z=z)


def gpt2():
    config = transformers.GPT2Config(
        vocab_size=17, n_positions=12, n_embd=16, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0
    )
    net = shake(transformers.GPT2LMHeadModel(config))
    tokens = torch.randint(0, 17, (2, 9))
    state = {name: value for name, value in net.state_dict().items() if name != "lm_head.weight"}  # tied
    greedy = tokens[:, :3]
    for _ in range(8):  # by hand: `generate` gives the padding and end tokens a meaning that the net does not
        greedy = torch.cat((greedy, net(greedy).logits[:, -1].argmax(-1, keepdim=True)), dim=1)
    write("transformers_gpt2", state, tokens=tokens, logits=net(tokens).logits, greedy=greedy)


def vit():
    config = transformers.ViTConfig(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=32, image_size=8, patch_size=4,
        num_channels=3, num_labels=5, attn_implementation="eager",
    )
    net = shake(transformers.ViTForImageClassification(config))
    images = torch.randn(2, 3, 8, 8)
    output = net(images, output_attentions=True)
    tensors = {"images": images, "logits": output.logits, "attention": output.attentions[0]}
    write("transformers_vit_memory", net.state_dict(), **tensors)
    # What `save_pretrained` writes: the names that files on the hub carry.
    with tempfile.TemporaryDirectory() as folder:
        net.save_pretrained(folder)
        write("transformers_vit", safetensors.torch.load_file(Path(folder) / "model.safetensors"), **tensors)


torch.manual_seed(20)
encoder_layer("torch_encoder_layer_relu", "relu")
encoder_layer("torch_encoder_layer_gelu", "gelu")
encoder()
multihead()
scaled_dot_product()
gpt2()
vit()
