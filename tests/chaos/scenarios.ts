/** What is disturbed, and how; and trying it. */
import { chmod, mkdir } from "node:fs/promises";
import path from "node:path";
import * as by from "./disturb.ts";
import { verdictOn, type Observation, type Tolerance, type Verdict } from "./oracle.ts";
import * as on from "./subjects.ts";

export interface Scenario {
  readonly subject: on.Subject;
  readonly disturbance: by.Disturbance;
  readonly tolerance: Tolerance;
}

const each = (
  subject: on.Subject,
  disturbances: readonly by.Disturbance[],
  tolerance: Tolerance = "counted",
): Scenario[] => disturbances.map((disturbance) => ({ subject, disturbance, tolerance }));

export const scenarios: readonly Scenario[] = [
  ...each(on.functionGrader, [
    by.kills,
    by.signals,
    by.freezes,
    by.freezesChildren,
    by.load,
    by.withoutNamespaces,
    by.withoutRoot,
  ]),
  ...each(on.programGrader, [by.kills, by.signals, by.freezes, by.load, by.withoutNamespaces]),
  ...each(on.hostileFunctions, [by.load]),
  ...each(on.comparisons, [by.killsRarely, by.freezes, by.freezesChildren, by.load]),
  ...each(on.hub, [...by.faults, ...by.dies(2)]),
  ...each(on.coach, [...by.faults, ...by.dies(3), by.killsCommand]),
  ...each(on.coach, [by.wordKey, ...by.habits("surrounds its answers with prose")], "same"),
  ...each(on.expert, [...by.faults, ...by.dies(1), by.killsCommand, ...by.habits("writes no edits")]),
  ...each(on.judgeProgram, [
    ...by.habits("answers twice", "breaks off", "writes nonsense", "answers others", "is late", "crashes"),
    by.kills,
    by.freezesChildren,
  ]),
  ...each(on.agentPrograms, [by.kills, by.killsCommand, by.freezesChildren, by.fullDisk]),
  ...each(on.mcpProgram, [...by.habits("crashes", "hangs", "writes nonsense"), by.kills]),
  ...each(on.mcpErrors, by.habits("throws internal errors", "throws errors of its own"), "answer"),
  ...each(on.mcpAddress, [...by.faults, ...by.dies(4)]),
  ...each(on.tinkerEngine, [...by.faults, ...by.dies(20), by.killsServer, by.killsCommand]),
  ...each(on.localEngine, [by.killsCommand, by.freezes, by.fullDisk]),
];

export function nameOf({ subject, disturbance }: Scenario): string {
  return `${subject.name}: ${disturbance.name}`;
}

export interface Trial {
  readonly verdict: Verdict | { readonly kind: "skipped" };
  /** How often the disturbance acted. */
  readonly acts: number;
  readonly seconds: number;
}

export class Trials {
  readonly #root: string;
  readonly #checkout: string;
  /** Each subject's undisturbed results, of this checkout. */
  readonly #expected = new Map<on.Subject, Observation>();
  #runs = 0;

  /** @param root an empty folder */
  constructor(root: string, checkout: string) {
    this.#root = root;
    this.#checkout = checkout;
  }

  /** @param checkout whose command is disturbed. Default: the same as for what is expected */
  async of(scenario: Scenario, seed: number, checkout = this.#checkout): Promise<Trial> {
    const { subject, disturbance, tolerance } = scenario;
    const began = performance.now();
    if (disturbance.missing?.() != null) return { verdict: { kind: "skipped" }, acts: 0, seconds: 0 };
    const expected = this.#expected.get(subject) ?? (await this.#undisturbed(subject, seed));
    this.#expected.set(subject, expected);
    const place = { folder: await this.#folder(), checkout };
    disturbance.begin?.();
    const { acts, ...found } = await subject.run({ place, by: disturbance, seed });
    const verdict = verdictOn(expected, found, subject.named, tolerance);
    return { verdict, acts, seconds: (performance.now() - began) / 1000 };
  }

  async #undisturbed(subject: on.Subject, seed: number): Promise<Observation> {
    const place = { folder: await this.#folder(), checkout: this.#checkout };
    const found = await subject.run({ place, by: by.undisturbed, seed });
    checkTelling(subject, found);
    return found;
  }

  async #folder(): Promise<string> {
    const folder = path.join(this.#root, String(this.#runs++));
    await mkdir(folder);
    await chmod(folder, 0o777);
    return folder;
  }
}

/** Results that are all alike, or failures, would hide every change; a screen that names one would hide every silence. */
function checkTelling({ name, named }: on.Subject, { results, screen }: Observation): void {
  const kinds = new Set(results.map(({ text }) => text)).size;
  if (kinds < 3 || results.some(({ failures }) => failures > 0))
    throw new Error(`${name}: undisturbed, it gives ${kinds} different results, and says: ${screen}`);
  const found = named.exec(screen);
  if (found !== null) throw new Error(`${name}: undisturbed, it says: ${found[0]}`);
}
