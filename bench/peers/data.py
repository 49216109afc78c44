"""Numbers both sides make for themselves: the same formula stands in bench/tove/src/data.rs (see bench/README.md)."""

import numpy as np


def _hash(seed, count):
    """32 pseudo-random bits for each index 0..count of the stream `seed`."""
    index = np.arange(count, dtype=np.uint64)
    z = ((index + 1) * 2654435761 + seed * 40503) & 0xFFFFFFFF
    z ^= z >> 16
    z = (z * 2246822519) & 0xFFFFFFFF
    z ^= z >> 13
    z = (z * 3266489917) & 0xFFFFFFFF
    z ^= z >> 16
    return z


def fill(seed, shape, scale=1.0, dtype="f32"):
    """Values in [-scale, scale): 24 bits of the hash, scaled in f64, then rounded to the element type."""
    count = int(np.prod(shape, dtype=np.int64))
    values = ((_hash(seed, count) >> 8).astype(np.float64) / 2.0**24 * 2.0 - 1.0) * scale
    return values.reshape(shape).astype(np.float32 if dtype == "f32" else np.float64)


def labels(seed, count, classes):
    """Class numbers 0..classes as int64."""
    return ((_hash(seed, count) >> 8) % classes).astype(np.int64)


def mlp_parameters(sizes):
    """Weight (out, in) and bias (out) of each layer, in [-1/sqrt(in), 1/sqrt(in)); seeds 10, 11, 12, ..."""
    parameters = []
    for layer, (fan_in, fan_out) in enumerate(zip(sizes[:-1], sizes[1:])):
        scale = 1.0 / float(np.sqrt(fan_in))
        parameters.append(fill(10 + 2 * layer, (fan_out, fan_in), scale))
        parameters.append(fill(11 + 2 * layer, (fan_out,), scale))
    return parameters


def image_batch(step, batch, pixels, classes, strength):
    """The images and labels of a step of a loss curve: each class has a pattern, which noise is added to."""
    patterns = fill(3, (classes, pixels), strength)
    chosen = labels(1001 + 2 * step, batch, classes)
    return fill(1000 + 2 * step, (batch, pixels)) + patterns[chosen], chosen


def token_batch(step, batch, length, vocabulary):
    """The tokens of a step of a loss curve: of ten, six follow from the one before, three from the one before that."""
    after_one, after_two = labels(3, vocabulary, vocabulary), labels(4, vocabulary, vocabulary)
    choice = labels(1000 + 2 * step, batch * length, 10).reshape(batch, length)
    tokens = labels(1001 + 2 * step, batch * length, vocabulary).reshape(batch, length)
    for place in range(2, length):
        one, two = after_one[tokens[:, place - 1]], after_two[tokens[:, place - 2]]
        rule = choice[:, place]
        tokens[:, place] = np.where(rule < 6, one, np.where(rule < 9, two, tokens[:, place]))
    return tokens
