import type { Algorithm } from "../algorithm.ts";

/** Whether KL is measured against frozen copies of the policies at the start of reinforcement. */
export function needsInitialPolicies({ kl }: Pick<Algorithm, "kl">): boolean {
  return kl !== null && kl.to === undefined;
}
