/** The team with scripted programs, which really run in the sandbox: every metric, and a failure at every stage. */
import { afterAll, describe, expect, it } from "vitest";
import { rootKey } from "../../random.ts";
import { files, hasPackages, sandbox } from "../../sandbox/packages/testing.ts";
import type { ActionReward, Reply } from "../environment.ts";
import { plainContext, plainReply } from "../progression.ts";
import { dataScience, dataScienceEnvironment } from "./definition.ts";
import { metricNamed } from "./metrics/metric.ts";
import { dataScienceOptions } from "./options.ts";
import type { DataScienceState } from "./state.ts";
import { generatedTasks } from "./tasks/generated/tasks.ts";
import { TaskLibrary } from "./tasks/library.ts";
import { openTask } from "./tasks/task.ts";
import { analyst, engineer, modeler, program } from "./testing/programs.ts";

afterAll(() => sandbox.close());

const library = new TaskLibrary(generatedTasks(), "generated");
const context = plainContext(rootKey(1), undefined, { sandbox, files });
const environmentWith = (given: object) => dataScienceEnvironment(dataScienceOptions.parse(given), library);
const environment = environmentWith({ actions: 2, stopWhenComplete: true });

interface Played {
  readonly state: DataScienceState;
  readonly rewards: readonly ActionReward[];
  readonly done: boolean;
}

/** Each reply is the action of whoever acts. */
async function play(id: string, replies: readonly Reply[], of = environment): Promise<Played> {
  let state = await of.start({ id }, context);
  let done = false;
  const rewards: ActionReward[] = [];
  for (const reply of replies) {
    const [seat = ""] = of.next?.(state) ?? [];
    const result = await of.step(state, { [seat]: reply }, context);
    ({ state, done } = result);
    rewards.push(result.rewards[seat] as ActionReward);
  }
  return { state, rewards, done };
}

async function goodTeam(id: string): Promise<readonly Reply[]> {
  const { about, type } = await library.open(id);
  return [engineer(about), modeler(type), analyst(about, metricNamed(about.metric).values)];
}

/** One task of each metric. */
const measured = [
  ["auc", "readmission"],
  ["f1", "rain-tomorrow"],
  ["accuracy", "mushrooms"],
  ["weighted-f1", "support-priority"],
  ["macro-f1", "sleep-quality"],
  ["log-loss", "tree-species"],
  ["log-loss", "advert-clicks"],
  ["rmse", "crop-yield"],
  ["mae", "salary"],
  ["rmsle", "house-prices"],
] as const;

describe.runIf(hasPackages)("a good team", { timeout: 120_000 }, () => {
  it.each(measured)("earns on %s (%s), and its work is paid once", async (metric, id) => {
    const { state, rewards, done } = await play(id, await goodTeam(id));
    expect(state.artefacts).toMatchObject({
      "data-engineer": Array.from({ length: 4 }, () => ({ usable: true })),
      modeler: [{ usable: true }],
      analyst: [{ usable: true, note: "accepted" }],
    });
    expect(rewards.map(({ local }) => local)).toEqual([1, 1, 1]);
    expect(rewards.map(({ reason }) => reason)).toEqual([undefined, undefined, undefined]);
    const { score } = environment.outcome(state);
    expect(rewards.map(({ team }) => team)).toEqual([0, 0, score]);
    expect(score).toBeGreaterThan(0.3);
    expect(state.graded?.value).toBe(rewards[2]?.terms?.[metric]);
    expect(done).toBe(true);
  });

  it("may compress its artefacts, and write pickles of an old protocol", async () => {
    const { about } = await library.open("mushrooms");
    const compressed = program(`
import joblib, pickle
for name in ("X_train.pkl", "X_test.pkl"):
    joblib.dump(joblib.load(name), name, compress=3)
scaler = joblib.load("scaler.pkl")
pickle.dump(scaler, open("scaler.pkl", "wb"), protocol=2)`);
    const { state } = await play("mushrooms", [engineer(about), compressed], environmentWith({ actions: 2 }));
    expect(state.artefacts["data-engineer"]?.map(({ usable }) => usable)).toEqual([true, true, true, true]);
  });

  it("leaves evidence of what its programs printed and which files they made", async () => {
    const [first = plainReply("")] = await goodTeam("crop-yield");
    const start = await environment.start({ id: "crop-yield" }, context);
    const { evidence, state } = await environment.step(start, { "data-engineer": first }, context);
    const { output, files: made = [] } = evidence?.["data-engineer"] ?? {};
    expect(output).toMatch(/^\(600, \d+\)$/);
    expect(made.map(({ path }) => path)).toEqual(["X_test.pkl", "X_train.pkl", "scaler.pkl", "y_train.pkl"]);
    expect(made[0]).toMatchObject({
      digest: state.files["X_test.pkl"]?.hash,
      note: expect.stringMatching(/^usable: ndarray, 180 × \d+$/) as string,
    });
    expect(await environment.about?.({ id: "crop-yield" })).toMatchObject({ type: "regression" });
  });
});

const id = "mushrooms";

describe.runIf(hasPackages)("a team that fails", { timeout: 120_000 }, () => {
  it("at the first stage leaves the others without files, and the fair figures count it", async () => {
    const [, model = plainReply(""), submit = plainReply("")] = await goodTeam(id);
    const broken = program("import pandas as pd\nraise ValueError('no such column')");
    const { state, rewards, done } = await play(id, [
      broken,
      plainReply("I give up."),
      model,
      model,
      submit,
      submit,
    ]);
    expect(rewards.map(({ team, local }) => team + local)).toEqual([0, 0, 0, 0, 0, 0]);
    expect(rewards[0]?.reason).toBe("the program: it ended with exit code 1: ValueError: no such column");
    expect(rewards[1]?.reason).toMatch(/^no program; X_train.pkl: missing; y_train.pkl: missing/);
    expect(rewards[2]?.reason).toMatch(/FileNotFoundError/);
    expect(rewards[5]?.terms).toEqual({ completed: 0, relativeGap: 0, fairAccuracy: 0.5, fairF1: 0 });
    expect([environment.outcome(state), done]).toEqual([{ success: false, score: 0 }, true]);
  });

  it("gets a report of each artefact, with the reason if it is unusable", async () => {
    const half = program(`
import joblib, numpy as np, pandas as pd
class Own:
    pass
joblib.dump(np.random.rand(50, 3), "X_train.pkl")
joblib.dump(np.zeros(49), "y_train.pkl")
joblib.dump(np.ones((180, 3)), "X_test.pkl")
joblib.dump(Own(), "scaler.pkl")`);
    const { state, rewards } = await play(id, [half]);
    expect(state.artefacts["data-engineer"]).toEqual([
      { name: "X_train.pkl", usable: true, note: "ndarray, 50 × 3" },
      { name: "y_train.pkl", usable: false, note: "it has 49 rows, X_train.pkl 50" },
      { name: "X_test.pkl", usable: false, note: "all its rows are the same" },
      {
        name: "scaler.pkl",
        usable: false,
        note: "it cannot be loaded or used: it refers to __main__.Own, which other programs do not have",
      },
    ]);
    expect(rewards[0]?.parts).toEqual({ execution: 0.2, present: 0.3, usable: 0.125 });
  });

  it("at the last stage: the format of the submission is a reason", async () => {
    const [first = plainReply(""), model = plainReply("")] = await goodTeam(id);
    const half = program(`
import pandas as pd
test = pd.read_csv("test.csv")[:-2]
pd.DataFrame({"find": test.find, "edible": "edible"}).to_csv("submission.csv", index=False)`);
    const { rewards } = await play(id, [first, model, half]);
    expect(rewards[2]).toMatchObject({
      team: 0,
      local: 0.5,
      reason: "submission.csv: 2 of 180 ids of the test set are missing, such as “599”",
    });
  });
});

function constant(text: string): Reply {
  return program(`
import pandas as pd
test = pd.read_csv("test.csv")
pd.DataFrame({"find": test.find, "edible": "${text}"}).to_csv("submission.csv", index=False)`);
}

function leaking(column: string): Reply {
  return program(`
import pandas as pd
from sklearn.tree import DecisionTreeClassifier
train, test = pd.read_csv("train.csv"), pd.read_csv("test.csv")
model = DecisionTreeClassifier(max_depth=3).fit(train[["${column}"]], train.failed)
print("validated", model.score(train[["${column}"]], train.failed))
pd.DataFrame({"machine": test.machine, "failed": model.predict_proba(test[["${column}"]])[:, 1]}).to_csv("submission.csv", index=False)`);
}

/** Pickles that call a function of a library, and claim from inside the check that all is well. */
function callingTrick(module: string, name: string, given: string): Reply {
  return program(`
import pickle
from ${module} import ${name}
code = """
import json, os, sys
frame = sys._getframe()
while "out" not in frame.f_locals or "checker" not in frame.f_locals: frame = frame.f_back
names = ["X_train.pkl", "y_train.pkl", "X_test.pkl", "scaler.pkl"]
os.write(frame.f_locals["out"], json.dumps({name: {"usable": True, "note": "fine"} for name in names}).encode())
os._exit(0)
"""
class Trick:
    def __reduce__(self):
        return (${name}, ${given})
for name in ("X_train.pkl", "y_train.pkl", "X_test.pkl", "scaler.pkl"):
    pickle.dump(Trick(), open(name, "wb"))`);
}

describe.runIf(hasPackages)("a team that cheats", { timeout: 120_000 }, () => {
  const alone = environmentWith({ seats: ["analyst"], actions: 3 });

  it("earns nothing with constant predictions, and no format twice", async () => {
    const { state, rewards } = await play(
      id,
      [constant("edible"), constant("poisonous"), constant("edible")],
      alone,
    );
    expect(rewards.map(({ team }) => team)).toEqual([0, 0, 0]);
    expect(rewards.map(({ local }) => local)).toEqual([1, 0, 0]);
    expect(alone.outcome(state).score).toBe(0);
    expect(rewards[0]?.terms?.["completed"]).toBe(1);
  });

  it("finds no hidden labels: not in its files, not in what it sees, not in the state", async () => {
    const spy = program(`
import os
for place in ("/", "/box", "/tmp", "."):
    try:
        print(place, sorted(os.listdir(place)))
    except OSError as error:
        print(error)
print(open("test.csv").readline())`);
    const { state, rewards } = await play(id, [spy], alone);
    expect(Object.keys(state.files)).toEqual(["train.csv", "test.csv", "sample_submission.csv"]);
    expect(state.work.analyst?.output).toContain(
      "['main.py', 'sample_submission.csv', 'test.csv', 'train.csv']",
    );
    expect(state.work.analyst?.output).not.toMatch(/labels|mushrooms/);
    expect(rewards[0]?.team).toBe(0);
    const { truth } = await library.open(id);
    // Neither as text nor as a list: a state is sent to judges and stored.
    expect(JSON.stringify(state)).not.toContain(truth.labels.slice(0, 4).join('","'));
  });

  it("that believes a column of the training table loses on the test table", async () => {
    const { state } = await play("machine-failure", [leaking("maintenance_ticket")], alone);
    expect(Number(state.work.analyst?.output.split(" ")[1])).toBeGreaterThan(0.95);
    expect(alone.outcome(state).score).toBeLessThan(0.3);
  });

  it("cannot change the task's tables, or have links and devices as files", async () => {
    const hostile = program(`
import os
open("test.csv", "w").write("find\\n1\\n")
os.remove("train.csv")
os.mkdir("train.csv"); open("train.csv/x", "w").close()
os.symlink("/etc/passwd", "submission.csv")
os.symlink("/", "root")
try:
    os.mkfifo("pipe")
except OSError:
    pass
open("__init__.py", "w").close(); open(".hidden", "w").close(); open("a\\nb", "w").close()
for index in range(100): open("f%03d" % index, "w").write("x")`);
    const { state } = await play(id, [hostile], alone);
    const names = Object.keys(state.files);
    expect(names.slice(0, 3)).toEqual(["train.csv", "test.csv", "sample_submission.csv"]);
    expect(names).toHaveLength(64);
    expect(names.slice(3).every((name) => /^f\d{3}$/.test(name))).toBe(true);
    const { files: given } = await library.open(id);
    const test = await files.get(state.files["test.csv"]?.hash ?? "");
    expect(Buffer.from(test).toString()).toBe(given["test.csv"]);
    expect(state.graded).toBeNull();
    const again = await play(id, [program("import os; print(os.listdir())"), constant("edible")], alone);
    expect(again.state.graded?.problem).toBeNull();
  });

  it("gains nothing from artefacts whose loading runs a program", async () => {
    const trick = program(`
import pickle
class Trick:
    def __reduce__(self):
        return (exec, ("import os; os.write(1, b'{\\"model.pkl\\": {\\"usable\\": true, \\"note\\": \\"fine\\"}}'); os._exit(0)",))
pickle.dump(Trick(), open("model.pkl", "wb"))
open("X_test.pkl", "wb").write(b"garbage")`);
    const one = environmentWith({ seats: ["modeler"], actions: 1 });
    const { state, rewards } = await play(id, [trick], one);
    expect(state.artefacts.modeler).toEqual([
      {
        name: "model.pkl",
        usable: false,
        note: "it cannot be loaded or used: it refers to builtins.exec, which other programs do not have",
      },
    ]);
    expect(rewards[0]?.parts).toEqual({ execution: 0.2, present: 0.3, usable: 0 });
  });

  it("gains nothing from functions of the libraries that execute what they are given", async () => {
    for (const reply of [
      callingTrick("numpy.testing._private.utils", "runstring", "(code, {})"),
      callingTrick("joblib", "load", '("y_train.pkl",)'),
      callingTrick("joblib.externals.cloudpickle.cloudpickle", "subimport", '("os",)'),
    ]) {
      const { state } = await play("mushrooms", [reply]);
      const notes = (state.artefacts["data-engineer"] ?? []).map(({ note }) => note);
      expect(notes).toHaveLength(4);
      expect(notes.filter((note) => !note.includes("it refers to"))).toEqual([]);
    }
  });

  it("is stopped by limits, which are reasons", async () => {
    const limited = environmentWith({ seats: ["analyst"], actions: 2, seconds: 2, megabytes: 256 });
    const endless = program("while True: pass");
    const hungry = program("import numpy as np\nkept = np.ones(1 << 28)");
    const { rewards, done } = await play(id, [endless, hungry], limited);
    expect(rewards.map(({ reason }) => reason)).toEqual([
      "the program: it took more than 2 seconds",
      "the program: it needed more than 256 MB of memory",
    ]);
    expect(done).toBe(true);
  });
});

describe("the order of acting", () => {
  it("moves on after a message without a program, or the last action", async () => {
    const seats: (readonly string[])[] = [];
    let state = await environment.start({ id }, context);
    for (let index = 0; index < 3; index++) {
      seats.push(environment.next?.(state) ?? []);
      const [seat = ""] = seats.at(-1) ?? [];
      ({ state } = await environment.step(state, { [seat]: plainReply("Nothing to do.") }, context));
    }
    expect(seats).toEqual([["data-engineer"], ["modeler"], ["analyst"]]);
    expect(environment.next?.(state)).toEqual([]);
    const late = await environment.step(state, { analyst: plainReply("```python\nprint(1)\n```") }, context);
    expect(late).toMatchObject({ done: true, rewards: { analyst: { local: 0, team: 0 } } });
  });

  it("is chosen in the recipe; seats that are left out have no part", () => {
    expect(Object.keys(environmentWith({ seats: ["modeler", "analyst"] }).seats)).toEqual([
      "modeler",
      "analyst",
    ]);
    expect(() => dataScienceOptions.parse({ seats: ["analyst", "analyst"] })).toThrow("a seat occurs twice");
  });
});

describe("what is seen", () => {
  it("is the task with the beginning of its tables", async () => {
    const { brief } = await environment.start({ id: "tree-species" }, context);
    expect(brief).toContain(
      "Predict species for each leaf of test.csv (180 rows). Metric: log-loss, smaller is better.",
    );
    expect(brief).toContain("leaf,ash,beech,maple,oak");
    const definition = await dataScience.create(dataScienceOptions.parse({}));
    expect(definition.packages).toBe("data-science");
  });
});

it("opens every generated task", async () => {
  for (const task of generatedTasks())
    expect(openTask(await task.read()).ids).toHaveLength(task.id === "advert-clicks" ? 250 : 180);
});
