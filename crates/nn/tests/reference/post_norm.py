"""Writes the fixtures of transformer blocks whose norms come last (PyTorch's default, `norm_first=False`).

    python post_norm.py

Needs PyTorch alone. Weights are in one safetensors file, inputs, outputs and gradients in another; the metadata name the
version that wrote them.
"""

import json
import struct
from pathlib import Path

import torch
from torch import nn

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"


def save(path, tensors):
    """The safetensors format, for 32-bit floating-point tensors."""
    header, data, start = {"__metadata__": {"torch": torch.__version__.split("+")[0]}}, b"", 0
    for name, tensor in sorted(tensors.items()):
        raw = tensor.detach().contiguous().to(torch.float32).numpy().tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [start, start + len(raw)]}
        data, start = data + raw, start + len(raw)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def write(name, state, **tensors):
    save(FIXTURES / f"{name}.safetensors", state)
    save(FIXTURES / f"{name}_values.safetensors", tensors)


def shake(net):
    """Random values for everything, so that biases and norms count as well."""
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return net.eval()


def layer(activation):
    return nn.TransformerEncoderLayer(16, 4, 24, dropout=0.0, activation=activation, batch_first=True, norm_first=False)


def encoder_layer(name, activation):
    net = shake(layer(activation))
    x = torch.randn(3, 5, 16, requires_grad=True)
    y = net(x)
    (gradient,) = torch.autograd.grad(y.square().sum(), x)
    write(name, net.state_dict(), x=x, y=y, gradient=gradient)


def encoder():
    net = shake(nn.TransformerEncoder(layer("gelu"), 2, enable_nested_tensor=False))
    x = torch.randn(2, 6, 16)
    padded = torch.tensor([[False] * 6, [False] * 4 + [True] * 2])
    causal = nn.Transformer.generate_square_subsequent_mask(6)
    write(
        "torch_post_norm_encoder",
        net.state_dict(),
        x=x,
        y=net(x),
        padded=net(x, src_key_padding_mask=padded),
        causal=net(x, mask=causal),
    )


torch.manual_seed(21)
encoder_layer("torch_post_norm_layer_relu", "relu")
encoder_layer("torch_post_norm_layer_gelu", "gelu")
encoder()
