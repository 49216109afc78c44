"""PyTorch and SciPy: layers with their gradients, initialisation, whole nets with their weights (H, I).

Writes layers.json, signal.json, mlp.safetensors and cnn.safetensors to ../fixtures; fixture.py of the tensor crate says
what is in the JSON.
"""

import itertools
import pathlib
import sys

import numpy as np
import scipy.signal
import torch
from safetensors.torch import save_file
from torch import nn

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "tensor/tests/reference"))
import fixture  # noqa: E402
from fixture import case, normal, rng, write  # noqa: E402

fixture.FIXTURES = HERE.parent / "fixtures"
torch.set_num_threads(1)


def tensor(values, dtype=torch.float32):
    return torch.tensor(np.asarray(values), dtype=dtype)


def plain(by_name):
    return {name: value.detach().numpy() for name, value in by_name.items()}


def layer_case(name, layer, x, seed, dtype=torch.float32, **attrs):
    """The layer's parameters as inputs under their own names, its output, and all gradients of <y, upstream>."""
    layer = layer.to(dtype)
    x = tensor(x, dtype).requires_grad_()
    parameters = dict(layer.named_parameters())
    before = {key: value.clone() for key, value in layer.named_buffers() if value.ndim}
    y = layer(x)
    upstream = tensor(normal(rng(seed), *y.shape), dtype)
    gradients = torch.autograd.grad(y, [x, *parameters.values()], upstream)
    outputs = {"y": y, **{key: value for key, value in layer.named_buffers() if value.ndim}}
    inputs = {"x": x, "upstream": upstream, **parameters, **{f"{key} before": value for key, value in before.items()}}
    return case(name, plain(inputs), plain(outputs), plain(dict(zip(["x", *parameters], gradients))), **attrs)


def set_parameters(layer, seed, scale=0.5):
    """Short decimals, so that the file stays small."""
    g = rng(seed)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(tensor(normal(g, *parameter.shape, scale=scale)))
    return layer


def nets():
    mlp = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3))
    yield layer_case("mlp", set_parameters(mlp, 1), normal(rng(2), 7, 4), 3)
    # The listing of a fully-connected layer by hand: W (c, c') and b (c'), phi(X W + b).
    g = rng(4)
    x, w, b = (tensor(normal(g, *shape)).requires_grad_() for shape in [(5, 3), (3, 4), (4,)])
    upstream = tensor(normal(g, 5, 4))
    y = torch.relu(x @ w + b)
    gradients = torch.autograd.grad(y, [x, w, b], upstream)
    inputs = plain({"x": x, "w": w, "b": b, "upstream": upstream})
    yield case("fully connected", inputs, plain({"y": y}), plain(dict(zip("xwb", gradients))))


def activations():
    x = [-1000.0, -30.0, -4.0, -1.0, -0.3, -1e-30, -0.0, 0.0, 1e-30, 0.2, 1.0, 2.5, 25.0, 1000.0]
    layers = {
        "relu": nn.ReLU(),
        "leaky relu": nn.LeakyReLU(0.01),
        "elu": nn.ELU(),
        "softplus": nn.Softplus(),
        "gelu": nn.GELU(),
        "gelu tanh": nn.GELU(approximate="tanh"),
        "silu": nn.SiLU(),
        "sigmoid": nn.Sigmoid(),
        "tanh": nn.Tanh(),
        "prelu": nn.PReLU(),
    }
    for seed, (name, layer) in enumerate(layers.items(), 20):
        yield layer_case(f"activation {name}", layer, x, seed)
    channels = nn.PReLU(3)
    with torch.no_grad():
        channels.weight.copy_(tensor([0.1, -0.5, 2.0]))
    yield layer_case("prelu of neurons", channels, np.round(normal(rng(40), 4, 3), 1), 41)
    yield layer_case("prelu of channels", channels, normal(rng(42), 2, 3, 2, 2), 43)


def initialisation():
    """The largest number and the deviation of large draws: the bounds, as seen from outside."""
    torch.manual_seed(7)
    rules = {
        "xavier uniform": lambda w: nn.init.xavier_uniform_(w, gain=1.5),
        "xavier normal": lambda w: nn.init.xavier_normal_(w, gain=1.5),
        "he uniform": lambda w: nn.init.kaiming_uniform_(w, nonlinearity="relu"),
        "he normal": lambda w: nn.init.kaiming_normal_(w, nonlinearity="relu"),
        "inverse root": lambda w: nn.init.kaiming_uniform_(w, a=5**0.5),
    }
    for (name, rule), shape in itertools.product(rules.items(), [(1500, 700), (400, 300, 3, 3)]):
        w = rule(torch.empty(shape, dtype=torch.float64))
        fans = nn.init._calculate_fan_in_and_fan_out(w)
        outputs = {"largest": w.abs().max(), "deviation": w.std(), "fans": torch.tensor(fans)}
        yield case(f"init {name} {len(shape)}", {}, plain(outputs), shape=list(shape))


def normalisation():
    shapes = {"batch norm 1d": (8, 5), "batch norm 2d": (3, 4, 3, 2)}
    for seed, (name, shape) in enumerate(shapes.items(), 60):
        layer = nn.BatchNorm1d(shape[1]) if len(shape) == 2 else nn.BatchNorm2d(shape[1])
        set_parameters(layer, seed)
        for batch in (1, 2):
            x = normal(rng(10 * seed + batch), *shape, scale=1 + batch) + batch
            yield layer_case(f"{name} train {batch}", layer, x, seed)
        yield layer_case(f"{name} eval", layer.eval(), x, seed)
    layer = set_parameters(nn.LayerNorm(6), 62)
    yield layer_case("layer norm", layer, normal(rng(63), 4, 6, scale=3.0) + 1, 64)
    layer = set_parameters(nn.LayerNorm([3, 2]), 65)
    yield layer_case("layer norm of two axes", layer, normal(rng(66), 2, 3, 2), 67)
    layer = set_parameters(nn.GroupNorm(3, 6), 68)
    yield layer_case("group norm", layer, normal(rng(69), 2, 6, 3, 2, scale=3.0) + 1, 70)
    yield layer_case("group norm of rows", layer, normal(rng(71), 4, 6), 72)
    x = normal(rng(73), 2, 3, 4, 2, scale=2.0) - 1
    yield layer_case("instance norm", nn.InstanceNorm2d(3), x, 74)
    yield layer_case("instance norm affine", set_parameters(nn.InstanceNorm2d(3, affine=True), 75), x, 76)


def dropout():
    torch.manual_seed(8)
    for p in (0.1, 0.5, 0.8):
        y = nn.Dropout(p)(torch.ones(1_000_000))
        outputs = {"zeros": (y == 0).double().mean(), "mean": y.double().mean(), "deviation": y.double().std()}
        yield case(f"dropout {p}", {}, plain({**outputs, "kept": y.max()}), p=p)


def classification():
    """Cross-entropy of classes with weights, smoothing and rows that do not count, alone and together."""
    g = rng(90)
    x, target = normal(g, 9, 4, scale=2.0), np.array([0, 3, 1, -100, 2, 2, -100, 0, 1])
    weights = np.array([0.5, 2.0, 1.25, 0.25])
    for ignored, weighted, smoothing in itertools.product([False, True], [False, True], [0.0, 0.2]):
        y = target if ignored else np.abs(target) % 4
        logits = tensor(x).requires_grad_()
        weight = tensor(weights) if weighted else None
        loss = nn.functional.cross_entropy(logits, torch.tensor(y), weight=weight, label_smoothing=smoothing)
        (gradient,) = torch.autograd.grad(loss, [logits])
        inputs = {"x": x, "target": y, "weights": weights}
        name = f"classification {ignored} {weighted} {smoothing}"
        yield case(name, inputs, plain({"loss": loss}), plain({"x": gradient}), smoothing=smoothing)


def convolution():
    grid = itertools.product([5, 8, 11, 32, 33], [1, 2, 3, 5], [0, 1, 2], [1, 2, 3], [1, 2])
    grid = [row for row in grid if row[0] + 2 * row[2] >= row[4] * (row[1] - 1) + 1]
    sizes = []
    for size, kernel, padding, stride, dilation in grid:
        layer = nn.Conv2d(1, 1, kernel, padding=padding, stride=stride, dilation=dilation)
        sizes.append(list(layer(torch.zeros(1, 1, size, size + 3)).shape[2:]))
    yield case("conv sizes", {"grid": np.array(grid)}, {"sizes": np.array(sizes)})
    settings = [
        dict(),
        dict(stride=2),
        dict(padding=2),
        dict(stride=2, padding=1, dilation=2),
        dict(groups=2, padding=1),
        dict(stride=3, padding=2, groups=2),
    ]
    for seed, options in enumerate(settings, 80):
        layer = set_parameters(nn.Conv2d(4, 6, 3, **options), seed)
        yield layer_case(f"conv {options}".replace("'", ""), layer, normal(rng(seed + 20), 2, 4, 7, 8), seed, **options)
    for seed, options in enumerate([dict(stride=2), dict(stride=2, padding=1, groups=2), dict(dilation=2)], 90):
        layer = set_parameters(nn.ConvTranspose2d(4, 6, 3, **options), seed)
        name = f"transposed conv {options}".replace("'", "")
        yield layer_case(name, layer, normal(rng(seed + 20), 2, 4, 4, 3), seed, **options)
    layer = set_parameters(nn.Conv2d(2, 3, 3, padding=1, padding_mode="circular"), 95)
    yield layer_case("circular conv", layer, normal(rng(115), 2, 2, 5, 4), 95)
    layer = set_parameters(nn.Conv2d(2, 3, (1, 4), stride=(1, 2), padding=(0, 2)), 96)
    yield layer_case("rectangular conv", layer, normal(rng(116), 2, 2, 3, 7), 96)


class Mlp(nn.Module):
    """Names as tove's Mlp has them."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(8, 16), nn.Linear(16, 12), nn.Linear(12, 3)])

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = torch.relu(layer(x))
        return self.layers[-1](x)


def cnn():
    return nn.Sequential(
        nn.Conv2d(1, 6, 3, padding=1),
        nn.BatchNorm2d(6),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 8, 3, padding=1, bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, 10),
    )


def saved():
    """A few steps of training, so that the running statistics are not the first ones; weights in full precision."""
    torch.manual_seed(9)
    for name, net, shape in [("mlp", Mlp(), (8,)), ("cnn", cnn(), (1, 12, 12))]:
        optimiser = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(5):
            optimiser.zero_grad()
            net(torch.randn(16, *shape) * 2 + 1).square().mean().backward()
            optimiser.step()
        metadata = {"torch": torch.__version__.split("+")[0]}
        save_file(net.state_dict(), fixture.FIXTURES / f"{name}.safetensors", metadata)
        x = tensor(normal(rng(120), 4, *shape))
        yield case(f"saved {name}", plain({"x": x}), plain({"y": net.eval()(x)}))


def signal():
    g = rng(130)
    for (rows, columns), mode in itertools.product([(3, 3), (2, 4), (1, 1)], ["valid", "full", "same"]):
        x, w = normal(g, 7, 6), normal(g, rows, columns)
        outputs = {
            "correlation": scipy.signal.correlate2d(x, w, mode),
            "convolution": scipy.signal.convolve2d(x, w, mode),
        }
        yield case(f"{mode} {rows} {columns}", {"x": x, "w": w}, outputs, mode=mode)


parts = [nets, activations, initialisation, normalisation, dropout, classification, convolution, saved]
write("layers", [entry for part in parts for entry in part()], torch)
write("signal", list(signal()), scipy)
