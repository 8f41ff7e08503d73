/** The runs that a viewer shows, also those that begin while it does. */
import { differences } from "../recipes/write.ts";
import { TroupeError } from "../errors.ts";
import type { Change, RecipeDifference, RunLine } from "./api.ts";
import { namedRuns, ViewedRun } from "./run.ts";

export class ViewedRuns {
  readonly #find: () => Promise<readonly string[]>;
  /** By folder. */
  readonly #known = new Map<string, ViewedRun>();

  /** @param find the folders of the runs */
  constructor(find: () => Promise<readonly string[]>) {
    this.#find = find;
  }

  async all(): Promise<readonly ViewedRun[]> {
    const directories = await this.#find();
    for (const { name, directory } of namedRuns([...new Set([...this.#known.keys(), ...directories])]))
      if (!this.#known.has(directory)) this.#known.set(directory, new ViewedRun(name, directory));
    return directories.flatMap((directory) => this.#known.get(directory) ?? []);
  }

  async find(name: string): Promise<ViewedRun | null> {
    const known = [...this.#known.values()].find((run) => run.name === name);
    return known ?? (await this.all()).find((run) => run.name === name) ?? null;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#known.values()].map((run) => run.close()));
  }

  async lines(): Promise<RunLine[]> {
    return Promise.all((await this.all()).map((run) => run.line()));
  }

  async changes(): Promise<Change[]> {
    return Promise.all((await this.all()).map((run) => run.change()));
  }

  /** Each key in which some run's recipe differs from the first's. @throws TroupeError `bad_arguments` */
  async compare(names: readonly string[]): Promise<RecipeDifference[]> {
    const runs = await Promise.all(names.map((name) => this.find(name)));
    const missing = names.find((_, index) => runs[index] === null);
    if (missing !== undefined) throw new TroupeError("bad_arguments", `the viewer shows no run ${missing}`);
    const read = await Promise.all(runs.flatMap((run) => (run === null ? [] : [run.recipe()])));
    const recipes = read.map(({ value }) => value);
    const [first, ...others] = recipes;
    const keys = new Set(others.flatMap((other) => differences(first, other).map(({ key }) => key)));
    return [...keys].map((key) => ({ key, values: recipes.map((recipe) => jsonAt(recipe, key)) }));
  }
}

function jsonAt(recipe: unknown, key: string): string | null {
  let value = recipe;
  for (const part of key.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, part)) return null;
    value = (value as Readonly<Record<string, unknown>>)[part];
  }
  return JSON.stringify(value);
}
