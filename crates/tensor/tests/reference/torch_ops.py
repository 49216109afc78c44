"""PyTorch in f32 and f64: operations of networks with their gradients (B17, B25, B27 and the fused ones).

The same cases go to torch_f32.json and torch_f64.json.
"""

import torch
from fixture import case, normal, rng, write
from torch.nn import functional as F

torch.set_num_threads(1)


class Maker:
    """Makes cases in one element type: runs a function, takes <y, upstream> and its gradients."""

    def __init__(self, dtype):
        self.dtype = dtype

    def case(self, name, function, seed, tensors, constants=None, **attrs):
        """`tensors` are differentiated; `constants` (labels, indices) are passed on as they are."""
        leaves = {key: torch.tensor(values, dtype=self.dtype, requires_grad=True) for key, values in tensors.items()}
        fixed = {key: torch.as_tensor(values) for key, values in (constants or {}).items()}
        y = function(**leaves, **fixed)
        inputs = {**leaves, **fixed}
        upstream = torch.tensor(1.0, dtype=self.dtype)
        if y.ndim > 0:
            upstream = torch.tensor(normal(rng(seed + 1000), *y.shape), dtype=self.dtype)
            inputs["upstream"] = upstream
        gradients = torch.autograd.grad(y, list(leaves.values()), upstream)
        plain = lambda by_name: {key: value.detach().numpy() for key, value in by_name.items()}
        return case(name, plain(inputs), plain({"y": y}), plain(dict(zip(leaves, gradients))), **attrs)


def rules(make):
    g = rng(200)
    sizes, parameters = [5, 7, 6, 4, 3], {}
    for layer, (fan_in, fan_out) in enumerate(zip(sizes[:-1], sizes[1:]), 1):
        parameters[f"w{layer}"] = normal(g, fan_out, fan_in, scale=fan_in**-0.5)
        parameters[f"b{layer}"] = normal(g, fan_out, scale=0.2)

    def chain(x, **p):
        for layer in range(1, 5):
            x = torch.tanh(F.linear(x, p[f"w{layer}"], p[f"b{layer}"]))
        return x.sum()

    yield make.case("b17 chain", chain, 17, {"x": normal(g, 2, 5), **parameters})
    product = lambda w, x: w @ x
    yield make.case("b25 matrix", product, 25, {"w": normal(g, 3, 4), "x": normal(g, 4, 2)})
    yield make.case("b25 batch", product, 26, {"w": normal(g, 2, 2, 3), "x": normal(g, 2, 3, 2)})
    yield make.case("b25 shared left", product, 27, {"w": normal(g, 2, 3), "x": normal(g, 3, 3, 2)})
    yield make.case("b25 shared right", product, 28, {"w": normal(g, 3, 2, 3), "x": normal(g, 3, 2)})
    kinked = [-2.0, -0.0, 0.0, 1e-30, 0.5, 3.0, -1e-30, 7.25]
    yield make.case("b27 relu", F.relu, 29, {"input": kinked})


def activations(make):
    x = [-30.0, -4.0, -1.0, -0.3, 0.0, 0.2, 1.0, 2.5, 25.0]
    functions = {
        "gelu erf": F.gelu,
        "gelu tanh": lambda input: F.gelu(input, approximate="tanh"),
        "silu": F.silu,
        "elu": F.elu,
        "softplus": F.softplus,
        "sigmoid": torch.sigmoid,
        "tanh": torch.tanh,
        "leaky_relu": F.leaky_relu,
        "logsigmoid": F.logsigmoid,
        "erf": torch.erf,
        "rsqrt of square plus one": lambda input: torch.rsqrt(input * input + 1),
    }
    for seed, (name, function) in enumerate(functions.items(), 40):
        yield make.case(name, function, seed, {"input": x})


# Shapes of input and weight, then options.
CONVOLUTIONS = {
    "conv1d": [
        ((2, 2, 7), (3, 2, 3), {}),
        ((1, 2, 8), (2, 2, 3), {"stride": 2, "padding": 1}),
        ((1, 2, 9), (2, 2, 3), {"dilation": 2, "padding": 2}),
        ((1, 4, 6), (4, 2, 2), {"groups": 2}),
        ((1, 3, 5), (3, 1, 3), {"groups": 3, "padding": 1}),
    ],
    "conv2d": [
        ((2, 2, 4, 5), (2, 2, 3, 3), {}),
        ((1, 2, 5, 5), (3, 2, 3, 3), {"padding": 1}),
        ((1, 2, 6, 5), (2, 2, 3, 2), {"stride": [2, 1], "padding": [1, 0]}),
        ((1, 2, 6, 6), (2, 2, 3, 3), {"dilation": 2, "padding": 1}),
        ((1, 4, 4, 4), (4, 2, 3, 3), {"groups": 2, "padding": 1}),
        ((1, 3, 5, 4), (3, 1, 3, 3), {"groups": 3, "stride": 2, "padding": 1}),
        ((2, 3, 2, 2), (4, 3, 1, 1), {}),
    ],
    "conv_transpose2d": [
        ((1, 2, 3, 3), (2, 2, 3, 3), {}),
        ((1, 2, 3, 2), (2, 3, 3, 3), {"stride": 2, "padding": 1, "output_padding": 1}),
        ((1, 4, 2, 3), (4, 1, 2, 2), {"groups": 2, "stride": 2}),
        ((1, 2, 3, 3), (2, 2, 2, 2), {"dilation": 2}),
    ],
    "conv_transpose1d": [
        ((2, 2, 4), (2, 3, 3), {}),
        ((1, 2, 3), (2, 3, 3), {"stride": 2, "padding": 1, "output_padding": 1}),
        ((1, 4, 3), (4, 1, 2), {"groups": 2, "stride": 2}),
        ((1, 2, 5), (2, 2, 2), {"dilation": 2, "padding": 1}),
        ((2, 2, 3), (2, 3, 3), {"dilation": 3, "padding": 1, "output_padding": 2}),
        ((1, 2, 4), (2, 2, 2), {"stride": 2, "dilation": 5, "padding": 2, "output_padding": 4}),
    ],
}
# After the others, whose numbers they must not change.
FURTHER = {
    "conv_transpose2d": [
        ((1, 2, 3, 2), (2, 3, 2, 3), {"stride": [1, 2], "dilation": [4, 3], "padding": 1, "output_padding": [3, 2]}),
    ],
}


def with_options(kind, options):
    """The function of that name with its options, and a name for the case."""
    call = lambda *arguments, **tensors: getattr(F, kind)(*arguments, **tensors, **options)
    return call, " ".join([kind, *(f"{key}={value}" for key, value in options.items())])


def convolutions(make):
    g = rng(300)
    for kind, table in [*CONVOLUTIONS.items(), *FURTHER.items()]:
        for index, (x, w, options) in enumerate(table):
            channels = w[1] * options.get("groups", 1) if "transpose" in kind else w[0]
            tensors = {"input": normal(g, *x), "weight": normal(g, *w), "bias": normal(g, channels)}
            function, name = with_options(kind, options)
            yield make.case(f"{name} on {x} {w}", function, 300 + index, tensors, **options)


def poolings(make):
    # Distinct values, so that the largest is unique.
    x = rng(400).permutation(2 * 5 * 6).reshape(1, 2, 5, 6) / 10.0 - 3
    padded = {"kernel_size": 3, "stride": 2, "padding": 1}
    table = [
        ("max_pool2d", {"kernel_size": 2}),
        ("max_pool2d", padded),
        ("avg_pool2d", {"kernel_size": 2}),
        ("avg_pool2d", padded),
        ("avg_pool2d", {**padded, "count_include_pad": False}),
    ]
    for seed, (kind, options) in enumerate(table, 400):
        function, name = with_options(kind, options)
        yield make.case(name, function, seed, {"input": x}, **options)


def normalisations(make):
    g = rng(500)
    affine = lambda size: {"weight": normal(g, size), "bias": normal(g, size)}
    layer = lambda input, weight, bias: F.layer_norm(input, (5,), weight, bias)
    batch = lambda input, weight, bias: F.batch_norm(input, None, None, weight, bias, training=True)
    yield make.case("layer_norm", layer, 500, {"input": normal(g, 2, 3, 5), **affine(5)}, eps=1e-5)
    yield make.case("layer_norm far from zero", layer, 501, {"input": normal(g, 2, 5) + 100, **affine(5)}, eps=1e-5)
    yield make.case("batch_norm rows", batch, 502, {"input": normal(g, 6, 3), **affine(3)}, eps=1e-5)
    yield make.case("batch_norm images", batch, 503, {"input": normal(g, 2, 2, 3, 3), **affine(2)}, eps=1e-5)
    fixed = {"mean": normal(g, 3), "variance": abs(normal(g, 3)) + 0.5}

    def evaluated(input, weight, bias, mean, variance):
        return F.batch_norm(input, mean.to(input.dtype), variance.to(input.dtype), weight, bias)

    yield make.case("batch_norm evaluation", evaluated, 504, {"input": normal(g, 4, 3), **affine(3)}, fixed, eps=1e-5)


def classifications(make):
    g = rng(600)
    x, wide = normal(g, 3, 4), [[1000.0, 1000.0, -1000.0], [-1000.0, 0.0, 3.0]]
    for name, function in {"softmax": F.softmax, "log_softmax": F.log_softmax}.items():
        yield make.case(f"{name} last axis", lambda input, f=function: f(input, -1), 600, {"input": x}, axis=-1)
        yield make.case(f"{name} first axis", lambda input, f=function: f(input, 0), 601, {"input": x}, axis=0)
        yield make.case(f"{name} extreme", lambda input, f=function: f(input, -1), 602, {"input": wide}, axis=-1)
    labels = {"labels": g.integers(0, 4, 3)}
    entropy = lambda input, labels, **options: F.cross_entropy(input, labels, **options)
    yield make.case("cross_entropy mean", entropy, 603, {"input": x}, labels)
    each = lambda input, labels: entropy(input, labels, reduction="none")
    yield make.case("cross_entropy none", each, 604, {"input": x}, labels)
    yield make.case("cross_entropy extreme", entropy, 605, {"input": wide}, {"labels": [2, 0]})
    index = {"index": [[0, 2], [2, 4], [1, 2]]}
    yield make.case("embedding", lambda weight, index: F.embedding(index, weight), 606, {"weight": normal(g, 5, 3)}, index)


def logarithms(make):
    g = rng(800)
    pairs = {"a": [-3.0, 0.5, 1000.0, -1000.0, 30.0], "b": [2.0, 0.5, 999.0, -1001.5, -30.0]}
    together = lambda a, b: torch.logaddexp(a, b)
    yield make.case("logaddexp", together, 800, pairs)
    yield make.case("logaddexp stretched", together, 801, {"a": normal(g, 3, 1), "b": normal(g, 4)})
    logits = [[-80.0, -4.0, 0.0, 0.3], [2.5, 17.0, 90.0, -0.7]]
    target = [[0.0, 1.0, 0.25, 1.0], [0.0, 1.0, 1.0, 0.5]]
    weight = {"pos_weight": [0.5, 2.0, 3.0, 1.0]}
    for reduction in ("none", "mean", "sum"):
        from_logits = lambda input, target, pos_weight=None: F.binary_cross_entropy_with_logits(
            input, target, pos_weight=None if pos_weight is None else pos_weight.to(input.dtype), reduction=reduction
        )
        tensors = {"input": logits, "target": target}
        yield make.case(f"bce logits {reduction}", from_logits, 802, tensors, reduction=reduction)
        yield make.case(f"bce weighted {reduction}", from_logits, 803, tensors, weight, reduction=reduction)
        from_p = lambda input, target: F.binary_cross_entropy(input, target, reduction=reduction)
        tensors = {"input": [1e-6, 0.2, 0.5, 0.9], "target": [1.0, 0.25, 0.5, 0.0]}
        yield make.case(f"bce probabilities {reduction}", from_p, 804, tensors, reduction=reduction)
    # At 0 and 1 PyTorch's derivative by the target is infinite, though its value is cut off.
    each = lambda input, target: F.binary_cross_entropy(input, target.to(input.dtype), reduction="none")
    yield make.case("bce sure", each, 805, {"input": [0.0, 1.0, 0.0, 1.0]}, {"target": [1.0, 1.0, 0.0, 0.0]})


def attentions(make):
    g = rng(700)
    for name, query, keys, causal in (
        ("attention", (1, 2, 4, 3), (1, 2, 4, 3), False),
        ("attention longer keys", (1, 1, 3, 2), (1, 1, 5, 2), False),
        ("attention causal", (1, 2, 4, 3), (1, 2, 4, 3), True),
    ):
        tensors = {"query": normal(g, *query), "key": normal(g, *keys), "value": normal(g, *keys)}
        function = with_options("scaled_dot_product_attention", {"is_causal": causal})[0]
        yield make.case(name, function, 700, tensors, causal=causal)


if __name__ == "__main__":
    for name, dtype in (("torch_f32", torch.float32), ("torch_f64", torch.float64)):
        groups = [rules, activations, convolutions, poolings, normalisations, classifications, attentions, logarithms]
        write(name, [entry for group in groups for entry in group(Maker(dtype))], torch)
