"""PyTorch: W9 (a training step of a small vision transformer with fused Adam).

Patches are cut by a convolution whose stride is its size, blocks have the norm first and the fused attention.
"""

import torch
from torch import nn
from torch.nn import functional as F

from data import fill, labels
from torch_training import Training, versions  # noqa: F401


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)
        self.norm1 = nn.LayerNorm(width)
        self.norm2 = nn.LayerNorm(width)

    def forward(self, x):
        batch, tokens, width = x.shape
        qkv = self.qkv(self.norm1(x)).view(batch, tokens, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v)
        x = x + self.out(y.transpose(1, 2).reshape(batch, tokens, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Vit(nn.Module):
    def __init__(self, p):
        super().__init__()
        width, tokens = p["width"], (28 // p["patch"]) ** 2 + 1
        self.projection = nn.Conv2d(1, width, p["patch"], stride=p["patch"])
        # The special token and the positions: a list, so that they come second in the order of parameters.
        self.tokens = nn.ParameterList([torch.empty(1, 1, width), torch.empty(1, tokens, width)])
        self.blocks = nn.ModuleList(Block(width, p["heads"]) for _ in range(p["layers"]))
        self.norm = nn.LayerNorm(width)
        self.classifier = nn.Linear(width, 10)
        with torch.no_grad():
            for index, (name, parameter) in enumerate(self.named_parameters()):
                if "norm" not in name:
                    parameter.copy_(torch.from_numpy(fill(100 + index, tuple(parameter.shape), p["scale"])))

    def forward(self, images):
        special, positions = self.tokens
        patches = self.projection(images).flatten(2).transpose(1, 2)
        x = torch.cat((special.expand(images.shape[0], -1, -1), patches), dim=1) + positions
        for block in self.blocks:
            x = block(x)
        return self.classifier(self.norm(x[:, 0]))  # only the special token is needed


class VitTraining(Training):
    """Steps with fused Adam on one fixed batch."""

    def __init__(self, p):
        net = Vit(p)
        x = torch.from_numpy(fill(1, (p["batch"], 1, 28, 28)))
        y = torch.from_numpy(labels(2, p["batch"], 10))
        super().__init__(net, x, y, torch.optim.Adam(net.parameters(), lr=1e-3, fused=True), p["quality_steps"])

    def loss(self):
        return F.cross_entropy(self.net(self.x), self.y)


def make(workload, parameters, threads):
    torch.set_num_threads(threads)
    return VitTraining(parameters)
