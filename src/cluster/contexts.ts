/** Roles that may write more than their models can read. */
import { showCount } from "../format.ts";
import type { Warning } from "../recipes/validation/warnings.ts";
import type { Role } from "../teams/team.ts";

/** Actions end where the context does. @param contexts tokens of the longest sequence, by policy */
export function contextWarnings(
  lengths: readonly { readonly role: Role; readonly prompt: number }[],
  contexts: Readonly<Record<string, number>>,
): readonly Warning[] {
  const long = lengths.filter(
    ({ role, prompt }) => prompt + role.maxTokens > (contexts[role.policy] ?? Infinity),
  );
  return [...new Map(long.map((each) => [each.role.name, each])).values()].map(({ role, prompt }) => {
    const context = contexts[role.policy] ?? Infinity;
    const room = Math.floor(context - prompt);
    return {
      key: `team.roles.${role.name}.maxTokens`,
      problem:
        `sequences of policy ${role.policy} have at most ${showCount(context)} tokens with the prompt, so actions ` +
        `end before ${showCount(role.maxTokens)}`,
      fix: room < 1 ? "use a model with a longer context" : `use ${showCount(room)} or less`,
    };
  });
}
