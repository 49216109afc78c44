"""Reference values of word vectors from gensim and fastText: n-grams and their hashes, files in both directions.

    python words.py
"""

import importlib.metadata
import json
import struct
import tempfile
from pathlib import Path

import fasttext
import gensim
import numpy as np
from gensim.models import KeyedVectors
from gensim.models.fasttext_inner import compute_ngrams, ft_hash_bytes

FIXTURES = Path(__file__).parent / "../fixtures"
WORDS = ["where", "a", "zoë", "straße", "人工知能", "don't", "x" * 30]
LENGTHS = [(3, 6), (2, 4), (3, 3)]
BUCKETS = [1000, 200_000]
# Numbers that are exact in binary and have short texts.
FILE_WORDS = ["king", "zoë", "人", "don't"]
VECTORS = np.array([[0.5, -1.25, 3, 0.0078125], [1e-05, 2e10, -0, 7], [0.1, 0.2, 0.3, 0.4], [-1, -2, -3, -4]], dtype=np.float32)


def hashes():
    """Sorted, because the programs list n-grams in different orders."""
    out = []
    for word in WORDS:
        for low, high in LENGTHS:
            grams = sorted(compute_ngrams(word, low, high))
            for buckets in BUCKETS:
                rows = sorted(ft_hash_bytes(gram.encode()) % buckets for gram in grams)
                out.append({"word": word, "min_n": low, "max_n": high, "buckets": buckets, "ngrams": grams, "rows": rows})
    return out


def by_fasttext():
    """The rows that the fastText program itself uses, behind those of its words."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.write(" ".join(WORDS) + "\n")
        file.flush()
        model = fasttext.train_unsupervised(file.name, minCount=1, dim=2, epoch=1, minn=3, maxn=6, bucket=1000, verbose=0)
    count = len(model.get_words())
    out = []
    for word in WORDS:
        grams, rows = model.get_subwords(word)
        pairs = [(gram, int(row) - count) for gram, row in zip(grams, rows) if row >= count]
        out.append({"word": word, "ngrams": sorted(gram for gram, _ in pairs), "rows": sorted(row for _, row in pairs)})
    return out


def files():
    folder = FIXTURES / "words"
    folder.mkdir(exist_ok=True)
    own = KeyedVectors(4)
    own.add_vectors(FILE_WORDS, VECTORS)
    own.save_word2vec_format(str(folder / "gensim.txt"), binary=False)
    own.save_word2vec_format(str(folder / "gensim.bin"), binary=True)
    # What tove writes, byte for byte (its tests compare): gensim reads the same numbers from it.
    texts = ["0.5 -1.25 3 0.0078125", "0.00001 20000000000 0 7", "0.1 0.2 0.3 0.4", "-1 -2 -3 -4"]
    lines = "".join(f"{word} {text}\n" for word, text in zip(FILE_WORDS, texts))
    (folder / "tove.txt").write_text(f"4 4\n{lines}", encoding="utf-8")
    rows = [word.encode() + b" " + struct.pack("<4f", *row) + b"\n" for word, row in zip(FILE_WORDS, VECTORS)]
    (folder / "tove.bin").write_bytes(b"4 4\n" + b"".join(rows))
    for name, binary in (("tove.txt", False), ("tove.bin", True)):
        read = KeyedVectors.load_word2vec_format(str(folder / name), binary=binary)
        assert read.index_to_key == FILE_WORDS and np.array_equal(read.vectors, VECTORS), name
    return {"words": FILE_WORDS, "vectors": [[float(x) for x in row] for row in VECTORS]}


path = FIXTURES / "words.json"
fixture = json.loads(path.read_text()) if path.exists() else {}
fixture["versions"] = {"gensim": gensim.__version__, "fasttext-numpy2-wheel": importlib.metadata.version("fasttext-numpy2-wheel"), "numpy": np.__version__}
fixture |= {"hashes": hashes(), "fasttext": by_fasttext(), "files": files()}
path.write_text(json.dumps(fixture, ensure_ascii=False) + "\n")
