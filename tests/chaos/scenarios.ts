/** What is disturbed, and how. */
import * as by from "./disturb.ts";
import type { Tolerance } from "./oracle.ts";
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
    by.freezes,
    by.freezesChildren,
    by.load,
    by.withoutNamespaces,
    by.withoutRoot,
  ]),
  ...each(on.programGrader, [by.kills, by.freezes, by.load, by.withoutNamespaces]),
  ...each(on.hostileFunctions, [by.load]),
  ...each(on.comparisons, [by.endsThreads, by.lateThreads, by.freezes, by.load]),
  ...each(on.hub, [...by.faults, ...by.dies(2)]),
  ...each(on.coach, [...by.faults, ...by.dies(3), by.killsCommand]),
  ...each(on.coach, [by.wordKey, ...by.habits("surrounds its answers with prose")], "same"),
  ...each(on.expert, [...by.faults, ...by.dies(1), by.killsCommand]),
  ...each(on.judgeProgram, [
    ...by.habits("answers twice", "breaks off", "writes nonsense", "answers others", "is late", "crashes"),
    by.kills,
    by.freezesChildren,
  ]),
  ...each(on.mcpProgram, [...by.habits("crashes", "hangs", "writes nonsense"), by.kills]),
  ...each(on.mcpErrors, by.habits("throws internal errors", "throws errors of its own"), "answer"),
  ...each(on.mcpAddress, [...by.faults, ...by.dies(4)]),
  ...each(on.tinkerEngine, [...by.faults, ...by.dies(20), by.killsServer, by.killsCommand]),
  ...each(on.localEngine, [by.killsCommand, by.freezes, by.fullDisk]),
];
