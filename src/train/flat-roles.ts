/**
 * Roles that cannot learn: step after step, everything that one did earned as much as what the algorithm compares it
 * with. Nothing else shows it: such a role still writes, and the team's reward may rise without it.
 */
import type { Algorithm, CreditedAction } from "../credit/algorithm.ts";
import { isFlat } from "../credit/flat.ts";
import type { Warning } from "../recipes/validation/warnings.ts";
import type { StepMetrics } from "../runs/records.ts";

/** Steps after which a role is reported. */
export const patience = 20;

/**
 * Whether what a role earned, without KL, is equal in each of its groups. Where every action is a group of its own, a
 * whole batch is compared.
 * @param actions of the role, with a return
 */
export function isFlatRole(actions: readonly CreditedAction[]): boolean {
  const groups = [...Map.groupBy(actions, (one) => one.group).values()];
  const compared = groups.some((group) => group.length > 1) ? groups : [actions];
  return actions.length > 0 && compared.every((group) => isFlat(group.map(({ earned }) => earned)));
}

/** How many steps each role has been flat for, up to the last one; roles that are not are omitted. */
export function flatStreaks(metrics: readonly StepMetrics[]): Readonly<Record<string, number>> {
  const steps = metrics.flatMap(({ rollout }) => rollout ?? []);
  const names = Object.keys(steps.at(-1)?.roles ?? {});
  const streaks = names.map((name) => {
    const last = steps.findLastIndex(({ roles }) => roles[name]?.flat !== true);
    return [name, steps.length - 1 - last] as const;
  });
  return Object.fromEntries(streaks.filter(([, length]) => length > 0));
}

/** Of roles that have been flat for exactly so long, so that each is reported once. */
export function flatWarnings(metrics: readonly StepMetrics[], algorithm: Algorithm): readonly Warning[] {
  const streaks = flatStreaks(metrics);
  const roles = metrics.at(-1)?.rollout?.roles ?? {};
  const due = Object.keys(streaks).filter((name) => streaks[name] === patience);
  const others = Object.keys(roles).filter((name) => !Object.hasOwn(streaks, name));
  return due.map((name) => ({
    key: `team.roles.${name}`,
    problem: `for ${patience} steps, nothing that the ${name} wrote earned more or less than what it is compared with: it learns nothing`,
    fix: fixFor(others, algorithm),
  }));
}

function fixFor(others: readonly string[], { name, critic, whitening }: Algorithm): string {
  if (others.length > 0)
    return `rewards of the ${others.join(" and the ")} do differ: look whether anybody reads what it writes (team.phases), and whether a reward depends on it; a judge of single actions gives it one of its own`;
  if (critic === null && whitening === null)
    return `${name} compares samples of one task or state: with tasks of mixed difficulty, reinforce-plus-plus, which compares the whole batch, or ppo, which has a critic, can learn; otherwise easier tasks, a longer warm start, or a judge of single actions`;
  return "easier tasks, a longer warm start, or a judge of single actions make rewards differ";
}
