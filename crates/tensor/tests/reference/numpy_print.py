"""numpy: the text of arrays."""

import numpy as np
from fixture import case, normal, rng, write


def arrays():
    g = rng(500)
    f32 = np.float32
    inf, nan = np.inf, np.nan
    yield "vector", np.array([1.0, 2.5, -3.25])
    yield "whole floats", np.arange(5.0)
    yield "one", np.array([3.0])
    yield "thirds", np.array([1 / 3, 2 / 3, -1.0])
    yield "long digits", np.array([0.1 + 0.2, 1.123456789123])
    yield "matrix", normal(g, 3, 4)
    yield "cube", np.arange(24.0).reshape(2, 3, 4)
    yield "four axes", np.arange(16).reshape(2, 2, 2, 2)
    yield "large", np.array([1e8, 1.0])
    yield "just below", np.array([99999999.0, 1e6])
    yield "small", np.array([1e-5, 2.5e-5])
    yield "far apart", np.array([0.001, 2.0])
    yield "not so far apart", np.array([0.001, 1.0])
    yield "extreme", np.array([1e-300, 1.5e300, -2.0])
    yield "nan and inf", np.array([1.0, nan, -inf, inf])
    yield "only nan", np.array([nan, nan])
    yield "only inf", np.array([inf, -inf])
    yield "nan and small", np.array([1e-7, nan, inf, 3.0])
    yield "negative zero", np.array([-0.0, 0.0, 1.5])
    yield "zeros", np.zeros((2, 3))
    yield "single precision", np.array([0.1, 0.2, 1 / 3], dtype=f32)
    yield "single large", np.array([1234567.0, 1.0], dtype=f32)
    yield "single below", np.array([999999.0, 16384.25], dtype=f32)
    yield "single random", g.standard_normal((4, 5)).astype(f32)
    yield "random", g.standard_normal((3, 6))
    yield "wrapped", g.standard_normal(20)
    yield "wrapped rows", g.standard_normal((2, 15))
    yield "wrapped padded", np.array([0.5, 1.0] * 20)
    yield "whole numbers", np.array([[1, -20], [300, 4]])
    yield "bytes", np.array([0, 7, 255], dtype=np.uint8)
    yield "wrapped whole numbers", np.arange(60) * 37
    yield "truth", np.array([[True, False], [False, True]])
    yield "all true", np.array([True, True])
    yield "long", np.arange(1200)
    yield "long floats", np.arange(1500.0) / 7
    yield "large matrix", np.arange(1600.0).reshape(40, 40)
    yield "wide", np.arange(2 * 600).reshape(2, 600)
    yield "large cube", np.arange(1001).reshape(7, 11, 13) * 3
    yield "exactly at the threshold", np.arange(1000)
    for name, value in [("half", 0.5), ("whole", 3.0), ("tiny", 1.5e-7), ("huge", 2e20), ("sum", 0.1 + 0.2), ("nan", nan),
                        ("minus inf", -inf), ("power", 1e-5), ("below", 123456789012345.0), ("minus zero", -0.0)]:
        yield f"scalar {name}", np.array(value)
    yield "scalar single", np.array(0.1, dtype=f32)
    yield "scalar single large", np.array(1e10, dtype=f32)
    yield "scalar integer", np.array(-12)
    yield "scalar truth", np.array(True)
    yield "empty", np.zeros((0,))
    yield "empty matrix", np.zeros((3, 0))


def cases():
    for name, x in arrays():
        yield case(name, {"x": x}, text=str(x))
    g = rng(501)
    for name, x in [("random", g.standard_normal((2, 3))), ("small", np.array([1.23456e-6, 1.0])), ("halves", np.array([0.125, 0.375, 2.5])),
                    ("scalar", np.array(2 / 3))]:
        for precision in (0, 1, 3):
            yield case(f"{name} to {precision}", {"x": x}, text=np.array2string(x, precision=precision), precision=precision)


if __name__ == "__main__":
    write("numpy_print", list(cases()))
