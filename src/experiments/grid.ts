/** Expands an experiment's file: the cells, what each depends on, and their places in the table. */
import { TroupeError } from "../errors.ts";
import { hintAmong } from "../recipes/mistakes.ts";
import type { Path } from "../recipes/tree.ts";
import { originAt, showKey } from "../recipes/tree.ts";
import type { CellRecipe } from "./cell-recipe.ts";
import { cellRecipe } from "./cell-recipe.ts";
import type { EvaluationInput } from "./definition.ts";
import { fingerprint, trainingFingerprint } from "./fingerprint.ts";
import type { Experiment } from "./load.ts";
import { pathOfTraining, rejected, trainingsOf } from "./load.ts";

interface Place {
  /** Row, or shared training. */
  readonly row: string;
  readonly column: string;
  readonly seed: number;
}

interface Common extends Place {
  /** `plan-path-team-seed-1` */
  readonly name: string;
  readonly hash: string;
}

export interface TrainingCell extends Common {
  readonly kind: "train";
  /** Models are still the column's: the policies it starts from are known once that training is done. */
  readonly recipe: CellRecipe["recipe"];
  readonly from: TrainingCell | null;
}

export interface EvaluationCell extends Common {
  readonly kind: "evaluate";
  /** The run whose recipe is evaluated. */
  readonly run: TrainingCell;
  readonly team: string;
  /** Whose policy a role uses; roles not listed use that of `run`. */
  readonly policies: Readonly<Record<string, { readonly cell: TrainingCell; readonly role: string }>>;
}

export type Cell = TrainingCell | EvaluationCell;

/** Must be done before the cell can start. */
export function needsOf(cell: Cell): readonly TrainingCell[] {
  if (cell.kind === "train") return cell.from === null ? [] : [cell.from];
  return [cell.run, ...Object.values(cell.policies).map((source) => source.cell)];
}

export interface Grid {
  /** Every cell once, each after those it needs; seed by seed, so that complete tables appear early. */
  readonly cells: readonly Cell[];
  /** Every place of the table. Places whose cells compute the same share one cell. */
  readonly places: readonly (Place & { readonly cell: Cell })[];
}

/** @throws TroupeError `bad_recipe` if a cell's recipe cannot be run */
export async function expand(experiment: Experiment, seeds: readonly number[]): Promise<Grid> {
  const grower = new Grower(experiment);
  const { columns, rows } = experiment.definition;
  const places = seeds.flatMap((seed) =>
    Object.keys(columns).flatMap((column) => Object.keys(rows).map((row) => ({ row, column, seed }))),
  );
  const filled: Grid["places"][number][] = [];
  // Sequentially: the order in which cells are found is the order in which they run.
  for (const place of places) filled.push({ ...place, cell: await grower.cellAt(place) });
  return { cells: [...grower.cells.values()], places: filled };
}

class Grower {
  /** By hash, in a valid order of execution. */
  readonly cells = new Map<string, Cell>();
  private readonly recipes = new Map<string, CellRecipe>();
  private readonly experiment: Experiment;

  constructor(experiment: Experiment) {
    this.experiment = experiment;
  }

  cellAt(place: Place): Promise<Cell> {
    const evaluate = this.experiment.definition.rows[place.row]?.evaluate;
    return evaluate === undefined ? this.training(place) : this.evaluation(place, evaluate);
  }

  private async training(place: Place): Promise<TrainingCell> {
    const training = trainingsOf(this.experiment.definition)[place.row] ?? {};
    const from = training.from === undefined ? null : await this.training({ ...place, row: training.from });
    const { recipe, plain } = await this.recipe(place.row, place.column);
    if (from !== null) this.checkModels(place.row, recipe, from);
    const hash = trainingFingerprint(plain, training, place.seed, from?.hash);
    const name = nameOf(place);
    return this.once({
      ...place,
      name,
      kind: "train",
      hash,
      from,
      recipe: { ...recipe, name, seed: place.seed },
    });
  }

  private async evaluation(
    place: Place,
    { run: runName, team, policies: given }: EvaluationInput,
  ): Promise<EvaluationCell> {
    const run = await this.training({ ...place, row: runName });
    this.checkTeam(place.row, run, team, Object.keys(given));
    const policies: Record<string, { readonly cell: TrainingCell; readonly role: string }> = {};
    for (const [role, source] of Object.entries(given)) {
      const [row = "", theirs = role] = source.split("/");
      const cell = await this.training({ ...place, row });
      if (!rolesOf(cell, "team").includes(theirs)) throw this.noRole(place.row, role, theirs, cell);
      policies[role] = { cell, role: theirs };
    }
    const sources = Object.entries(policies).map(([role, { cell, role: theirs }]) => [
      role,
      cell.hash,
      theirs,
    ]);
    const hash = fingerprint({ run: run.hash, team, sources });
    return this.once({ ...place, name: nameOf(place), kind: "evaluate", hash, run, team, policies });
  }

  private once<Made extends Cell>(cell: Made): Made {
    const found = this.cells.get(cell.hash);
    if (found !== undefined) return found as Made;
    this.cells.set(cell.hash, cell);
    return cell;
  }

  private async recipe(name: string, column: string): Promise<CellRecipe> {
    const key = `${column}/${name}`;
    const made = this.recipes.get(key) ?? (await cellRecipe(this.experiment, name, column));
    this.recipes.set(key, made);
    return made;
  }

  /** A policy starts from one of the earlier training: a different model in the recipe would be ignored. */
  private checkModels(row: string, { policies }: CellRecipe["recipe"], from: TrainingCell): void {
    const before = Object.values(from.recipe.policies).map(({ model }) => JSON.stringify(model));
    const other = Object.entries(policies).find(([, { model }]) => !before.includes(JSON.stringify(model)));
    if (other === undefined) return;
    const [name, { model }] = other;
    const problem = `the policy ${name} is ${showModel(model)}, and ${from.row} has none such to begin with`;
    const fix = `give ${from.row} the same model, or begin with a training that has it`;
    throw this.reject([...pathOfTraining(this.experiment.definition, row), "from"], problem, fix);
  }

  private checkTeam(row: string, run: TrainingCell, team: string, roles: readonly string[]): void {
    const known = ["team", ...Object.keys(run.recipe.evaluation.compare)];
    if (!known.includes(team)) {
      throw this.reject(
        ["rows", row, "evaluate", "team"],
        `there is no team \`${team}\``,
        hintAmong(team, known, `teams of ${run.row}`),
      );
    }
    const stranger = roles.find((role) => !rolesOf(run, team).includes(role));
    if (stranger !== undefined) throw this.noRole(row, stranger, stranger, run, team);
  }

  private noRole(row: string, key: string, role: string, cell: TrainingCell, team = "team"): TroupeError {
    const known = rolesOf(cell, team);
    const fix = hintAmong(role, known, `roles of ${cell.row} on ${cell.column}`);
    return this.reject(["rows", row, "evaluate", "policies", key], `there is no role \`${role}\``, fix);
  }

  private reject(path: Path, problem: string, fix: string): TroupeError {
    return rejected([{ origin: originAt(this.experiment.tree, path), key: showKey(path), problem, fix }]);
  }
}

function showModel(model: CellRecipe["recipe"]["policies"][string]["model"]): string {
  return "preset" in model ? `the preset ${model.preset}` : `a model of ${model.path}`;
}

function rolesOf({ recipe }: TrainingCell, team: string): string[] {
  return Object.keys((team === "team" ? recipe.team : recipe.evaluation.compare[team])?.roles ?? {});
}

function nameOf({ row, column, seed }: Place): string {
  return `${column}-${row}-seed-${seed}`;
}
