"""Writes tests/fixtures/math_f64.json: double-precision function values from mpmath, rounded once.

Arguments and values are the bit patterns of f64 as integers, so that no decimal conversion stands in between. Run:
    python3 crates/tensor/tests/reference/math_f64.py
"""

import json
import math
import random
import struct

import mpmath as mp

random.seed(1)
mp.mp.prec = 300
OUT = "crates/tensor/tests/fixtures/math_f64.json"


def bits(x):
    return struct.unpack("<Q", struct.pack("<d", x))[0]


def spread(low, high, count, signs=(1,)):
    """Logarithmically spread magnitudes in [low, high]."""
    out = []
    for _ in range(count):
        x = math.exp(random.uniform(math.log(low), math.log(high)))
        out.append(random.choice(signs) * min(max(x, low), high))
    return out


def even(low, high, count):
    return [random.uniform(low, high) for _ in range(count)]


def near(points):
    out = []
    for p in points:
        out += [p, math.nextafter(p, math.inf), math.nextafter(p, -math.inf)]
    return out


BOTH = (1, -1)
half = mp.mpf(1) / 2
root2 = mp.sqrt(2)
ORDINARY = even(-3, 3, 150) + spread(1e-12, 1, 60, BOTH) + [5e-324, -5e-324, 1e-310, 2.2250738585072014e-308]
POSITIVE = spread(1e-300, 1e300, 150) + even(0.5, 2, 150) + even(0.99, 1.01, 50) + [5e-324, 3e-310, 1.7976931348623157e308]
ANGLES = ORDINARY + spread(1, 1e6, 100, BOTH) + spread(1e6, 1e308, 150, BOTH) + [6381956970095103.0 * 2.0**797] + near(
    [math.pi / 4 * k for k in range(1, 17)] + [355.0, 103993.0, 5319372648326541.0 * 2.0**200, 2.0**53, 2.0**1023]
)
FUNCTIONS = {
    "exp": (mp.exp, ORDINARY + even(-745, 709.78, 200) + near([709.782712893384, -708.396, -745.13, math.log(2) / 2])),
    "exp2": (lambda x: mp.mpf(2) ** x, ORDINARY + even(-1074, 1023.9, 200)),
    "expm1": (mp.expm1, ORDINARY + even(-40, 709.78, 150) + near([math.log(2) / 2, -math.log(2) / 2, 1.5 * math.log(2)])),
    "ln": (mp.log, POSITIVE),
    "log2": (lambda x: mp.log(x, 2), POSITIVE),
    "log10": (mp.log10, POSITIVE),
    "log1p": (mp.log1p, spread(1e-300, 1e300, 100) + even(-0.9999, 3, 200) + spread(1e-17, 0.5, 60, BOTH)),
    "sin": (mp.sin, ANGLES),
    "cos": (mp.cos, ANGLES),
    "tan": (mp.tan, ANGLES),
    "asin": (mp.asin, even(-1, 1, 200) + spread(1e-300, 1, 50, BOTH) + near([0.5, -0.5]) + [1.0, -1.0, 1 - 1e-12]),
    "acos": (mp.acos, even(-1, 1, 200) + spread(1e-300, 1, 50, BOTH) + near([0.5, -0.5]) + [-1.0, 1 - 1e-12]),
    "atan": (mp.atan, ORDINARY + spread(1e-10, 1e300, 150, BOTH) + near([0.4142135623730951, 2.414213562373095])),
    "sinh": (mp.sinh, ORDINARY + even(-710, 710, 100) + near([1.0, 710.4])),
    "cosh": (mp.cosh, ORDINARY + even(-710, 710, 100) + near([710.4])),
    "tanh": (mp.tanh, ORDINARY + even(-22, 22, 100) + near([0.55])),
    "asinh": (mp.asinh, ORDINARY + spread(1e-10, 1e308, 150, BOTH)),
    "acosh": (mp.acosh, even(1, 4, 150) + spread(1, 1e308, 150) + [1 + 2.0**-52, 1.0001]),
    "atanh": (mp.atanh, even(-1, 1, 200) + spread(1e-300, 1, 50, BOTH)[:50] + [1 - 2.0**-53]),
    "sigmoid": (lambda x: 1 / (1 + mp.exp(-x)), ORDINARY + even(-740, 50, 150)),
    "softplus": (lambda x: mp.log1p(mp.exp(x)), ORDINARY + even(-740, 800, 150)),
    "erf": (mp.erf, ORDINARY + even(-6, 6, 150) + near([1.0])),
    "erfc": (mp.erfc, ORDINARY + even(-6, 26.5, 250) + near([0.4, -1.0])),
    "normal_cdf": (lambda x: mp.erfc(-x / root2) / 2, ORDINARY + even(-37.4, 9, 250)),
    "gelu": (lambda x: x * mp.erfc(-x / root2) / 2, ORDINARY + even(-37, 9, 250)),
    "lgamma": (lambda x: mp.log(abs(mp.gamma(x))) if abs(x) < 1000 else mp.loggamma(x).real,
               spread(1e-300, 1e300, 100) + even(0.01, 30, 250) + even(0.99, 1.01, 30) + even(1.99, 2.01, 30) + even(-8, 0, 60) + near([0.5, 1.5, 2.5, 10.0])),
    "digamma": (mp.digamma, spread(1e-300, 1e300, 100) + even(0.01, 30, 250) + even(1.45, 1.47, 30) + even(-8, 0, 60) + near([2.0, 10.0])),
    "trigamma": (lambda x: mp.psi(1, x), spread(1e-150, 1e300, 100) + even(0.01, 30, 250) + even(-8, 0, 60)),
}


def powers():
    cases = []
    while len(cases) < 500:
        x = random.choice([random.uniform(0.5, 2), math.exp(random.uniform(-50, 50)), math.exp(random.uniform(-700, 700)), 1 + random.uniform(-1e-9, 1e-9)])
        target = random.uniform(-744, 709)
        y = target / math.log(x) if random.random() < 0.6 else random.uniform(-5, 5)
        if random.random() < 0.2:
            x, y = -x, float(round(y)) if abs(y) < 1e15 else 3.0
        if math.isfinite(y) and -744 < y * math.log(abs(x)) < 709.7:
            cases.append((x, y))
    return cases


def angles():
    cases = [(random.uniform(-2, 2), random.uniform(-2, 2)) for _ in range(300)]
    for _ in range(200):
        a, b = spread(1e-300, 1e308, 2, BOTH)
        cases.append((a, random.choice([b, a * random.uniform(0.1, 9)])))
    return [c for c in cases if all(map(math.isfinite, c))]


def rounded(value):
    return float(mp.mpf(value))


data = {"library": f"mpmath {mp.__version__}", "unary": {}, "binary": {}}
for name, (function, points) in FUNCTIONS.items():
    data["unary"][name] = [[bits(x), bits(rounded(function(mp.mpf(x))))] for x in points]
data["binary"]["pow"] = [[bits(x), bits(y), bits(rounded((mp.mpf(x) ** mp.mpf(y)).real))] for x, y in powers()]
data["binary"]["atan2"] = [[bits(y), bits(x), bits(rounded(mp.atan2(mp.mpf(y), mp.mpf(x))))] for y, x in angles()]
with open(OUT, "w") as out:
    json.dump(data, out, separators=(",", ":"))
