"""A workload without a framework: shows that both sides make the same data and speak the same protocol."""

import numpy as np

from data import fill


def versions():
    return {"numpy": np.__version__}


class Sum:
    def __init__(self, parameters):
        self.values = fill(1, (parameters["elements"],), 1.0, "f64")

    def run(self, count):
        for _ in range(count):
            self.values.sum()

    def quality(self):
        return float(np.sqrt(np.square(self.values).mean()))


def make(workload, parameters, threads):
    return Sum(parameters)
