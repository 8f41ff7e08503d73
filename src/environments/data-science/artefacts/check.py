"""
Reports on artefacts in the workspace: a JSON line with a verdict on each. It runs in the sandbox, because loading a
pickle executes what the pickle says. Names outside a few libraries are not loaded, which keeps honest mistakes (a class
of the program itself) and simple tricks apart from artefacts that the next seat can use.
"""

import json
import os
import sys
import warnings

LIBRARIES = set("numpy pandas sklearn scipy joblib collections datetime copyreg _codecs functools decimal pytz".split())
# As compiled modules of scikit-learn call themselves.
LIBRARIES |= {"_loss"}
BUILTINS = set("set frozenset slice range complex bytearray object list dict tuple int float str bool bytes".split())


# Parts of the libraries that execute what they are given.
EXECUTING = set("testing tests f2py distutils externals computation".split())
EXECUTING_FUNCTIONS = ("load", "read", "run", "exec", "eval")


class Forbidden(Exception):
    pass


def allowed(module, name):
    # The second is its name in old protocols.
    if module in ("builtins", "__builtin__"):
        return name in BUILTINS
    parts = module.split(".")
    return parts[0] in LIBRARIES and "." not in name and EXECUTING.isdisjoint(part.strip("_") for part in parts)


def is_own(value, name):
    """Whether something found in a library belongs to it, and does not execute other programs or pickles."""
    home = getattr(value, "__module__", None)
    if isinstance(home, str) and not allowed(home, getattr(value, "__name__", name)):
        return False
    return isinstance(value, type) or not name.lower().lstrip("_").startswith(EXECUTING_FUNCTIONS)


def load(path):
    """@raises Exception whatever is wrong with the file"""
    from joblib.numpy_pickle import NumpyUnpickler
    from joblib.numpy_pickle_utils import _validate_fileobject_and_memmap

    class Restricted(NumpyUnpickler):
        def find_class(self, module, name):
            if not allowed(module, name):
                raise Forbidden("it refers to %s.%s, which other programs do not have" % (module, name))
            found = super().find_class(module, name)
            if not is_own(found, name):
                raise Forbidden("it refers to %s.%s, which may not be used to load it" % (module, name))
            return found

    # joblib compresses if it is asked to.
    with open(path, "rb") as file, _validate_fileobject_and_memmap(file, path) as (content, _):
        return Restricted(path, content, ensure_native_byte_order=True).load()


def shape(value):
    import numpy

    try:
        found = getattr(value, "shape", None)
        return tuple(int(one) for one in (numpy.shape(value) if found is None else found))
    except Exception:
        return ()


def is_empty_column(value):
    """Whether no column varies."""
    import pandas
    from scipy import sparse

    if sparse.issparse(value):
        return value.nnz == 0
    frame = pandas.DataFrame(value)
    return all(frame[name].astype(str).nunique(dropna=False) <= 1 for name in frame.columns)


class Checker:
    def __init__(self, rows):
        self.rows = rows
        self.loaded = {}

    def get(self, name):
        if name not in self.loaded:
            self.loaded[name] = load(name)
        return self.loaded[name]

    def table(self, name, rows):
        value = self.get(name)
        size = shape(value)
        if len(size) != 2 or size[1] == 0:
            return "it is no table of rows and columns, but %s" % type(value).__name__
        if size[0] != rows:
            return "it has %d rows, expected %d" % (size[0], rows)
        if is_empty_column(value):
            return "all its rows are the same"
        return None

    def X_train(self):
        # Rows of the training set may be dropped, labels with them.
        size = shape(self.get("X_train.pkl"))
        rows = size[0] if size else 0
        problem = self.table("X_train.pkl", rows)
        if problem is None and not 2 <= rows:
            return "it has %d rows" % rows
        return problem

    def y_train(self):
        size = shape(self.get("y_train.pkl"))
        if len(size) not in (1, 2) or (len(size) == 2 and size[1] != 1):
            return "it is no single column"
        if os.path.exists("X_train.pkl"):
            rows = shape(self.get("X_train.pkl"))[:1]
            if rows != size[:1]:
                return "it has %d rows, X_train.pkl %s" % (size[0], *rows) if rows else "X_train.pkl is no table"
        return None

    def X_test(self):
        problem = self.table("X_test.pkl", self.rows)
        if problem is None and os.path.exists("X_train.pkl"):
            columns = [shape(self.get(name))[1:] for name in ("X_train.pkl", "X_test.pkl")]
            if columns[0] != columns[1]:
                return "it has %d columns, X_train.pkl %d" % (columns[1][0], columns[0][0])
        return problem

    def scaler(self):
        return None if hasattr(self.get("scaler.pkl"), "transform") else "it has no method `transform`"

    def model(self):
        model = self.get("model.pkl")
        if not hasattr(model, "predict"):
            return "it has no method `predict`"
        if not os.path.exists("X_test.pkl"):
            return "without X_test.pkl it cannot be tried"
        predicted = shape(model.predict(self.get("X_test.pkl")))
        if predicted[:1] != (self.rows,):
            return "it predicts %s values, expected %d" % (predicted[0] if predicted else 1, self.rows)
        return None


def describe(value):
    size = shape(value)
    name = type(value).__name__
    return "%s, %s" % (name, " × ".join(map(str, size))) if size else name


def main():
    request = json.loads(sys.stdin.read())
    # What loading prints is no part of the report.
    out = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    warnings.simplefilter("ignore")
    checker, found = Checker(request["rows"]), {}
    for name in request["names"]:
        key = name.rpartition(".")[0]
        try:
            problem = getattr(checker, key)()
            note = describe(checker.loaded[name]) if problem is None else problem
            found[name] = {"usable": problem is None, "note": note[:300]}
        except BaseException as error:
            text = str(error).strip().split("\n")[0] if str(error).strip() else type(error).__name__
            found[name] = {"usable": False, "note": ("it cannot be loaded or used: " + text)[:300]}
    with os.fdopen(out, "w") as stream:
        stream.write(json.dumps(found) + "\n")


main()
