"""PyTorch: W1, W2 and W4 (training steps with fused Adam), W4 and W6 (prediction under inference_mode)."""

import torch
from torch import nn

from data import fill, image_batch, labels, mlp_parameters
from torch_training import Training, versions  # noqa: F401


def make_mlp(sizes):
    layers = []
    for fan_in, fan_out in zip(sizes[:-1], sizes[1:]):
        layers += [nn.Linear(fan_in, fan_out), nn.ReLU()]
    net = nn.Sequential(*layers[:-1])
    with torch.no_grad():
        for parameter, values in zip(net.parameters(), mlp_parameters(sizes)):
            parameter.copy_(torch.from_numpy(values))
    return net


def make_cnn():
    """The net of W4; parameters in [-1/sqrt(fan in), 1/sqrt(fan in)), seeds 10, 11, 12, ..."""
    net = nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(3136, 128),
        nn.ReLU(),
        nn.Linear(128, 10),
    )
    with torch.no_grad():
        for index, parameter in enumerate(net.parameters()):
            if parameter.dim() > 1:
                scale = parameter[0].numel() ** -0.5
            parameter.copy_(torch.from_numpy(fill(10 + index, tuple(parameter.shape), scale)))
    return net


def make_net(parameters):
    """The net and its batch of inputs."""
    batch = parameters["batch"]
    if parameters.get("net") == "cnn":
        layout = torch.channels_last if parameters.get("channels_last") else torch.contiguous_format
        x = torch.from_numpy(fill(1, (batch, 1, 28, 28)))
        return make_cnn().to(memory_format=layout), x.to(memory_format=layout)
    sizes = parameters["sizes"]
    return make_mlp(sizes), torch.from_numpy(fill(1, (batch, sizes[0])))


class NetTraining(Training):
    """Steps with fused Adam; `"dtype": "f64"` widens weights and batches."""

    def __init__(self, parameters):
        net, x = make_net(parameters)
        if parameters.get("dtype") == "f64":
            net, x = net.double(), x.double()
        batch, sizes = parameters["batch"], parameters.get("sizes", [10])
        if parameters.get("loss") == "mse":
            y = torch.from_numpy(fill(2, (batch, sizes[-1])))
            self.criterion = nn.MSELoss()
        else:
            y = torch.from_numpy(labels(2, batch, sizes[-1]))
            self.criterion = nn.CrossEntropyLoss()
        optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, fused=True)
        super().__init__(net, x, y, optimizer, parameters["quality_steps"])

    def loss(self):
        return self.criterion(self.net(self.x), self.y)


class Prediction:
    def __init__(self, parameters):
        self.net, self.x = make_net(parameters)
        self.net.eval()

    def run(self, count):
        net, x = self.net, self.x
        with torch.inference_mode():
            for _ in range(count):
                net(x)

    def quality(self):
        with torch.inference_mode():
            return self.net(self.x).double().square().mean().sqrt().item()


def batch(parameters, step, strength):
    """The batch of a step of a loss curve."""
    images, chosen = image_batch(step, parameters["batch"], 28 * 28, 10, strength)
    shape = (-1, 1, 28, 28) if parameters.get("net") == "cnn" else (-1, 28 * 28)
    images = torch.from_numpy(images.reshape(shape))
    return images.double() if parameters.get("dtype") == "f64" else images, torch.from_numpy(chosen)


def make(workload, parameters, threads):
    torch.set_num_threads(threads)
    predicts = workload == "W6" or parameters.get("task") == "forward"
    return Prediction(parameters) if predicts else NetTraining(parameters)
