"""numpy on arrays: A1, A2, A4, A7, A8 and samples of elementwise work, reductions, sorting, indexing and joining."""

import itertools

import numpy as np
from fixture import DTYPES, case, normal, rng, write

TYPES = ["float32", "float64", "int64", "uint8", "bool"]


def a1_shapes():
    for shape in [(), (0,), (3,), (2, 0, 4), (1, 1), (2, 3, 4), (2, 1, 3, 1, 2, 2)]:
        x = np.zeros(shape)
        strides = [stride // x.itemsize for stride in x.strides]
        name = "a1 shape " + "x".join(map(str, shape))
        yield case(name, shape=list(shape), rank=x.ndim, size=x.size, strides=strides)
    for dtype in TYPES:
        yield case(f"a1 dtype {DTYPES[dtype]}", dtype=DTYPES[dtype], item_size=np.dtype(dtype).itemsize)
    # numpy's promotion of mixed element types; the rule of tove is documented beside it.
    pairs = [[DTYPES[a], DTYPES[b], DTYPES[np.result_type(a, b).name]] for a, b in itertools.product(TYPES, TYPES)]
    yield case("a1 promotion", pairs=pairs)


def a2_inner_products():
    g = rng(2)
    for n in (1, 3, 17, 100):
        w, x = normal(g, n), normal(g, n)
        cosine = w @ x / (np.linalg.norm(w) * np.linalg.norm(x))
        yield case(f"a2 inner product {n}", {"w": w, "x": x}, {"y": w @ x, "cosine": cosine})


def a4_products():
    g = rng(4)
    shapes = [
        ((2, 3), (3, 4)), ((1, 5), (5, 1)), ((3,), (3,)), ((3,), (3, 2)), ((2, 3), (3,)), ((2, 3, 4), (2, 4, 2)),
        ((3, 1, 2, 3), (2, 3, 2)), ((2, 2, 3), (3,)), ((3,), (2, 3, 2)), ((0, 3), (3, 2)), ((2, 0), (0, 3)),
    ]
    for a_shape, b_shape in shapes:
        a, b = normal(g, *a_shape), normal(g, *b_shape)
        yield case(f"a4 matmul {a_shape} {b_shape}", {"a": a, "b": b}, {"y": np.matmul(a, b)})


def a7_contractions():
    g = rng(7)
    expressions = [
        ("ii->", [(4, 4)]), ("ij->i", [(3, 4)]), ("ij->ji", [(3, 4)]), ("ii->i", [(4, 4)]), ("i,j->ij", [(3,), (4,)]),
        ("bi,ij,bj->b", [(3, 2), (2, 4), (3, 4)]), ("bij,bjk->bik", [(2, 3, 2), (2, 2, 3)]),
        ("bhqd,bhkd->bhqk", [(1, 2, 3, 2), (1, 2, 3, 2)]), ("ij,ij->", [(3, 4), (3, 4)]),
        ("ijk,kl->il", [(2, 3, 2), (2, 3)]), ("...ij,...jk->...ik", [(2, 2, 3), (3, 2)]), ("ij,jk", [(2, 3), (3, 2)]),
    ]
    for expression, shapes in expressions:
        operands = [normal(g, *shape) for shape in shapes]
        inputs = {f"x{index}": operand for index, operand in enumerate(operands)}
        yield case(f"a7 {expression}", inputs, {"y": np.einsum(expression, *operands)}, expression=expression)


def a8_broadcasting():
    shapes = [(), (1,), (3,), (4,), (0,), (1, 3), (4, 1), (4, 3), (2, 1, 3), (2, 4, 1), (1, 0), (2, 4, 3)]
    table = []
    for a, b in itertools.product(shapes, shapes):
        try:
            table.append([list(a), list(b), list(np.broadcast_shapes(a, b))])
        except ValueError:
            table.append([list(a), list(b), None])
    yield case("a8 broadcast table", table=table)
    g = rng(8)
    for a_shape, b_shape in [((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2, 2)), ((2, 1, 2), (3, 1)), ((0, 3), (1, 3))]:
        a, b = normal(g, *a_shape), normal(g, *b_shape)
        upstream = normal(g, *np.broadcast_shapes(a_shape, b_shape))
        yield case(
            f"a8 multiply {a_shape} {b_shape}",
            {"a": a, "b": b, "upstream": upstream},
            {"y": a * b},
            {"a": summed_to(upstream * b, a_shape), "b": summed_to(upstream * a, b_shape)},
        )


def summed_to(gradient, shape):
    """Sums over the axes along which an operand of this shape was stretched."""
    gradient = gradient.sum(axis=tuple(range(gradient.ndim - len(shape))))
    stretched = tuple(axis for axis, size in enumerate(shape) if size == 1 and gradient.shape[axis] != 1)
    return gradient.sum(axis=stretched, keepdims=True)


def elementwise():
    x = np.array([-2.5, -1.0, -0.3, 0.0, 1e-9, 0.4, 1.0, 2.5, 30.0])
    positive = np.array([1e-300, 1e-9, 0.3, 1.0, 2.5, 1e6])
    inside = np.array([-0.9, -0.5, 0.0, 1e-9, 0.5, 0.99])
    plain = "exp expm1 sin cos tan tanh sinh cosh arctan arcsinh abs sign floor ceil square negative exp2 rint trunc"
    groups = [(x, plain), (positive, "log log1p log2 log10 sqrt cbrt reciprocal arccosh"), (inside, "arcsin arccos arctanh")]
    for values, names in groups:
        for name in names.split():
            with np.errstate(all="ignore"):
                yield case(f"unary {name}", {"x": values}, {"y": getattr(np, name)(values)}, op=name)
    a, b = np.array([-7.0, -3.0, 0.0, 3.0, 5.5, 2.0]), np.array([3.0, 2.0, 2.0, -2.0, 2.0, 0.5])
    for name in "add subtract multiply divide maximum minimum arctan2 fmod remainder floor_divide hypot".split():
        yield case(f"binary {name}", {"a": a, "b": b}, {"y": getattr(np, name)(a, b)}, op=name)
    yield case("binary power", {"a": np.abs(a), "b": b}, {"y": np.power(np.abs(a), b)}, op="power")
    for name in "equal not_equal less less_equal greater greater_equal".split():
        c = np.array([3.0, 2.0, 0.0, 3.0, np.nan, 2.0])
        yield case(f"compare {name}", {"a": a, "b": c}, {"y": getattr(np, name)(a, c)}, op=name)


def reductions():
    x = normal(rng(20), 2, 3, 4)
    for name in "sum mean prod max min var std argmax argmin".split():
        for axis in (None, 0, 1, -1):
            y = getattr(np, name)(x, axis=axis)
            yield case(f"reduce {name} axis {axis}", {"x": x}, {"y": np.asarray(y)}, op=name, axis=axis)
    two_axes = np.sum(x, axis=(0, 2), keepdims=True)
    yield case("reduce sum axes 0 2 keepdims", {"x": x}, {"y": two_axes}, op="sum", axis=[0, 2], keepdims=True)
    yield case("reduce var ddof 1", {"x": x}, {"y": np.var(x, axis=1, ddof=1)}, op="var", axis=1, ddof=1)
    shifted = x - x.max(axis=-1, keepdims=True)
    logsumexp = np.log(np.exp(shifted).sum(-1)) + x.max(-1)
    yield case("reduce logsumexp", {"x": x}, {"y": logsumexp}, op="logsumexp", axis=-1)
    for name in ("cumsum", "cumprod"):
        for axis in (0, -1):
            yield case(f"{name} axis {axis}", {"x": x}, {"y": getattr(np, name)(x, axis=axis)}, op=name, axis=axis)
    mask = x > 0
    for name in ("any", "all"):
        yield case(f"reduce {name}", {"x": mask}, {"y": getattr(np, name)(mask, axis=1)}, op=name, axis=1)


def sorting():
    x = np.array([[3.0, 1.0, 2.0, 1.0], [0.0, -1.0, 5.0, 5.0], [2.0, 2.0, 2.0, -3.0]])
    for axis in (0, -1):
        order = np.argsort(x, axis=axis, kind="stable")
        yield case(f"sort axis {axis}", {"x": x}, {"y": np.sort(x, axis=axis), "order": order}, axis=axis)
    order = np.argsort(-x, axis=-1, kind="stable")[:, :2]
    yield case("topk 2", {"x": x}, {"y": np.take_along_axis(x, order, -1), "order": order}, k=2)


def rearranging():
    g = rng(30)
    x, other = normal(g, 3, 4), normal(g, 2, 4)
    index, grid = np.array([2, 0, 2]), np.array([[0, 3], [1, 1], [2, 0]])
    yield case("slice 1:, ::2", {"x": x}, {"y": x[1:, ::2]})
    yield case("slice ::-1", {"x": x}, {"y": x[::-1]})
    yield case("slice negative", {"x": x}, {"y": x[-2:, -3:-1]})
    yield case("take rows", {"x": x, "index": index}, {"y": x[index]})
    yield case("take_along_axis 1", {"x": x, "index": grid}, {"y": np.take_along_axis(x, grid, 1)})
    yield case("mask", {"x": x, "mask": x > 0}, {"y": x[x > 0]})
    yield case("where", {"mask": x > 0, "a": x, "b": -2 * x}, {"y": np.where(x > 0, x, -2 * x)})
    yield case("clip", {"x": x}, {"y": np.clip(x, -0.5, 0.7)}, low=-0.5, high=0.7)
    yield case("concatenate", {"a": x, "b": other}, {"y": np.concatenate([x, other], 0)}, axis=0)
    yield case("stack", {"a": x, "b": x + 1}, {"y": np.stack([x, x + 1], 1)}, axis=1)
    padded = np.pad(x, ((1, 0), (2, 1)), constant_values=0.5)
    yield case("pad", {"x": x}, {"y": padded}, widths=[[1, 0], [2, 1]], value=0.5)
    yield case("roll 1 axis 1", {"x": x}, {"y": np.roll(x, 1, 1)}, shift=1, axis=1)
    yield case("roll -2 axis 0", {"x": x}, {"y": np.roll(x, -2, 0)}, shift=-2, axis=0)
    yield case("flip", {"x": x}, {"y": np.flip(x, 1)}, axis=1)
    yield case("tile", {"x": other}, {"y": np.tile(other, (2, 2))}, times=[2, 2])
    for k in (-1, 0, 2):
        yield case(f"tril {k}", {"x": x}, {"y": np.tril(x, k)}, k=k)
        yield case(f"triu {k}", {"x": x}, {"y": np.triu(x, k)}, k=k)
    total = np.zeros((4, 4))
    np.add.at(total, index, x)
    yield case("scatter_add rows", {"x": x, "index": index}, {"y": total}, rows=4)


def series():
    g = rng(31)
    x = normal(g, 3, 6)
    for axis in (0, -1):
        yield case(f"diff axis {axis}", {"x": x}, {"y": np.diff(x, axis=axis)}, axis=axis)
    for correction in (0, 1):
        yield case(f"cov {correction}", {"x": x}, {"y": np.cov(x, ddof=correction)}, correction=correction)
    edges = np.array([-1.0, -0.2, 0.0, 0.75])
    values = np.concatenate([normal(g, 30), edges, [np.nan, 9.0]])
    yield case("histogram", {"x": values, "edges": edges}, {"y": np.histogram(values, edges)[0]})
    odd = np.array([1.5, np.nan, np.inf, -np.inf, -0.0])
    yield case("nan_to_num", {"x": odd}, {"y": np.nan_to_num(odd, nan=0.25, posinf=7.0, neginf=-8.0)})


if __name__ == "__main__":
    groups = [a1_shapes, a2_inner_products, a4_products, a7_contractions, a8_broadcasting]
    groups += [elementwise, reductions, sorting, rearranging, series]
    write("numpy_tensor", [entry for group in groups for entry in group()])
