/**
 * `npm run chaos`: whatever is outside the process is killed, slowed, garbled, denied a privilege or answers twice, and
 * the results are compared with those of an undisturbed run (oracle.ts). Ends with 1 if a number changed in silence, or,
 * with --defects, if one did not that should.
 */
import { spawnSync } from "node:child_process";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { repairs, withoutRepair } from "./repairs.ts";
import { nameOf, scenarios, Trials, type Trial } from "./scenarios.ts";

const { values } = parseArgs({
  options: {
    only: { type: "string", default: "" },
    seed: { type: "string", default: "1" },
    rounds: { type: "string", default: "1" },
    defects: { type: "boolean", default: false },
    /** Leaves the folders of the runs. */
    keep: { type: "boolean", default: false },
  },
});

const checkout = path.join(import.meta.dirname, "..", "..");
const root = await mkdtemp(path.join(tmpdir(), "troupe-chaos-"));
// For those who run without privileges.
await chmod(root, 0o755);
const trials = new Trials(root, checkout);
const seeds = Array.from({ length: wholeNumber("rounds") }, (_, round) => 1000 * wholeNumber("seed") + round);
let tried = 0;
process.exitCode = (await (values.defects ? findDefects() : disturb())) && tried > 0 ? 0 : 1;
if (tried === 0) console.error(`Nothing was tried: no name contains ${JSON.stringify(values.only)}.`);
if (!values.keep) await rm(root, { recursive: true, force: true });

async function disturb(): Promise<boolean> {
  let silent = 0;
  for (const seed of seeds) {
    for (const scenario of scenarios) {
      if (!nameOf(scenario).includes(values.only)) continue;
      tried += 1;
      const trial = await trials.of(scenario, seed);
      if (trial.verdict.kind === "silent") silent += 1;
      report(nameOf(scenario), trial);
    }
  }
  if (tried === 0) return false;
  console.log(
    silent === 0 ? "No number changed in silence." : `A number changed in silence in ${silent} of them.`,
  );
  return silent === 0;
}

/** A defect may need several tries: what is killed is drawn at random. */
async function findDefects(): Promise<boolean> {
  let missed = 0;
  for (const repair of repairs) {
    if (!repair.foundBy.includes(values.only)) continue;
    tried += 1;
    const folder = path.join(root, `without-${repairs.indexOf(repair)}`);
    const broken = await withoutRepair(repair, checkout, folder);
    const isFound = await finds(repair.foundBy, broken);
    if (!isFound) missed += 1;
    console.log(`${isFound ? "found" : "MISSED"}: ${repair.defect}`);
  }
  if (tried === 0) return false;
  console.log(missed === 0 ? "Every defect is found." : `${missed} defects are not found.`);
  return missed === 0;
}

async function finds(foundBy: string, broken: string): Promise<boolean> {
  const scenario = scenarios.find((each) => nameOf(each) === foundBy);
  if (scenario === undefined) return failsIn(broken, foundBy);
  for (const seed of seeds) {
    const trial = await trials.of(scenario, seed, broken);
    report(foundBy, trial);
    if (trial.verdict.kind === "silent") return true;
  }
  return false;
}

function wholeNumber(name: "rounds" | "seed"): number {
  if (/^[1-9]\d*$/.test(values[name])) return Number(values[name]);
  throw new Error(`--${name} is ${JSON.stringify(values[name])}; expected a whole number from 1.`);
}

/** Whether a test, which passes in the checkout, fails in the copy. */
function failsIn(broken: string, test: string): boolean {
  const run = (folder: string) =>
    spawnSync(process.execPath, ["node_modules/vitest/vitest.mjs", "run", "--configLoader=runner", test], {
      cwd: folder,
      encoding: "utf8",
    });
  // A copy in which nothing runs fails, too, but at no assertion.
  return run(checkout).status === 0 && /AssertionError/.test(run(broken).stderr);
}

function report(name: string, { verdict, acts, seconds }: Trial): void {
  const detail = verdict.kind === "silent" ? ` ${verdict.because}` : "";
  const kind = verdict.kind === "same" && acts === 0 ? "idle" : verdict.kind;
  console.log(
    `${kind.padEnd(8)} ${seconds.toFixed(1).padStart(6)} s  ${String(acts).padStart(4)}×  ${name}${detail}`,
  );
}
