"""PyTorch: W5 (a training step of a small GPT with clipping and fused AdamW) and W8 (greedy generation, no cache).

The model is the usual compact decoder: pre-norm blocks without biases, fused attention, a head tied to the embedding.
Generation reads the text anew for every token, cut to the context, as nanoGPT does.
"""

import torch
from torch import nn
from torch.nn import functional as F

from data import fill, labels, token_batch
from torch_training import Training, versions  # noqa: F401


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.up = nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)
        self.norm1 = nn.LayerNorm(width, bias=False)
        self.norm2 = nn.LayerNorm(width, bias=False)

    def forward(self, x):
        batch, time, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).split(width, dim=2)
        q, k, v = (part.view(batch, time, self.heads, width // self.heads).transpose(1, 2) for part in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).contiguous().view(batch, time, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.context = p["context"]
        self.tokens = nn.Embedding(p["vocabulary"], p["width"])
        self.positions = nn.Embedding(p["context"], p["width"])
        self.blocks = nn.ModuleList(Block(p["width"], p["heads"]) for _ in range(p["layers"]))
        self.norm = nn.LayerNorm(p["width"], bias=False)
        with torch.no_grad():
            for index, parameter in enumerate(self.parameters()):
                if parameter.dim() > 1:
                    parameter.copy_(torch.from_numpy(fill(100 + index, tuple(parameter.shape), p["scale"])))

    def forward(self, tokens, targets=None):
        positions = torch.arange(tokens.shape[1])
        x = self.tokens(tokens) + self.positions(positions)
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        if targets is None:
            return F.linear(x[:, [-1], :], self.tokens.weight)  # only the last position is needed
        logits = F.linear(x, self.tokens.weight)
        return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))

    @torch.no_grad()
    def generate(self, tokens, count):
        for _ in range(count):
            window = tokens if tokens.size(1) <= self.context else tokens[:, -self.context :]
            following = self(window)[:, -1, :].argmax(dim=-1, keepdim=True)
            tokens = torch.cat((tokens, following), dim=1)
        return tokens


class GptTraining(Training):
    """Steps with clipping and fused AdamW; matrices are decayed, norms are not."""

    clip_norm = 1.0

    def __init__(self, p):
        net = Gpt(p)
        tokens = torch.from_numpy(labels(1, p["batch"] * (p["context"] + 1), p["vocabulary"]))
        tokens = tokens.view(p["batch"], p["context"] + 1)
        x, y = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
        matrices = [parameter for parameter in net.parameters() if parameter.dim() > 1]
        others = [parameter for parameter in net.parameters() if parameter.dim() == 1]
        groups = [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
        optimizer = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.99), fused=True)
        super().__init__(net, x, y, optimizer, p["quality_steps"])

    def loss(self):
        return self.net(self.x, self.y)


class Generation:
    """Runs of tokens, one after the other, each from a prompt of one token."""

    def __init__(self, p):
        self.net, self.runs, self.count = Gpt(p).eval(), p["runs"], p["count"]

    def texts(self):
        return [self.net.generate(torch.tensor([[run]]), self.count)[0].tolist() for run in range(self.runs)]

    def run(self, count):
        for _ in range(count):
            self.texts()

    def quality(self):
        """A checksum of all tokens and their places, below 1."""
        total = sum(token * (place + 1) for text in self.texts() for place, token in enumerate(text))
        return (total % 100_003) / 100_003


def batch(p, step, strength):
    """The batch of a step of a loss curve; texts have no strength."""
    tokens = torch.from_numpy(token_batch(step, p["batch"], p["context"] + 1, p["vocabulary"]))
    return tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()


def make(workload, parameters, threads):
    torch.set_num_threads(threads)
    return Generation(parameters) if workload == "W8" else GptTraining(parameters)
