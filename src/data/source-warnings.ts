/** Warnings about an environment's task sources before training: omitted rows and problems, and problems that two splits share. */
import { showText } from "../format.ts";
import { findOverlaps, type Overlap } from "./contamination/overlaps.ts";
import type { ProblemSource } from "./task-sources.ts";
import { command } from "../command-line.ts";

/** In the form of an environment's warnings about its options. */
export interface SourceWarning {
  readonly key: string;
  readonly problem: string;
  readonly fix: string;
}

/** @param key the environment's option that names the data set */
export async function sourceWarnings(
  sources: Readonly<Record<string, ProblemSource>>,
  key: string,
): Promise<readonly SourceWarning[]> {
  const skipped = Object.entries(sources).flatMap(([name, source]) => [
    ...malformedWarning(name, source, key),
    ...failingWarning(name, source, key),
  ]);
  const { train, ...others } = sources;
  if (train === undefined) return skipped;
  const own = await train.shingled();
  const shared: SourceWarning[] = [];
  for (const [name, source] of Object.entries(others))
    shared.push(...overlapWarning(name, source.size, findOverlaps(own, await source.shingled()), key));
  return [...skipped, ...shared];
}

function malformedWarning(name: string, { malformed, size }: ProblemSource, key: string): SourceWarning[] {
  const [first] = malformed;
  if (first === undefined) return [];
  const example = `row ${first.row} of ${first.split}: ${first.reason}`;
  const problem = `${name}: ${malformed.length} of ${size + malformed.length} rows are not problems and are skipped (${example})`;
  return [{ key, problem, fix: `\`${command("data", "verify")} DATASET\` lists them` }];
}

function failingWarning(name: string, { failing, size }: ProblemSource, key: string): SourceWarning[] {
  const [first] = failing;
  if (first === undefined) return [];
  const example = `row ${first.row} of ${first.split}, ${showText(first.id, 60)}: ${first.reason}`;
  const problem = `${name}: ${failing.length} of ${size + failing.length} problems fail their own tests and are skipped (${example})`;
  return [
    {
      key,
      problem,
      fix: `\`${command("data", "verify")} DATASET\` lists them; \`failing: keep\` in the dataset keeps them`,
    },
  ];
}

function overlapWarning(
  name: string,
  size: number,
  overlaps: readonly Overlap[],
  key: string,
): SourceWarning[] {
  const [first] = overlaps;
  if (first === undefined) return [];
  const same = overlaps.filter(({ isSame }) => isSame).length;
  const example = `${first.evaluation} is ${first.isSame ? "the same as" : "like"} ${first.train}`;
  const problem = `${overlaps.length} of ${size} problems of ${name} are in train, too, ${same} of them word for word (${example})`;
  return [{ key, problem, fix: "leave them out with `exclude`, or cut other slices" }];
}
