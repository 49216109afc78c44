"""The peer's side of the protocol: JSON lines on standard input and output (see bench/README.md)."""

import gc
import importlib
import json
import statistics
import sys
import time

BATCH_SECONDS = 1e-3
WARM_UP_SECONDS = 0.1


def reset_peak():
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        pass


def peak_mb():
    try:
        with open("/proc/self/status") as file:
            lines = dict(line.split(":", 1) for line in file if ":" in line)
        return int(lines["VmHWM"].split()[0]) * 1024 / 1e6
    except (OSError, KeyError):
        return None


def timed(workload, count):
    start = time.perf_counter()
    workload.run(count)
    return time.perf_counter() - start


def warm_up(workload):
    """Runs for a moment and returns how many steps make a batch long enough for the clock."""
    count, spent = 1, 0.0
    while True:
        seconds = timed(workload, count)
        spent += seconds
        if seconds >= BATCH_SECONDS:
            if spent >= WARM_UP_SECONDS:
                return count
        else:
            count *= 2


def measure(workload, count, seconds):
    """Best and median time of one step over as many batches as fit."""
    times, end = [], time.perf_counter() + seconds
    gc.disable()
    while not times or time.perf_counter() < end:
        times.append(timed(workload, count) / count)
    gc.enable()
    return {"best_s": min(times), "median_s": statistics.median(times)}


class Server:
    def __init__(self, module):
        self.module = importlib.import_module(module)
        self.workload = self.quality = None
        self.count = 1

    def answer(self, message):
        if message["cmd"] == "hello":
            return {"ok": True, "versions": self.module.versions()}
        if message["cmd"] == "setup":
            self.workload = None
            reset_peak()
            self.workload = self.module.make(message["workload"], message["parameters"], message["threads"])
            self.quality = self.workload.quality()
            self.count = warm_up(self.workload)
            return {"ok": True}
        if message["cmd"] == "curve":
            return {"ok": True, "losses": self.curve(message)}
        result = measure(self.workload, self.count, message["seconds"])
        return {"ok": True, **result, "quality": self.quality, "rss_mb": peak_mb()}

    def curve(self, message):
        """Losses over the batches of the module's `batch`, each computed before its update."""
        parameters = message["parameters"]
        workload = self.module.make(message["workload"], parameters, message["threads"])
        losses = []
        for step in range(message["steps"]):
            workload.x, workload.y = self.module.batch(parameters, step, message["strength"])
            losses.append(workload.step().item())
        return losses


def main():
    # Whatever a library prints must not get into the protocol.
    protocol, sys.stdout = sys.stdout, sys.stderr
    server = Server(sys.argv[1])
    for line in sys.stdin:
        try:
            answer = server.answer(json.loads(line))
        except Exception as error:
            answer = {"ok": False, "error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=protocol, flush=True)


if __name__ == "__main__":
    main()
