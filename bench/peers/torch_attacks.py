"""PyTorch: W10, PGD through the net of W4, by a loop written by hand or by foolbox; quality as in bench/tove/src/attacks.rs."""

import torch
from torch.nn.functional import cross_entropy

from data import labels
from torch_nets import make_net
from torch_training import versions  # noqa: F401

EPS, STEP = 0.05, 0.25


class Attack:
    def __init__(self, parameters):
        self.steps, self.how = parameters["steps"], parameters.get("how", "loop")
        self.net, self.x = make_net({"net": "cnn", "batch": parameters["batch"]})
        self.y = torch.from_numpy(labels(2, parameters["batch"], 10))
        self.net.eval()
        # As gradients by the input alone are wanted.
        self.net.requires_grad_(False)

    def by_loop(self):
        delta = torch.zeros_like(self.x)
        for _ in range(self.steps):
            x = (self.x + delta).requires_grad_(True)
            (slope,) = torch.autograd.grad(cross_entropy(self.net(x), self.y, reduction="sum"), x)
            delta = (delta + STEP * EPS * slope.sign()).clamp_(-EPS, EPS)
            delta = (self.x + delta).clamp_(-1, 1) - self.x
        return self.x + delta

    def by_foolbox(self):
        import foolbox

        model = foolbox.PyTorchModel(self.net, bounds=(-1, 1))
        attack = foolbox.attacks.LinfPGD(rel_stepsize=STEP, steps=self.steps, random_start=False)
        return attack(model, self.x, self.y, epsilons=EPS)[1]

    def attacked(self):
        return self.by_foolbox() if self.how == "foolbox" else self.by_loop()

    def run(self, count):
        for _ in range(count):
            self.attacked()

    def quality(self):
        found = self.attacked()
        with torch.inference_mode():
            return cross_entropy(self.net(found), self.y).item()


def make(workload, parameters, threads):
    torch.set_num_threads(threads)
    return Attack(parameters)
