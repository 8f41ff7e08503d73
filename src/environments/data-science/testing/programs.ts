/** Scripted programs of the seats, as models would write them: good ones, and ones that fail at each stage. */
import { fenced } from "../../../text/fences.ts";
import { plainReply } from "../../progression.ts";
import type { Reply } from "../../environment.ts";

export function program(source: string): Reply {
  return plainReply(`Here is the program.\n${fenced(source)}\nThat is all.`);
}

/** What a program reads from `about`: the columns of ids and target. */
export interface Columns {
  readonly idColumn: string;
  readonly target: string;
}

/** Dates as numbers, numbers from text, categories as columns; drops columns that are constant in the test table. */
export function engineer({ idColumn, target }: Columns): Reply {
  return program(`
import joblib, numpy as np, pandas as pd
from sklearn.preprocessing import StandardScaler
train, test = pd.read_csv("train.csv"), pd.read_csv("test.csv")
y = train.pop(${JSON.stringify(target)})
both = pd.concat([train, test], ignore_index=True).drop(columns=[${JSON.stringify(idColumn)}])
parts = []
for name in both.columns:
    if test[name].nunique() <= 1:
        continue
    column = both[name]
    if column.dtype != object:
        parts.append(column.fillna(column.median()).rename(name))
        parts.append(column.isna().astype(float).rename(name + "?"))
        continue
    dates = pd.to_datetime(column, errors="coerce", format="ISO8601")
    if dates.notna().mean() > 0.8:
        parts += [dates.dt.dayofyear.rename(name + "_day"), (dates.dt.dayofweek >= 5).astype(float).rename(name + "_end"), dates.dt.hour.rename(name + "_hour"), (dates - dates.min()).dt.days.rename(name + "_n")]
        continue
    words = column.fillna("").astype(str).str.lower().str.get_dummies(sep=" ") if column.nunique() > 12 else pd.get_dummies(column.fillna("?"))
    parts.append(words.loc[:, words.mean() > 0.01].add_prefix(name + "=").astype(float))
    number = pd.to_numeric(column.str.extract(r"(\\d+\\.?\\d*)")[0], errors="coerce")
    if number.notna().mean() > 0.5:
        parts.append(number.rename(name + "#"))
X = pd.concat(parts, axis=1).astype(float)
X = X.fillna(X.median()).loc[:, lambda frame: ~frame.columns.duplicated()]
scaler = StandardScaler().fit(X[: len(train)])
joblib.dump(scaler.transform(X[: len(train)]), "X_train.pkl")
joblib.dump(scaler.transform(X[len(train) :]), "X_test.pkl")
y.to_pickle("y_train.pkl")
joblib.dump(scaler, "scaler.pkl")
print(X.shape)`);
}

export function modeler(type: "classification" | "regression"): Reply {
  const name = type === "classification" ? "Classifier" : "Regressor";
  return program(`
import joblib
from sklearn.ensemble import GradientBoosting${name}
X, y = joblib.load("X_train.pkl"), joblib.load("y_train.pkl")
model = GradientBoosting${name}(n_estimators=80, max_depth=2, subsample=0.8, random_state=0).fit(X, y)
joblib.dump(model, "model.pkl")
print(model.score(X, y))`);
}

export function analyst({ idColumn, target }: Columns, kind: "labels" | "numbers" | "probabilities"): Reply {
  return program(`
import joblib, numpy as np, pandas as pd
test, model = pd.read_csv("test.csv"), joblib.load("model.pkl")
X = joblib.load("X_test.pkl")
submission = pd.DataFrame({${JSON.stringify(idColumn)}: test[${JSON.stringify(idColumn)}]})
if ${kind === "probabilities" ? "True" : "False"}:
    found = model.predict_proba(X)
    if found.shape[1] == 2:
        submission[${JSON.stringify(target)}] = found[:, 1]
    else:
        for index, name in enumerate(model.classes_):
            submission[name] = found[:, index]
else:
    found = model.predict(X)
    submission[${JSON.stringify(target)}] = np.maximum(0, found) if ${kind === "numbers" ? "True" : "False"} else found
submission.to_csv("submission.csv", index=False)`);
}
