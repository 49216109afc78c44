"""numpy (and scipy) on matrices: A11 to A16 and the solvers."""

import numpy as np
import scipy
from fixture import case, normal, rng, write


def matrices():
    """Named matrices: tall, wide, square, ill conditioned, rank deficient in three ways."""
    g = rng(12)
    tall = normal(g, 6, 3)
    twin = np.column_stack([tall[:, 0], tall[:, 1], tall[:, 0]])
    multiple = np.column_stack([tall[:, 0], 2.5 * tall[:, 0], tall[:, 2]])
    low_rank = np.round(normal(g, 5, 2) @ normal(g, 2, 5), 6)
    hilbert = 1.0 / (np.arange(6)[:, None] + np.arange(6)[None] + 1.0)
    return {
        "tall": tall,
        "wide": normal(g, 3, 5),
        "square": normal(g, 4, 4),
        "hilbert": hilbert,
        "twin columns": twin,
        "multiple columns": multiple,
        "low rank": low_rank,
        "zero": np.zeros((3, 2)),
    }


def a11_norms():
    g = rng(11)
    for name, x in {"vector": normal(g, 7), "one": normal(g, 1), "large": normal(g, 5, scale=1e3)}.items():
        norms = {f"l{order}": np.linalg.norm(x, order) for order in (1, 2)}
        yield case(f"a11 {name}", {"x": x}, {**norms, "linf": np.linalg.norm(x, np.inf)})
    x = normal(g, 3, 4)
    yield case("a11 matrix", {"x": x}, {"fro": np.linalg.norm(x), "rows": np.linalg.norm(x, axis=1)})


def decompositions():
    for name, x in matrices().items():
        singular_values = np.linalg.svd(x, compute_uv=False)
        rank = int(np.linalg.matrix_rank(x))
        yield case(f"a12 rank {name}", {"x": x}, rank=rank)
        yield case(f"a13 pinv {name}", {"x": x}, {"y": np.linalg.pinv(x)})
        yield case(f"a15 svd {name}", {"x": x}, {"s": singular_values})
        if rank == min(x.shape):
            yield case(f"a14 cond {name}", {"x": x}, {"y": np.linalg.cond(x)})


def norms_and_conditions():
    orders = {"Spectral": 2, "Nuclear": "nuc", "Frobenius": "fro", "One": 1, "Infinity": np.inf}
    for name in ("tall", "wide", "square", "hilbert"):
        x = matrices()[name]
        yield case(f"norm {name}", {"x": x}, {key: np.linalg.norm(x, order) for key, order in orders.items()})
        if x.shape[0] == x.shape[1]:
            conditions = {key: np.linalg.cond(x, order) for key, order in orders.items()}
            yield case(f"condition {name}", {"x": x}, conditions)


def a16_symmetric():
    for name, x in matrices().items():
        gram = x.T @ x
        values = {f"eigenvalues {shift}": np.linalg.eigvalsh(gram + shift * np.eye(len(gram))) for shift in (0.0, 0.5)}
        yield case(f"a16 eigh {name}", {"x": gram}, values)
    w = np.array([[1.0, 0.1], [0.1, 1.0]])  # eigenvalues 0.9 and 1.1
    for power in (0, 1, 2, 7, 50):
        yield case(f"a16 power {power}", {"x": w}, {"y": np.linalg.matrix_power(w, power)}, power=power)
    x = normal(rng(16), 3, 3)
    yield case("a16 power -2", {"x": x}, {"y": np.linalg.matrix_power(x, -2)}, power=-2)


def solvers():
    g = rng(17)
    a, b, vector = normal(g, 4, 4), normal(g, 4, 2), normal(g, 4)
    spd = np.round(a @ a.T + np.eye(4), 6)
    sign, logdet = np.linalg.slogdet(a)
    yield case("solve matrix", {"a": a, "b": b}, {"y": np.linalg.solve(a, b)})
    yield case("solve vector", {"a": a, "b": vector}, {"y": np.linalg.solve(a, vector)})
    yield case("inverse", {"x": a}, {"y": np.linalg.inv(a)})
    yield case("determinant", {"x": a}, {"det": np.linalg.det(a), "sign": sign, "logdet": logdet})
    yield case("cholesky", {"x": spd}, {"y": np.linalg.cholesky(spd)})
    for lower in (True, False):
        y = scipy.linalg.solve_triangular(spd, b, lower=lower)
        yield case(f"triangular solve lower {lower}", {"a": spd, "b": b}, {"y": y}, lower=lower)
    stack, right = normal(g, 2, 3, 3), normal(g, 2, 3, 1)
    yield case("solve batch", {"a": stack, "b": right}, {"y": np.linalg.solve(stack, right)})
    for name, x in matrices().items():
        right = normal(g, x.shape[0])
        if name in ("tall", "wide", "twin columns"):
            y = np.linalg.lstsq(x, right, rcond=None)[0]
            yield case(f"lstsq {name}", {"a": x, "b": right}, {"y": y})
    exponents = {"nilpotent": np.array([[0.0, 1.0], [0.0, 0.0]]), "general": normal(g, 3, 3), "large": normal(g, 3, 3, scale=6)}
    for name, x in exponents.items():
        yield case(f"expm {name}", {"x": x}, {"y": scipy.linalg.expm(x)})


def general_eigenproblem():
    """Values by real part, then by the size of the imaginary part, the positive one first."""
    g = rng(18)
    table = {
        "random": normal(g, 5, 5),
        "turn": np.array([[0.0, -1.0], [1.0, 0.0]]),
        "companion": np.array([[0.0, 0.0, 0.0, -24.0], [1.0, 0.0, 0.0, 50.0], [0.0, 1.0, 0.0, -35.0], [0.0, 0.0, 1.0, 10.0]]),
        "triangular": np.triu(normal(g, 4, 4)),
        "symmetric": (lambda x: x + x.T)(normal(g, 4, 4)),
        "large": normal(g, 12, 12),
        "one": np.array([[-2.5]]),
    }
    for name, x in table.items():
        values = np.linalg.eigvals(x)
        values = np.array(sorted(values, key=lambda z: (round(z.real, 9), round(abs(z.imag), 9), -z.imag)))
        yield case(f"eig {name}", {"x": x}, {"real": values.real, "imaginary": values.imag})


if __name__ == "__main__":
    groups = [a11_norms, decompositions, norms_and_conditions, a16_symmetric, solvers, general_eigenproblem]
    write("numpy_linalg", [entry for group in groups for entry in group()], scipy)
