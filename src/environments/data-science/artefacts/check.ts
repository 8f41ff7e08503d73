/** Whether a seat's artefacts are there and usable. They are loaded in the sandbox, never here. */
import { readFileSync } from "node:fs";
import { z } from "zod";
import { jsonOrNull } from "../../../json.ts";
import type { Context } from "../../environment.ts";
import { requiredArtefacts, submissionFile, type DataScienceOptions, type SeatName } from "../options.ts";
import type { ArtefactReport, Graded } from "../state.ts";
import { runChecker, type Workspace } from "../workspace.ts";

const script = readFileSync(new URL("check.py", import.meta.url), "utf8");
const reportsSchema = z.record(z.string(), z.object({ usable: z.boolean(), note: z.string() }));

/** What the checks of a seat's artefacts need besides them. */
const alsoNeeded: Readonly<Record<SeatName, readonly string[]>> = {
  "data-engineer": [],
  modeler: ["X_test.pkl"],
  analyst: [],
};

/** @throws ServiceError if the sandbox fails */
export async function artefactsOf(
  seat: SeatName,
  workspace: Pick<Workspace, "store" | "files">,
  testRows: number,
  options: DataScienceOptions,
  context: Context,
): Promise<readonly ArtefactReport[]> {
  const { files } = workspace;
  const required = requiredArtefacts[seat].filter((name) => name !== submissionFile);
  const names = required.filter((name) => Object.hasOwn(files, name));
  if (names.length === 0) return required.map(missing);
  const used = [...names, ...alsoNeeded[seat]].flatMap((name) => {
    const file = files[name];
    return file === undefined ? [] : [[name, file] as const];
  });
  const given = { store: workspace.store, files: Object.fromEntries(used) };
  const printed = await runChecker(
    script,
    JSON.stringify({ names, rows: testRows }),
    given,
    options,
    context,
  );
  const reports = reportsSchema.safeParse(jsonOrNull(printed ?? "")).data ?? {};
  const unknown = { usable: false, note: "loading it takes too long, too much memory, or ends Python" };
  return required.map((name) =>
    names.includes(name) ? { name, ...(reports[name] ?? unknown) } : missing(name),
  );
}

export function submissionReport(graded: Graded | null): ArtefactReport {
  if (graded === null) return missing(submissionFile);
  return { name: submissionFile, usable: graded.problem === null, note: graded.problem ?? "accepted" };
}

function missing(name: string): ArtefactReport {
  return { name, usable: false, note: "missing" };
}

export function isPresent({ note }: ArtefactReport): boolean {
  return note !== "missing";
}
