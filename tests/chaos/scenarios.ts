import {
  endsThreads,
  freezes,
  freezesChildren,
  lateThreads,
  kills,
  load,
  withoutNamespaces,
  type Disturbance,
} from "./disturb.ts";
import { comparisons, functionGrader, type Subject } from "./subjects.ts";

export interface Scenario {
  readonly subject: Subject;
  readonly disturbance: Disturbance;
}

export const scenarios: readonly Scenario[] = [
  ...[kills, freezes, freezesChildren, load, withoutNamespaces].map((disturbance) => ({
    subject: functionGrader,
    disturbance,
  })),
  ...[endsThreads, lateThreads, freezes, load].map((disturbance) => ({ subject: comparisons, disturbance })),
];
