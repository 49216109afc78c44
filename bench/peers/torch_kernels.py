"""PyTorch: single operations (W11, W12, W13, conv2d, attention).

Quality of a kernel: the root mean square of each result (value and gradients), added up.
"""

import torch
from torch.nn import functional as F

from data import fill


def versions():
    return {"torch": torch.__version__.split("+")[0]}


def tensor(seed, shape, scale=1.0, dtype="f32", tracked=False):
    # In memory of the library's own, like the result of a layer before.
    return torch.from_numpy(fill(seed, shape, scale, dtype)).clone().requires_grad_(tracked)


def size_of(results):
    return sum(result.detach().double().square().mean().sqrt().item() for result in results)


class Add:
    """c = a + b on a few floats; when tracked, `a` requires a gradient and the graph is dropped at once."""

    def __init__(self, p):
        self.a, self.b = tensor(1, (p["elements"],), tracked=p["tracked"]), tensor(2, (p["elements"],))

    def run(self, count):
        a, b = self.a, self.b
        for _ in range(count):
            a + b

    def quality(self):
        return size_of([self.a + self.b])


class Matmul:
    """Layout `nt` means that the second operand is stored transposed (n, k), `tn` that the first is (k, m)."""

    def __init__(self, p):
        batch = [p["batch"]] if "batch" in p else []
        m, k, n, layout = p["m"], p["k"], p["n"], p["layout"]
        a = tensor(1, batch + ([k, m] if layout == "tn" else [m, k]), 1.0, p["dtype"])
        b = tensor(2, batch + ([n, k] if layout == "nt" else [k, n]), 1.0, p["dtype"])
        self.a = a.mT if layout == "tn" else a
        self.b = b.mT if layout == "nt" else b

    def run(self, count):
        a, b = self.a, self.b
        for _ in range(count):
            torch.matmul(a, b)

    def quality(self):
        return size_of([torch.matmul(self.a, self.b)])


def normed(p, x, weight, bias):
    op = p["op"]
    if op == "batch_norm":
        return F.batch_norm(x, None, None, weight, bias, training=True)
    if op == "layer_norm":
        return F.layer_norm(x, x.shape[-1:], weight, bias)
    return F.softmax(x, -1) if op == "softmax" else F.gelu(x)


class Forward:
    """The value alone, without tracking."""

    def __init__(self, p):
        width = p["shape"][1]
        self.p, self.x = p, tensor(1, p["shape"], 3.0)
        self.weight, self.bias = tensor(2, (width,)), tensor(3, (width,))

    def run(self, count):
        with torch.no_grad():
            for _ in range(count):
                normed(self.p, self.x, self.weight, self.bias)

    def quality(self):
        with torch.no_grad():
            return size_of([normed(self.p, self.x, self.weight, self.bias)])


class Backward:
    """The gradients by every input, from a graph that is kept."""

    def __init__(self, p):
        width = p["shape"][1]
        x = tensor(1, p["shape"], 3.0, tracked=True)
        weight, bias = tensor(2, (width,), tracked=True), tensor(3, (width,), tracked=True)
        self.inputs = [x, weight, bias] if p["op"].endswith("norm") else [x]
        self.y = normed(p, x, weight, bias)
        self.dy = tensor(4, p["shape"])

    def step(self):
        return torch.autograd.grad(self.y, self.inputs, self.dy, retain_graph=True)

    def run(self, count):
        for _ in range(count):
            self.step()

    def quality(self):
        return size_of(self.step())


class Adam:
    """One fused update; the gradient stays the same."""

    def __init__(self, p):
        self.parameter = tensor(1, (p["elements"],), tracked=True)
        self.parameter.grad = tensor(2, (p["elements"],))
        self.optimizer = torch.optim.Adam([self.parameter], lr=1e-3, fused=True)
        self.quality_steps = p["quality_steps"]

    def run(self, count):
        for _ in range(count):
            self.optimizer.step()

    def quality(self):
        self.run(self.quality_steps)
        return size_of([self.parameter])


class ForwardBackward:
    """Value and gradients by every input of one operation, with a given upstream gradient."""

    def __init__(self, inputs, function, upstream_seed):
        self.inputs, self.function = inputs, function
        with torch.no_grad():
            self.dy = tensor(upstream_seed, list(function(*inputs).shape))

    def step(self):
        y = self.function(*self.inputs)
        return (y, *torch.autograd.grad(y, self.inputs, self.dy))

    def run(self, count):
        for _ in range(count):
            self.step()

    def quality(self):
        return size_of(self.step())


def conv2d(p):
    fan_in = p["w"][1] * p["w"][2] * p["w"][3]
    inputs = [tensor(1, p["x"], tracked=True), tensor(2, p["w"], fan_in**-0.5, tracked=True)]
    inputs.append(tensor(3, (p["w"][0],), fan_in**-0.5, tracked=True))
    return ForwardBackward(inputs, lambda x, w, b: F.conv2d(x, w, b, padding=p["padding"]), 4)


def attention(p):
    inputs = [tensor(seed, p["shape"], tracked=True) for seed in (1, 2, 3)]
    causal = p["causal"]
    return ForwardBackward(inputs, lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal), 4)


def make(workload, parameters, threads):
    torch.set_num_threads(threads)
    op = parameters["op"]
    makers = {"add": Add, "matmul": Matmul, "adam": Adam, "conv2d": conv2d, "attention": attention}
    if op in makers:
        return makers[op](parameters)
    return (Forward if parameters["direction"] == "forward" else Backward)(parameters)
