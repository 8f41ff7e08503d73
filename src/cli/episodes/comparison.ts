/** The credit of actions as recorded and as recomputed, by role. */
import type { Verdict } from "../../rollout/episode.ts";
import { mean, standardDeviation, sum } from "../../statistics.ts";
import { showCount, showShare, showText } from "../../format.ts";
import { tableLines } from "../table.ts";

export interface Credit {
  /** null: a reward it depends on is missing. */
  readonly return: number | null;
  readonly advantage: number;
  readonly group: string;
}

export interface Rescored {
  readonly episode: string;
  readonly action: string;
  readonly role: string;
  readonly turn: number;
  /** null: the action was not trained on, such as in an evaluation. */
  readonly recorded: Credit | null;
  readonly now: Credit;
  /** The judge's; absent: it was not asked. */
  readonly verdict?: Verdict;
}

type Pair = Pick<Rescored, "recorded" | "now">;

export class Comparison {
  readonly #byRole = new Map<string, Pair[]>();
  readonly #failures: string[] = [];

  add({ role, episode, recorded, now, verdict }: Rescored): void {
    if (verdict !== undefined && "failure" in verdict)
      this.#failures.push(`in ${episode}: ${showText(verdict.failure, 400)}`);
    const pairs = this.#byRole.get(role) ?? [];
    pairs.push({ recorded, now });
    this.#byRole.set(role, pairs);
  }

  lines(): string[] {
    const columns = [
      { title: "role" },
      ...["actions", "return", "now", "spread of advantages", "now", "same sign", "correlation"].map(
        (title) => {
          return { title, align: "right" as const };
        },
      ),
    ];
    const rows = [...this.#byRole].map(([role, pairs]) => [role, ...rowOf(pairs)]);
    const notes = [...this.#missingNote(), ...this.#failureNote()];
    return [...tableLines(columns, rows), ...(notes.length === 0 ? [] : ["", ...notes])];
  }

  #missingNote(): string[] {
    const missing = sum([...this.#byRole.values()].map(withoutReturn));
    return missing === 0
      ? []
      : [`${showCount(missing)} of the actions have no return now, because a reward is missing`];
  }

  #failureNote(): string[] {
    const [first] = this.#failures;
    if (first === undefined) return [];
    const count = this.#failures.length;
    return [`${showCount(count)} ${count === 1 ? "verdict" : "verdicts"} failed. The first, ${first}`];
  }
}

function rowOf(pairs: readonly Pair[]): string[] {
  const known = pairs.filter(
    ({ recorded, now }) => recorded !== null && recorded.return !== null && now.return !== null,
  );
  const before = pairs.flatMap(({ recorded }) => recorded ?? []);
  const now = pairs.map((pair) => pair.now);
  const advantages = known.map((pair) => [pair.recorded?.advantage ?? 0, pair.now.advantage] as const);
  return [
    String(pairs.length),
    meanReturn(before),
    meanReturn(now),
    spread(before),
    spread(now),
    known.length === 0
      ? ""
      : showShare(mean(advantages.map(([one, other]) => (Math.sign(one) === Math.sign(other) ? 1 : 0)))),
    showCorrelation(advantages),
  ];
}

function withoutReturn(pairs: readonly Pair[]): number {
  return pairs.filter(({ now }) => now.return === null).length;
}

function meanReturn(credits: readonly Credit[]): string {
  const returns = credits.flatMap((credit) => credit.return ?? []);
  return returns.length === 0 ? "" : mean(returns).toFixed(3);
}

function spread(credits: readonly Credit[]): string {
  const known = credits.filter((credit) => credit.return !== null);
  return known.length === 0 ? "" : standardDeviation(known.map(({ advantage }) => advantage)).toFixed(3);
}

/** Pearson's; undefined if either does not vary. */
function showCorrelation(pairs: readonly (readonly [number, number])[]): string {
  const [ones, others] = [pairs.map(([one]) => one), pairs.map(([, other]) => other)];
  const scale = standardDeviation(ones) * standardDeviation(others);
  if (!(scale > 0)) return "";
  const [centre, otherCentre] = [mean(ones), mean(others)];
  return (mean(pairs.map(([one, other]) => (one - centre) * (other - otherCentre))) / scale).toFixed(2);
}
