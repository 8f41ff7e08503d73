/** Opens the tools of all roles: servers that cannot be reached are reported before anything is trained. */
import { retrying, type RetryOptions } from "../calls/retry.ts";
import type { RunServices } from "./services.ts";
import type { NamedTeam } from "./teams.ts";

/** @throws TroupeError `bad_recipe`, `bad_data`, `no_sandbox`; ServiceError */
export async function openTools(
  teams: readonly NamedTeam[],
  services: Pick<RunServices, "tools" | "openSandbox">,
  retries: RetryOptions,
  signal: AbortSignal,
): Promise<void> {
  for (const { tools } of teams.flatMap(({ team }) => team.roles)) {
    if (tools === undefined) continue;
    if (tools.settings.some(({ name }) => name === "python")) await services.openSandbox();
    await retrying(() => services.tools.open(tools.settings), retries, signal);
  }
}
