"""scikit-learn's imputers, scaler, one-hot and tf-idf on a small table.

    python crates/data/tests/reference/sklearn_encoding.py
"""
import json, pathlib
import numpy, sklearn
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

numbers = [1.5, None, -2.25, 7.0, 0.5, None, 3.125]
port = ["S", "C", "S", "Q", "S", "C", "Q"]
text = ["the cat sat on the mat", "a dog and a cat", "Dogs bark; the dog barks!", "", "mat mat mat", "cat-dog 42", "on and on"]
column = numpy.array([[numpy.nan if x is None else x] for x in numbers])

out = {"versions": {"scikit-learn": sklearn.__version__, "numpy": numpy.__version__}, "numbers": numbers, "port": port, "text": text}
for name in ["mean", "median"]:
    filled = SimpleImputer(strategy=name).fit_transform(column)
    out[name] = filled[:, 0].tolist()
    out[name + "_scaled"] = StandardScaler().fit_transform(filled)[:, 0].tolist()
out["one_hot"] = OneHotEncoder(sparse_output=False).fit_transform([[p] for p in port]).tolist()
tfidf = TfidfVectorizer(max_features=6, min_df=1)
out["tfidf"] = tfidf.fit_transform(text).toarray().tolist()
out["words"] = tfidf.get_feature_names_out().tolist()
path = pathlib.Path(__file__).parent.parent / "fixtures" / "sklearn_encoding.json"
path.write_text(json.dumps(out, indent=1) + "\n")
