"""PyTorch: the training step that the workloads share."""

import torch


def versions():
    return {"torch": torch.__version__.split("+")[0]}


class Training:
    """Forward, backward and an update on the batch `x`, `y`; a subclass gives the loss and, if it clips, the limit."""

    clip_norm = None

    def __init__(self, net, x, y, optimizer, quality_steps):
        self.net, self.x, self.y, self.optimizer, self.quality_steps = net, x, y, optimizer, quality_steps

    def loss(self):
        raise NotImplementedError

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss()
        loss.backward()
        if self.clip_norm is not None:
            torch.nn.utils.clip_grad_norm_(self.net.parameters(), self.clip_norm)
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
