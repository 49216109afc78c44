"""W30 in implicit (choices, by conjugate gradients or Cholesky) and Surprise (ratings, its factorization with biases, which is by
stochastic gradients); data and quality are those of bench/tove/src/recommendation.rs."""

import os
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

PARTS = 5


def versions():
    import implicit
    import surprise

    return {"implicit": implicit.__version__, "scikit-surprise": surprise.__version__}


def entries(rows):
    folder = Path(os.environ.get("TOVE_DATA", Path(__file__).parent / "../../../shared/data"))
    users, items, out = {}, {}, []
    with open(folder / "movietweetings-100k/ratings.csv", encoding="utf-8") as file:
        next(file)
        for _, line in zip(range(rows), file):
            user, item, rating = line.split(",")[:3]
            out.append((users.setdefault(user, len(users)), items.setdefault(item, len(items)), float(rating)))
    train = [entry for place, entry in enumerate(out) if place % PARTS != PARTS - 1]
    return train, out[PARTS - 1 :: PARTS], (len(users), len(items))


class Choices:
    def __init__(self, p, threads):
        train, self.held_out, shape = entries(p["rows"])
        users, items, _ = zip(*train)
        self.x = sp.csr_matrix((np.ones(len(train), dtype=np.float32), (users, items)), shape=shape)
        self.p, self.threads = p, threads

    def fit(self):
        from implicit.als import AlternatingLeastSquares

        # Its confidence of a choice is alpha, that of tove 1 + confidence.
        model = AlternatingLeastSquares(
            factors=self.p["factors"], regularization=0.1, alpha=41.0, iterations=self.p["iterations"],
            use_cg=self.p["solver"] == "cg", use_gpu=False, num_threads=self.threads, random_state=1,
        )
        model.fit(self.x, show_progress=False)
        return model

    def run(self, count):
        for _ in range(count):
            self.fit()

    def quality(self):
        wanted = {}
        for user, item, _ in self.held_out:
            wanted.setdefault(user, []).append(item)
        users = np.array(sorted(wanted))
        # Factors of all users from their choices, as tove has them, not those of the last half step.
        lists, _ = self.fit().recommend(users, self.x[users], N=10, filter_already_liked_items=True, recalculate_user=True)
        gain = 1 / np.log2(np.arange(10) + 2)
        of_user = lambda user, found: sum(gain[i] for i in range(10) if found[i] in wanted[user]) / sum(gain[: len(wanted[user])])
        return float(np.mean([of_user(user, found) for user, found in zip(users, lists)]))


class Ratings:
    def __init__(self, p):
        from surprise import Dataset, Reader, SVD
        import pandas as pd

        train, self.held_out, _ = entries(p["rows"])
        frame = pd.DataFrame(train, columns=["user", "item", "rating"])
        self.train = Dataset.load_from_df(frame, Reader(rating_scale=(0, 10))).build_full_trainset()
        self.make = lambda: SVD(n_factors=p["factors"], n_epochs=p["epochs"], random_state=1)

    def run(self, count):
        for _ in range(count):
            self.make().fit(self.train)

    def quality(self):
        model = self.make().fit(self.train)
        errors = [model.predict(user, item, clip=False).est - rating for user, item, rating in self.held_out]
        return float(np.sqrt(np.mean(np.square(errors))))


def make(workload, parameters, threads):
    threadpool_limits(1)  # implicit has threads of its own, and asks for this
    return Choices(parameters, threads) if parameters["task"] == "implicit" else Ratings(parameters)
