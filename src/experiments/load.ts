/** Loads and checks an experiment's file: every mistake with its line, and invalid references between rows. */
import { resolve } from "node:path";
import { command } from "../command-line.ts";
import { TroupeError } from "../errors.ts";
import { hintAmong, RecipeError, showMistake, type Mistake } from "../recipes/mistakes.ts";
import { seenFromHere } from "../recipes/places.ts";
import { jsonSchemaOf } from "../recipes/shape.ts";
import {
  showPath,
  keyOriginAt,
  originAt,
  plainOf,
  showKey,
  type MappingTree,
  type Path,
  type Tree,
} from "../recipes/tree.ts";
import { explain } from "../recipes/validation/explain.ts";
import { readText, parseYaml } from "../recipes/yaml.ts";
import { definitionSchema, type Definition, type TrainingInput } from "./definition.ts";

export interface Experiment {
  readonly file: string;
  readonly definition: Definition;
  /** The source, with lines and columns. */
  readonly tree: MappingTree;
}

/** @throws TroupeError `bad_recipe` listing every mistake of the file */
export function loadExperiment(file: string): Experiment {
  const tree = readTree(resolve(file));
  if (tree.kind !== "mapping") {
    const problem = "an experiment is a mapping of keys to values";
    throw rejected([{ origin: tree.origin, key: "", problem }]);
  }
  if (tree.entries.has("environment") || tree.entries.has("extends")) {
    const problem = "this is a recipe, not an experiment";
    throw rejected([
      {
        origin: tree.origin,
        key: "",
        problem,
        fix: `\`${command("train", showPath(resolve(file)))}\` takes it`,
      },
    ]);
  }
  const parsed = definitionSchema.safeParse(plainOf(tree));
  if (!parsed.success) throw rejected(explain(parsed.error.issues, tree, jsonSchemaOf(definitionSchema)));
  const mistakes = checkReferences(parsed.data, tree);
  if (mistakes.length > 0) throw rejected(mistakes);
  return { file: resolve(file), definition: withPlaces(parsed.data, tree), tree };
}

function withPlaces(definition: Definition, tree: MappingTree): Definition {
  const requires = definition.requires.map((each, index) => {
    if (each.path === undefined) return each;
    return { ...each, path: seenFromHere(tree, ["requires", index, "path"], each.path) };
  });
  return { ...definition, requires };
}

export function rejected(mistakes: readonly Mistake[]): TroupeError {
  const lines = mistakes.map(showMistake);
  const several = [`${lines.length} mistakes in the experiment:`, ...lines].join("\n  ");
  return new TroupeError("bad_recipe", lines.length === 1 ? lines.join() : several);
}

function readTree(file: string): Tree {
  try {
    return parseYaml(textOf(file), (line, column) => ({ kind: "file", file, line, column }));
  } catch (error) {
    throw error instanceof RecipeError ? rejected(error.mistakes) : error;
  }
}

function textOf(file: string): string {
  try {
    return readText(file);
  } catch (cause) {
    const why = (cause as Error).message;
    throw new TroupeError("bad_recipe", `cannot read ${showPath(file)}: ${why}`, { cause });
  }
}

/** All trainings of an experiment, by name: shared ones and rows. */
export function trainingsOf({ shared, rows }: Definition): Readonly<Record<string, TrainingInput>> {
  const trained = Object.entries(rows).flatMap(([name, row]) =>
    row.train === undefined ? [] : [[name, row.train] as const],
  );
  return { ...shared, ...Object.fromEntries(trained) };
}

/** Where a training is defined in the file. */
export function pathOfTraining({ shared }: Definition, name: string): Path {
  return Object.hasOwn(shared, name) ? ["shared", name] : ["rows", name, "train"];
}

/** Reports an unknown name. */
type Refer = (path: Path, name: string, known: readonly string[], what: string) => Mistake[];

function checkReferences(definition: Definition, tree: MappingTree): Mistake[] {
  const refer: Refer = (path, name, known, what) => {
    if (known.includes(name)) return [];
    const fix = hintAmong(name, known);
    const problem = `there is no ${what} \`${name}\``;
    return [{ origin: originAt(tree, path), key: showKey(path), problem, fix }];
  };
  return [
    ...seedsTwice(definition, tree),
    ...checkRows(definition, tree, refer),
    ...checkTrainings(definition, refer),
    ...checkNumbersBeside(definition, refer),
    ...emptyParts(definition, tree),
    ...circles(definition, tree),
  ];
}

function seedsTwice({ seeds }: Definition, tree: MappingTree): Mistake[] {
  return seeds.flatMap((seed, index) => {
    if (seeds.indexOf(seed) === index) return [];
    const path = ["seeds", index];
    const problem = `the seed ${seed} stands here twice, and would give the same numbers twice`;
    return [{ origin: originAt(tree, path), key: showKey(path), problem, fix: "take another seed" }];
  });
}

function checkRows(definition: Definition, tree: MappingTree, refer: Refer): Mistake[] {
  const trainings = Object.keys(trainingsOf(definition));
  return Object.entries(definition.rows).flatMap(([name, { train, evaluate }]) => {
    const path = ["rows", name, "evaluate"];
    const sources = Object.entries(evaluate?.policies ?? {});
    return [
      ...(Object.hasOwn(definition.shared, name) ? [sameName(tree, name)] : []),
      ...((train === undefined) === (evaluate === undefined) ? [oneOfBoth(tree, name)] : []),
      ...(evaluate === undefined ? [] : refer([...path, "run"], evaluate.run, trainings, "training")),
      ...sources.flatMap(([role, source]) =>
        refer([...path, "policies", role], source.split("/")[0] ?? "", trainings, "training"),
      ),
    ];
  });
}

function checkTrainings(definition: Definition, refer: Refer): Mistake[] {
  const trainings = trainingsOf(definition);
  const columns = Object.keys(definition.columns);
  return Object.entries(trainings).flatMap(([name, { from, changesIn }]) => {
    const path = pathOfTraining(definition, name);
    return [
      ...(from === undefined ? [] : refer([...path, "from"], from, Object.keys(trainings), "training")),
      ...Object.keys(changesIn ?? {}).flatMap((column) =>
        refer([...path, "changesIn", column], column, columns, "column"),
      ),
    ];
  });
}

/** The rows and columns of the baseline and of the published numbers. */
function checkNumbersBeside(definition: Definition, refer: Refer): Mistake[] {
  const { rows, columns, baseline, published } = definition;
  const values = Object.entries(published?.values ?? {});
  return [
    ...(baseline === undefined ? [] : refer(["baseline"], baseline, Object.keys(rows), "row")),
    ...values.flatMap(([row, byColumn]) => [
      ...refer(["published", "values", row], row, Object.keys(rows), "row"),
      ...Object.keys(byColumn).flatMap((column) =>
        refer(["published", "values", row, column], column, Object.keys(columns), "column"),
      ),
    ]),
    ...checkPublishedMeasures(definition, refer),
  ];
}

function checkPublishedMeasures({ rows, columns, measures, published }: Definition, refer: Refer): Mistake[] {
  const path = ["published", "measures"];
  return Object.entries(published?.measures ?? {}).flatMap(([column, byRow]) => [
    ...refer([...path, column], column, Object.keys(columns), "column"),
    ...Object.entries(byRow).flatMap(([row, values]) => [
      ...refer([...path, column, row], row, Object.keys(rows), "row"),
      ...Object.keys(values).flatMap((name) =>
        refer([...path, column, row, name], name, Object.keys(measures), "measure"),
      ),
    ]),
  ]);
}

function emptyParts({ rows, columns }: Definition, tree: MappingTree): Mistake[] {
  return Object.entries({ rows, columns }).flatMap(([key, part]) =>
    Object.keys(part).length > 0
      ? []
      : [{ origin: originAt(tree, [key]), key, problem: "is empty, so there is nothing to do" }],
  );
}

function sameName(tree: MappingTree, name: string): Mistake {
  const path = ["rows", name];
  const problem = "a shared training has the same name";
  return {
    origin: keyOriginAt(tree, path),
    key: showKey(path),
    problem,
    fix: "call one of them something else",
  };
}

function oneOfBoth(tree: MappingTree, name: string): Mistake {
  const path = ["rows", name];
  const problem = "expected either `train` or `evaluate`";
  return { origin: keyOriginAt(tree, path), key: showKey(path), problem };
}

/** A cycle of trainings could never start. */
function circles(definition: Definition, tree: MappingTree): Mistake[] {
  const trainings = trainingsOf(definition);
  return Object.keys(trainings).flatMap((name) => {
    const way = [name];
    for (let next = trainings[name]?.from; next !== undefined; next = trainings[next]?.from) {
      const seen = way.includes(next);
      way.push(next);
      if (!seen) continue;
      if (next !== name) return [];
      const path = [...pathOfTraining(definition, name), "from"];
      const problem = `starts from itself: ${way.join(" → ")}`;
      return [{ origin: originAt(tree, path), key: showKey(path), problem }];
    }
    return [];
  });
}
