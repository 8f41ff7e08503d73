/**
 * The reward of a seat that writes a program, with the weights of the appendix of AT-GRPO (arXiv 2510.11062, C.1):
 *
 *   local = .1 format + .1 execution + .8 plan
 *   plan  = what the output would earn locally if the reader wrote it
 *   team  = what the team would gain by that
 *
 * Execution means that the program ends by itself, with exit code 0, and prints something; otherwise what it printed earns
 * nothing.
 */
import type { ActionReward } from "../environment.ts";
import type { Printed, WrittenProgram } from "./run.ts";

/** @param tried the reward of the output as an action; absent: it was not tried */
export function programReward(
  { source, isFenced }: WrittenProgram,
  { problem }: Printed,
  tried?: ActionReward,
): ActionReward {
  const parts = {
    format: isFenced && source !== "" ? 0.1 : 0,
    execution: problem === null ? 0.1 : 0,
    plan: 0.8 * (tried?.local ?? 0),
  };
  const around = isFenced ? undefined : "the program is not in a block of Python";
  const reason = problem === null ? (tried?.reason ?? around) : `the program: ${problem}`;
  const local = parts.format + parts.execution + parts.plan;
  const reward = { team: tried?.team ?? 0, local, parts };
  return reason === undefined ? reward : { ...reward, reason };
}

/** For programs after the end of the episode, which are not run. */
export const afterTheEnd: ActionReward = {
  team: 0,
  local: 0,
  parts: { format: 0, execution: 0, plan: 0 },
  reason: "the episode is over",
};
