"""PyTorch and numpy in f64: running extremes, order statistics, writes at positions, products, images, norms of groups.

Functions with a second result (positions) write it as the output `other`. PyTorch leaves open which of several writes to
one place stays, so no case has any.
"""

import numpy as np
import torch
from fixture import case, normal, rng, write
from torch.nn import functional as F

torch.set_num_threads(1)
NAN, INF = float("nan"), float("inf")


def made(name, function, seed, tensors, constants=None, **attrs):
    """Value, second result and gradients; `tensors` are differentiated, `constants` passed on as they are."""
    leaves = {key: torch.tensor(np.asarray(x), dtype=torch.float64, requires_grad=True) for key, x in tensors.items()}
    fixed = {key: torch.as_tensor(np.asarray(x)) for key, x in (constants or {}).items()}
    result = function(**leaves, **fixed)
    y, other = result if isinstance(result, tuple) else (result, None)
    inputs = {**leaves, **fixed}
    upstream = torch.tensor(1.0, dtype=torch.float64)
    if y.ndim > 0:
        upstream = inputs["upstream"] = torch.tensor(normal(rng(seed), *y.shape))
    gradients = torch.autograd.grad(y, list(leaves.values()), upstream)
    outputs = {"y": y} if other is None else {"y": y, "other": other}
    plain = lambda by_name: {key: value.detach().numpy() for key, value in by_name.items()}
    return case(name, plain(inputs), plain(outputs), plain(dict(zip(leaves, gradients))), **attrs)


def running():
    g = rng(1)
    tied = np.round(normal(g, 4, 6, scale=1.5))
    for axis in (0, 1):
        for name in ("cummax", "cummin"):
            along = lambda x, f=getattr(torch, name): tuple(f(x, axis))
            yield made(f"{name} axis {axis}", along, 10 + axis, {"x": normal(g, 3, 5)}, axis=axis)
            yield made(f"{name} ties axis {axis}", along, 12 + axis, {"x": tied}, axis=axis)
        sums = lambda x: torch.logcumsumexp(x, axis)
        yield made(f"logcumsumexp axis {axis}", sums, 15 + axis, {"x": normal(g, 3, 7, scale=3.0)}, axis=axis)
    missing = {"x": [[1.0, NAN, 3.0, NAN, 0.0], [2.0, 5.0, NAN, 7.0, 1.0]]}
    yield made("cummax nan", lambda x: tuple(torch.cummax(x, 1)), 14, missing, axis=1)
    yield made("cummin nan", lambda x: tuple(torch.cummin(x, 1)), 14, missing, axis=1)
    wide = [[-1000.0, 0.0, 1000.0, 999.0, -INF], [-500.0, 3.0, -700.0, 4.0, 1e4]]
    yield made("logcumsumexp wide", lambda x: torch.logcumsumexp(x, 1), 17, {"x": wide}, axis=1)
    holes = normal(g, 3, 4)
    holes[0, 1] = holes[2, 3] = NAN
    for name, axes in {"nansum": [0], "nanmean": [1]}.items():
        yield made(name, lambda x, f=getattr(torch, name): f(x, axes), 18, {"x": holes}, axes=axes)


def order():
    g = rng(2)
    for k, axis in ((1, 0), (3, 1), (5, 1)):
        kth = lambda x: tuple(torch.kthvalue(x, k, axis))
        yield made(f"kthvalue {k} axis {axis}", kth, 20, {"x": normal(g, 4, 5)}, k=k, axis=axis)
    counted = np.array([[2.0, 7.0, 2.0, 7.0, 1.0], [3.0, 3.0, 1.0, 5.0, 3.0], [4.0, 1.0, 2.0, 0.0, 3.0]])
    for axis in (0, 1):
        yield made(f"mode axis {axis}", lambda x: tuple(torch.mode(x, axis)), 21, {"x": counted}, axis=axis)
    rows = np.round(normal(g, 6, 2)).astype(np.int64)
    rows[4] = rows[1]
    for axis in (0, 1):
        x = np.ascontiguousarray(rows if axis == 0 else rows.T)
        values, inverse, counts = np.unique(x, axis=axis, return_inverse=True, return_counts=True)
        outputs = {"y": values, "inverse": inverse.ravel(), "counts": counts}
        yield case(f"unique_axis {axis}", {"x": x}, outputs, axis=axis)


def positions():
    g = rng(3)
    index = {"index": [[1, 0], [3, 2], [2, 1]]}
    scatter = lambda x, source, index: x.scatter(1, index, source)
    yield made("scatter", scatter, 30, {"x": normal(g, 3, 4), "source": normal(g, 3, 2)}, index, axis=1)
    fill = lambda x, index: x.index_fill(1, index, 2.5)
    yield made("index_fill", fill, 31, {"x": normal(g, 3, 4)}, {"index": [3, 0, 3]}, axis=1, value=2.5)
    mask = {"mask": [[True, False, True, False], [False, False, True, True], [True, False, False, False]]}
    masked = lambda x, source, mask: x.masked_scatter(mask, source)
    yield made("masked_scatter", masked, 32, {"x": normal(g, 3, 4), "source": normal(g, 2, 4)}, mask)
    row = {"mask": [False, True, False, True]}
    yield made("masked_scatter of rows", masked, 33, {"x": normal(g, 2, 4), "source": normal(g, 5)}, row)


def products():
    g = rng(4)
    legs = {"a": [3.0, -1e200, 1e-200, 0.5], "b": [-4.0, 1e200, 2e-200, 0.0]}
    yield made("hypot", torch.hypot, 40, {"input": legs["a"], "other": legs["b"]})
    between = {"input": normal(g, 2, 3), "end": normal(g, 3), "weight": [[0.25], [1.5]]}
    yield made("lerp", torch.lerp, 41, between)
    for p in (0.5, 1.0, 2.0, 3.0, INF):
        distance = lambda a, b: torch.cdist(a, b, p, compute_mode="donot_use_mm_for_euclid_dist")
        tensors = {"a": normal(g, 2, 3, 4), "b": normal(g, 1, 5, 4)}
        yield made(f"cdist {p}", distance, 42, tensors, p=str(p))
    for axis in (0, -1):
        shape = (3, 2) if axis == 0 else (2, 3)
        tensors = {"a": normal(g, *shape), "b": normal(g, *shape)}
        yield made(f"cross axis {axis}", lambda a, b: torch.linalg.cross(a, b, dim=axis), 43, tensors, axis=axis)
    for axes in (([1, 0], [0, 2]), ([2], [1]), ([], [])):
        tensors = {"a": normal(g, 2, 3, 4), "b": normal(g, 3, 4, 2)}
        name = f"tensordot {axes[0]} {axes[1]}"
        yield made(name, lambda a, b: torch.tensordot(a, b, axes), 44, tensors, axes=axes[0], others=axes[1])
    pair = {"a": [1.0, 1.0, INF, INF, NAN, 0.0, -INF, 1e-9], "b": [1.0 + 1e-6, 1.1, INF, 1.0, NAN, 1e-9, INF, 0.0]}
    pair = {key: np.array(values) for key, values in pair.items()}
    yield case("isclose", pair, {"y": np.isclose(pair["a"], pair["b"])}, relative=1e-5, absolute=1e-8)


def images():
    g = rng(5)
    for mode in ("nearest", "bilinear"):
        for old, new in (((3, 5), (6, 10)), ((4, 4), (3, 7)), ((7, 6), (2, 3)), ((1, 2), (4, 2)), ((5, 3), (5, 1))):
            resize = lambda x: F.interpolate(x, size=new, mode=mode)
            yield made(f"interpolate {mode} {old} {new}", resize, 50, {"x": normal(g, 1, 2, *old)}, size=new)


def groups():
    g = rng(6)
    for shape, number in (((2, 6, 3), 3), ((2, 4, 3, 2), 2), ((3, 4), 1), ((2, 4, 2, 2), 4)):
        tensors = {"x": normal(g, *shape) * 2 + 1, "weight": normal(g, shape[1]), "bias": normal(g, shape[1])}
        norm = lambda x, weight, bias: F.group_norm(x, number, weight, bias, 1e-5)
        yield made(f"group_norm {shape} {number}", norm, 60, tensors, groups=number)
        if len(shape) > 2:
            norm = lambda x, weight, bias: F.instance_norm(x, weight=weight, bias=bias, eps=1e-5)
            yield made(f"instance_norm {shape}", norm, 61, tensors)


def sequences():
    for start, end, step in ((0.0, 1.0, 0.1), (2.0, -1.0, -0.75), (1.0, 1.0, 0.5), (0.0, 5.0, 2.0), (3.0, 4.0, -1.0)):
        y = torch.arange(start, end, step, dtype=torch.float64) if (end - start) * step > 0 else np.zeros(0)
        y = np.asarray(y)
        assert len(y) == len(np.arange(start, end, step))
        yield case(f"arange_step {start} {end} {step}", {}, {"y": y}, start=start, end=end, step=step)
    for start, end, count, base in ((0.0, 3.0, 7, 10.0), (-2.0, 2.0, 5, 2.0), (1.5, 9.0, 1, 10.0), (1.0, 2.0, 0, 3.0)):
        y = np.logspace(start, end, count, base=base)
        attrs = dict(start=start, end=end, count=count, base=base)
        yield case(f"logspace {start} {end} {count} {base}", {}, {"y": y}, **attrs)


if __name__ == "__main__":
    parts = [running, order, positions, products, images, groups, sequences]
    write("torch_everyday", [entry for part in parts for entry in part()], torch)
