/** The tools of a team's roles, for people. */
import type { Services } from "../environments/environment.ts";
import { toolsetOf } from "../environments/tool-use.ts";
import { showText } from "../format.ts";
import type { Team } from "../teams/team.ts";

const longest = 90;

/** `solver may call, at most 4 times in a turn:`, then a line for each tool. @throws TroupeError */
export async function toolLines({ roles }: Team, services: Services): Promise<string[]> {
  const lines: string[] = [];
  for (const { name, tools } of roles) {
    if (tools === undefined) continue;
    const { definitions } = await toolsetOf(tools.settings, { services });
    const times = tools.calls === 1 ? "once" : `at most ${tools.calls} times`;
    lines.push(`${name} may call, ${times} in a turn:`);
    lines.push(...definitions.map((tool) => `  ${tool.name}: ${showText(tool.description ?? "", longest)}`));
  }
  return lines;
}
