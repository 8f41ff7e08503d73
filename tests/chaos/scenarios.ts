/** What is disturbed, and how. */
import * as by from "./disturb.ts";
import * as on from "./subjects.ts";

export interface Scenario {
  readonly subject: on.Subject;
  readonly disturbance: by.Disturbance;
}

const each = (subject: on.Subject, disturbances: readonly by.Disturbance[]): readonly Scenario[] =>
  disturbances.map((disturbance) => ({ subject, disturbance }));

export const scenarios: readonly Scenario[] = [
  ...each(on.functionGrader, [by.kills, by.freezes, by.freezesChildren, by.load, by.withoutNamespaces]),
  ...each(on.comparisons, [by.endsThreads, by.lateThreads, by.freezes, by.load]),
  ...each(on.coach, [...by.faults, ...by.dies(3), by.killsCommand]),
  ...each(on.expert, [...by.faults, ...by.dies(1), by.killsCommand]),
  ...each(on.judgeProgram, [
    ...by.habits("answers twice", "breaks off", "writes nonsense", "answers others", "is late", "crashes"),
    by.kills,
    by.freezesChildren,
  ]),
  ...each(on.mcpProgram, [...by.habits("crashes", "hangs", "writes nonsense"), by.kills]),
  ...each(on.mcpAddress, [...by.faults, ...by.dies(4)]),
  ...each(on.tinkerEngine, [...by.faults, ...by.dies(20)]),
  ...each(on.localEngine, [by.killsCommand, by.freezes]),
];
