/** Whether the models of roles with tools can call them. */
import { TroupeError } from "../errors.ts";
import type { RolloutPolicy } from "../rollout/setting.ts";
import type { Role } from "../teams/team.ts";

/** @throws TroupeError `bad_recipe` */
export function checkTools(
  roles: readonly Role[],
  policies: Readonly<Record<string, Pick<RolloutPolicy, "tokenizer">>>,
): void {
  const unable = roles.find(
    ({ tools, policy }) => tools !== undefined && policies[policy]?.tokenizer.writesCalls() === false,
  );
  if (unable === undefined) return;
  throw new TroupeError(
    "bad_recipe",
    `the role ${unable.name} has tools, but the chat template of its policy ${unable.policy} shows none, or its calls are ` +
      "in no known format (those of Hermes and Qwen, Llama 3, Mistral); use a model with tools, or remove `tools`",
  );
}
