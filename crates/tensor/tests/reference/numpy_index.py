"""numpy: what indexing reads, what assignment writes, and what np.add.at adds, for a table of index expressions."""

import numpy as np
from fixture import case, rng, write

BASIC = [
    "x[1]", "x[-1]", "x[1, 2, 3]", "x[0, -1]", "x[:]", "x[...]", "x[()]", "x[1:]", "x[:-1]", "x[:, 1:3]", "x[..., 1:3]",
    "x[::-1]", "x[:, ::-2]", "x[2:0:-1]", "x[:, 10:2]", "x[5:]", "x[-100:100]", "x[:, :, ::3]", "x[:, :, 3::-2]",
    "x[None]", "x[:, None, 1]", "x[..., None]", "x[1, ..., None, 2]", "x[None, :, None, ::-1, 0]", "x[..., 0]",
    "x[-2:, -3:-1]", "x[:, :, -1:-4:-1]", "x[:0]",
]
ADVANCED = [
    "x[i]", "x[:, i]", "x[..., i]", "x[i, j]", "x[:, i, j]", "x[i, :, j]", "x[0, :, i]", "x[i, 1]", "x[:, 1, i]",
    "x[k]", "x[:, k]", "x[k, i]", "x[i, k]", "x[i[:, None], j]", "x[i, None, j]", "x[None, i]", "x[1:, i]", "x[::-1, i, ::2]",
    "x[i, ..., 0]", "x[mask]", "x[rows]", "x[:, columns]", "x[rows, 1]", "x[rows, :, columns4]", "x[rows, i2]", "x[plane]",
    "x[1, columns]", "x[empty]", "x[:, empty]", "x[i, j, i]", "x[scalar]", "x[:, scalar]", "x[nothing]", "x[yes]", "x[no]",
    "x[i[None, :], j[:, None], None]",
]
ERRORS = ["x[3]", "x[-4]", "x[0, 0, 0, 0]", "x[far]", "x[rows4]", "x[i, i2]", "x[..., ...]", "x[:, :, 5]"]


def arrays():
    g = rng(400)
    x = np.arange(60.0).reshape(3, 4, 5)
    names = {
        "i": np.array([2, 0, -1]),
        "j": np.array([1, 3, 1]),
        "k": np.array([[0, 1], [-2, 2]]),
        "i2": np.array([1, -3]),
        "empty": np.array([], dtype=np.int64),
        "scalar": np.array(1),
        "mask": g.random((3, 4, 5)) > 0.6,
        "plane": g.random((3, 4)) > 0.5,
        "rows": np.array([True, False, True]),
        "rows4": np.array([True, False, True, True]),
        "columns": np.array([False, True, True, False]),
        "columns4": np.array([False, True, False, True, False]),
        "nothing": np.zeros((3, 4, 5), dtype=bool),
        "yes": np.array(True),
        "no": np.array(False),
        "far": np.array([0, 3]),
    }
    return x, names


class Spec:
    """Records what stands between the brackets."""

    def __init__(self, values):
        self.values, self.inputs = values, {}

    def entry(self, item):
        if item is None:
            return "newaxis"
        if item is Ellipsis:
            return "ellipsis"
        if isinstance(item, slice):
            return {"range": [item.start, item.stop, 1 if item.step is None else item.step]}
        if isinstance(item, np.ndarray):
            name = f"t{len(self.inputs)}"
            self.inputs[name] = item
            return {"tensor": name}
        return {"at": item}

    def __getitem__(self, items):
        items = items if isinstance(items, tuple) else (items,)
        return [self.entry(item) for item in items], items


def cases():
    x, names = arrays()
    for expression in BASIC + ADVANCED + ERRORS:
        spec = Spec(names)
        entries, items = eval(expression, {"x": spec, **names})
        try:
            y = x[items]
        except IndexError:
            yield case(expression, {"x": x, **spec.inputs}, spec=entries, error=True)
            continue
        value = -(np.arange(y.size).reshape(y.shape) + 1) / 8  # sums are exact
        assigned, added = x.copy(), x.copy()
        assigned[items] = value
        np.add.at(added, items, value)
        inputs = {"x": x, "value": value, **spec.inputs}
        yield case(expression, inputs, {"y": np.asarray(y), "set": assigned, "sum": added}, spec=entries, error=False)


def others():
    g = rng(401)
    x = np.array([[2.0, np.nan, -0.0, 0.0], [np.inf, 1.0, np.nan, -np.inf]])
    for axis in (0, 1):
        order = np.argsort(x, axis=axis, kind="stable")
        yield case(f"sort nan axis {axis}", {"x": x}, {"order": order}, axis=axis)
    whole = g.integers(-5, 5, (3, 7))
    yield case("sort whole numbers", {"x": whole}, {"order": np.argsort(whole, 1, kind="stable")}, axis=1)
    tables = {"floats": x, "whole numbers": whole, "masks": x > 0, "nothing": np.zeros((0, 3))}
    for name, table in tables.items():
        values, inverse, counts = np.unique(table, return_inverse=True, return_counts=True)
        found = {"values": values, "inverse": inverse.reshape(table.shape), "counts": counts}
        yield case(f"unique {name}", {"x": table}, found)
    ladder, values = np.array([-1.0, 0.0, 0.0, 2.5, 7.0]), np.array([[-2.0, 0.0, 1.0], [2.5, 9.0, np.nan]])
    for side in ("left", "right"):
        places = np.searchsorted(ladder, values, side=side)
        yield case(f"searchsorted {side}", {"x": ladder, "values": values}, {"y": places})
    numbers, weights = np.array([0, 3, 1, 3, 3]), np.array([0.5, 1.0, -2.0, 0.25, 4.0])
    yield case("bincount", {"x": numbers}, {"y": np.bincount(numbers)})
    yield case("bincount weights", {"x": numbers, "w": weights}, {"y": np.bincount(numbers, weights, minlength=6)}, least=6)
    grid = np.array([[0.0, 2.0, 0.0], [3.0, 0.0, 4.0]])
    yield case("nonzero", {"x": grid}, {"y": np.argwhere(grid)})
    vector, matrix = np.array([1.0, 2.0, 3.0]), np.arange(12.0).reshape(3, 4)
    for k in (-2, -1, 0, 1, 3, 5):
        yield case(f"diag vector {k}", {"x": vector}, {"y": np.diag(vector, k)}, k=k)
        yield case(f"diag matrix {k}", {"x": matrix}, {"y": np.diag(matrix, k)}, k=k)
    yield case("repeat", {"x": matrix}, {"y": np.repeat(matrix, 3, axis=0)}, times=3, axis=0)
    yield case("tile more axes", {"x": vector}, {"y": np.tile(vector, (2, 1, 2))}, times=[2, 1, 2])
    yield case("tile fewer axes", {"x": matrix}, {"y": np.tile(matrix, (3,))}, times=[3])
    a, b = np.meshgrid(vector, np.array([5.0, 6.0]), indexing="ij")
    yield case("meshgrid", {"x": vector, "y": np.array([5.0, 6.0])}, {"a": a, "b": b})


if __name__ == "__main__":
    write("numpy_index", [*cases(), *others()])
