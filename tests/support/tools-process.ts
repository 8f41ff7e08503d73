/**
 * A process that trains the echo for a few steps in the folder `run`, with a role that calls Python, then search, and is
 * killed when its n-th step has been sampled, but not trained. Arguments: n (0: never), the model's directory, and settings of
 * another tool instead of search, `town` of an MCP server (tests/chaos/town-server.ts), as JSON.
 */
import { writeFileSync } from "node:fs";
import type { Engine, SampledSequence, SampleRequest } from "../../src/engines/engine.ts";
import { openEngine } from "../../src/engines/open.ts";
import { tinyRecipe } from "../../src/train/testing/tiny-recipe.ts";
import { train } from "../../src/train/run.ts";
import { loadTokenizer, type Tokenizer } from "../../src/text/tokenizer.ts";
import { echo } from "./echo.ts";

const [, , killAt = "0", model = "", other] = process.argv;
writeFileSync("towns.jsonl", '{"text":"The town of zero."}\n{"text":"The town of one and two."}\n');
const last =
  other === undefined
    ? { name: "search" as const, index: "towns.jsonl" }
    : (JSON.parse(other) as { readonly name: "mcp"; readonly url: string });
const caller = {
  policy: "shared",
  prompt: "",
  maxTokens: 200,
  tools: ["python" as const, last],
  toolCalls: 3,
};
const { recipe, algorithm } = tinyRecipe({
  team: {
    roles: { left: caller, right: { policy: "shared", prompt: "", maxTokens: 4 } },
    phases: [["left", "right"]],
    turns: 2,
  },
  policies: { shared: { model: { path: model } } },
  algorithm: { name: "at-grpo", samples: 2 },
  warmStart: undefined,
  train: { steps: 4, tasksPerStep: 2, learningRate: 0.003 },
  evaluation: { tasks: 2 },
  checkpoint: { every: 2 },
  failures: { retries: 3, firstDelay: 0.02, longestDelay: 0.1, limit: 0.5 },
});

/** The engine's own tokens, except that a prompt without a tool's answers is followed by a call that depends on them. */
function calling(engine: Engine, tokenizer: Tokenizer): Engine["sample"] {
  return async (request, options) => {
    const sampled = await engine.sample(request, options);
    const callOf = nextCall(tokenizer.decode(request.prompt));
    if (callOf === null) return sampled;
    return Promise.all(sampled.map((one) => withText(engine, tokenizer, request, one, callOf(one))));
  };
}

/** Null: the role has no tools, or both have answered. */
function nextCall(prompt: string): ((sampled: SampledSequence) => string) | null {
  if (!prompt.includes('"python"')) return null;
  if (!prompt.includes("printed"))
    return (sampled) => call("python", { code: `print("printed", ${drawn(sampled)} * 7)` });
  if (prompt.includes("The town of")) return null;
  if (other !== undefined) return (sampled) => call("town", { number: drawn(sampled) });
  return (sampled) => call("search", { query: ["zero", "one", "two"][drawn(sampled)] });
}

function call(name: string, given: object): string {
  return `<tool_call>${JSON.stringify({ name, arguments: given })}</tool_call>`;
}

function drawn({ tokens }: SampledSequence): number {
  return (tokens[0] ?? 0) % 3;
}

async function withText(
  engine: Engine,
  tokenizer: Tokenizer,
  { policy, prompt }: SampleRequest,
  sampled: SampledSequence,
  text: string,
): Promise<SampledSequence> {
  const tokens = Int32Array.from([...tokenizer.encode(text), tokenizer.endTokens[0] ?? 0]);
  const { logprobs } = await engine.forward([{ policy, prompt, continuations: [{ tokens }] }]);
  const { policyVersion } = sampled;
  return { tokens, logprobs: logprobs[0] as Float32Array, stopReason: "stop", policyVersion };
}

const engine = openEngine({ threads: 1 });
const sample = calling(engine, loadTokenizer(model));
let sampledSteps = 0;
await train({
  recipe,
  algorithm,
  environment: echo,
  directory: "run",
  engine: new Proxy(engine, {
    get: (target, name) => {
      const member: unknown = name === "sample" ? sample : Reflect.get(target, name, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  }),
  onEvent: (event) => {
    if (event.type !== "phase" || event.phase !== "training") return;
    sampledSteps += 1;
    if (sampledSteps === Number(killAt)) process.kill(process.pid, "SIGKILL");
  },
});
await engine.close();
