/** Whether the tools of roles exist and can be used. */
import type { Environment } from "../../../environments/environment.ts";
import { isPresentSync } from "../../../present.ts";
import type { ToolSettings } from "../../../tools/settings.ts";
import type { Recipe } from "../../schema.ts";
import { below, type Problem, type Rule } from "../rule.ts";

type Role = Recipe["team"]["roles"][string];

export const tools: Rule = ({ recipe, environment }) => [
  ...below(["team"], inTeam(recipe.team, recipe, environment)),
  ...Object.entries(recipe.evaluation.compare).flatMap(([name, team]) =>
    below(["evaluation", "compare", name], inTeam(team, recipe, environment)),
  ),
];

function inTeam(
  { roles }: Recipe["team"],
  { policies }: Recipe,
  environment: Environment,
): readonly Problem[] {
  return Object.entries(roles).flatMap(([name, role]) => {
    const path = ["roles", name];
    if (role.tools === undefined) return below(path, withoutTools(role));
    const seat = environment.seats[role.seat ?? name];
    const taken = seat?.tools?.map((tool) => tool.name) ?? [];
    return below(path, [
      ...sameNames(role.tools, taken),
      ...role.tools.flatMap(missingIndex),
      ...smallVocabulary(policies[role.policy]),
    ]);
  });
}

function withoutTools({ toolCalls }: Role): readonly Problem[] {
  if (toolCalls === undefined) return [];
  return [
    { path: ["toolCalls"], problem: "the role has no tools to call", fix: "remove it, or add `tools`" },
  ];
}

/** A server's tools are not known before it runs. */
function sameNames(given: readonly ToolSettings[], taken: readonly string[]): readonly Problem[] {
  const names = new Set(taken);
  return given.flatMap((tool, index) => {
    if (tool.name === "mcp") return [];
    const isTaken = names.has(tool.as);
    names.add(tool.as);
    const problem = `there is another tool named \`${tool.as}\``;
    return isTaken ? [{ path: ["tools", index, "as"], problem, fix: "give it another name" }] : [];
  });
}

function missingIndex(tool: ToolSettings, index: number): readonly Problem[] {
  if (tool.name !== "search" || isPresentSync(tool.index)) return [];
  return [
    {
      path: ["tools", index, "index"],
      problem: `${tool.index} does not exist`,
      fix: "give JSON lines with `text` and `title`, or a folder of .txt and .md files",
    },
  ];
}

function smallVocabulary(policy: Recipe["policies"][string] | undefined): readonly Problem[] {
  if (policy === undefined || "path" in policy.model) return [];
  return [
    {
      path: ["tools"],
      problem: `a preset knows only its environment's words, and cannot call tools`,
      fix: "use a model directory whose chat template has tools: `model: { path: … }`",
    },
  ];
}
