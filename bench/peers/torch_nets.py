"""PyTorch: W1 and W2 (training steps with fused Adam), W6 (one-row prediction under inference_mode)."""

import torch
from torch import nn

from data import fill, labels, mlp_parameters


def versions():
    return {"torch": torch.__version__.split("+")[0]}


def make_mlp(sizes):
    layers = []
    for fan_in, fan_out in zip(sizes[:-1], sizes[1:]):
        layers += [nn.Linear(fan_in, fan_out), nn.ReLU()]
    net = nn.Sequential(*layers[:-1])
    with torch.no_grad():
        for parameter, values in zip(net.parameters(), mlp_parameters(sizes)):
            parameter.copy_(torch.from_numpy(values))
    return net


class Training:
    """Forward, backward and a fused Adam update on one fixed batch."""

    def __init__(self, parameters):
        sizes, batch = parameters["sizes"], parameters["batch"]
        self.net = make_mlp(sizes)
        self.x = torch.from_numpy(fill(1, (batch, sizes[0])))
        if parameters["loss"] == "mse":
            self.y = torch.from_numpy(fill(2, (batch, sizes[-1])))
            self.loss = nn.MSELoss()
        else:
            self.y = torch.from_numpy(labels(2, batch, sizes[-1]))
            self.loss = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-3, fused=True)
        self.quality_steps = parameters["quality_steps"]

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss(self.net(self.x), self.y)
        loss.backward()
        self.optimizer.step()
        return loss

    def run(self, count):
        for _ in range(count):
            self.step()

    def quality(self):
        """The loss the last of the first `quality_steps` steps started from."""
        for _ in range(self.quality_steps - 1):
            self.step()
        return self.step().item()


class Prediction:
    def __init__(self, parameters):
        sizes, batch = parameters["sizes"], parameters["batch"]
        self.net = make_mlp(sizes).eval()
        self.x = torch.from_numpy(fill(1, (batch, sizes[0])))

    def run(self, count):
        net, x = self.net, self.x
        with torch.inference_mode():
            for _ in range(count):
                net(x)

    def quality(self):
        with torch.inference_mode():
            return self.net(self.x).double().square().mean().sqrt().item()


def make(workload, parameters, threads):
    torch.set_num_threads(threads)
    return Prediction(parameters) if workload == "W6" else Training(parameters)
