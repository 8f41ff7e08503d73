/**
 * `npm run chaos`: whatever is outside the process is killed, slowed, garbled, denied a privilege or answers twice, and
 * the results are compared with those of an undisturbed run (oracle.ts). Ends with 1 if a number changed in silence.
 */
import { chmod, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { undisturbed, type Disturbance } from "./disturb.ts";
import { verdictOn, type Observation, type Verdict } from "./oracle.ts";
import { scenarios, type Scenario } from "./scenarios.ts";
import type { Subject } from "./subjects.ts";

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    seed: { type: "string", default: "1" },
    rounds: { type: "string", default: "1" },
  },
});

const checkout = path.join(import.meta.dirname, "..", "..");
const root = await mkdtemp(path.join(tmpdir(), "troupe-chaos-"));
await chmod(root, 0o755);
const expected = new Map<Subject, Observation>();
let silent = 0;
for (let round = 0; round < Number(values.rounds); round++) {
  for (const [index, scenario] of scenarios.entries()) {
    if (values.only !== undefined && !nameOf(scenario).includes(values.only)) continue;
    const began = performance.now();
    const seed = 1000 * Number(values.seed) + round;
    const { verdict, acts } = await tried(scenario, path.join(root, `${round}-${index}`), seed);
    if (verdict.kind === "silent") silent += 1;
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    const detail = verdict.kind === "silent" ? ` ${verdict.because}` : "";
    console.log(
      `${verdict.kind.padEnd(8)} ${seconds.padStart(6)} s  ${String(acts).padStart(4)}×  ${nameOf(scenario)}${detail}`,
    );
  }
}
if (process.env["KEEP"] === undefined) await rm(root, { recursive: true, force: true });
console.log(
  silent === 0 ? "No number changed in silence." : `${silent} scenarios changed a number in silence.`,
);
process.exitCode = silent === 0 ? 0 : 1;

function nameOf({ subject, disturbance }: Scenario): string {
  return `${subject.name}: ${disturbance.name}`;
}

async function tried(
  { subject, disturbance, tolerance }: Scenario,
  folder: string,
  seed: number,
): Promise<{ readonly verdict: Verdict | { readonly kind: "skipped" }; readonly acts: number }> {
  if (disturbance.missing?.() != null) return { verdict: { kind: "skipped" }, acts: 0 };
  const disturbed = async (by: Disturbance, at: string) => {
    await mkdir(at, { recursive: true });
    await chmod(at, 0o777);
    return subject.run({ place: { folder: at, checkout }, by, seed });
  };
  const known = expected.get(subject) ?? (await disturbed(undisturbed, `${folder}-expected`));
  expected.set(subject, known);
  checkTelling(subject, known);
  const { acts, ...found } = await disturbed(disturbance, folder);
  return { verdict: verdictOn(known, found, subject.named, tolerance), acts };
}

/** Results that are all alike, or failures, would hide every change. */
function checkTelling({ name }: Subject, { results, screen }: Observation): void {
  const kinds = new Set(results.map(({ text }) => text)).size;
  if (kinds < 3 || results.some(({ failures }) => failures > 0))
    throw new Error(`${name}: undisturbed, it gives ${kinds} different results, and says: ${screen}`);
}
