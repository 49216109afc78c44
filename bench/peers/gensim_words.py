"""W31 in gensim: the texts and what quality means are those of bench/tove/src/word_vectors.rs."""

import os
import re
from pathlib import Path

import gensim
from gensim.models import Word2Vec
from threadpoolctl import threadpool_limits


def versions():
    return {"gensim": gensim.__version__}


class Case:
    def __init__(self, p, threads):
        folder = Path(os.environ.get("TOVE_DATA", Path(__file__).parent / "../../../shared/data"))
        self.questions = str(folder / "word-analogies/questions-words.txt")
        self.texts = []
        for name in ("sotu", "enwiki-sample"):
            with open(folder / f"word-corpus/{name}.txt", encoding="utf-8") as file:
                self.texts += [re.findall("[a-z]+", line.lower()) for line in file]
        self.settings = {"sg": int(p["architecture"] != "cbow"), "epochs": p["epochs"], "workers": threads}

    def fit(self):
        return Word2Vec(self.texts, vector_size=100, window=5, min_count=5, negative=5, seed=1, **self.settings)

    def run(self, count):
        for _ in range(count):
            self.fit()

    def quality(self):
        return self.fit().wv.evaluate_word_analogies(self.questions)[0]


def make(workload, parameters, threads):
    threadpool_limits(1)  # the threads are its own workers
    return Case(parameters, threads)
