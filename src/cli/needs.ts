/** What a team needs of its surroundings: this machine, its tools. */
import type { Environment, Services } from "../environments/environment.ts";
import { toolsetOf } from "../environments/tool-use.ts";
import { showText } from "../format.ts";
import { statOf } from "../present.ts";
import { layoutOf } from "../runs/layout.ts";
import { checkSandbox } from "../sandbox/from-environment.ts";
import type { Team } from "../teams/team.ts";

/** Says what the environment needs and this machine lacks, before models are loaded. @throws TroupeError */
export async function checkMachine(environment: Environment): Promise<void> {
  await environment.checkMachine?.();
  if (environment.runsPrograms === true) await checkSandbox(environment.packages);
}

/** Whether programs of the run were recorded: commands that repeat it may need nothing of this machine. */
export async function hasPrograms(run: string): Promise<boolean> {
  const recorded = await statOf(layoutOf(run).programs);
  return recorded !== null && recorded.size > 0;
}

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
