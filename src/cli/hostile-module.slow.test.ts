import { describe, expect, it } from "vitest";
import { type Outcome, runCommand, troupe } from "./testing/command.ts";
import { folderWith, moduleRecipe } from "./testing/folder.ts";

/** Sets the window's title, clears the screen, colours what follows (with the one-character form too), turns text around. */
const controls = "\\u001b]0;title\\u0007\\u001b[2J\\u009b31m\\u202E\\u007f";

/** Everything that it gives people to read is hostile; `mode` says how else it misbehaves. */
const hostile = `const text = "x${controls}";
const seat = { purpose: text, prompt: text, maxTokens: 2 };
const misbehave = {
  never: () => new Promise(() => {}),
  stray: () => void Promise.reject(new Error(text)),
  exit: () => process.exit(0),
  throw: () => { throw new Error(text); },
  timer: () => void setInterval(() => {}, 1000),
  circular: (state) => { state.own = state; },
};
export default {
  name: "hostile", summary: text, options: { parse: (given) => ({ mode: "", ...given }) },
  create: ({ mode }) => ({
    name: "hostile",
    seats: { one: seat },
    tasks: { train: { size: 2, at: (i) => ({ i, text }) }, heldOut: { size: 2, at: (i) => ({ i: 2 + i, text }) } },
    start: (task) => task,
    observe: () => "x " + text,
    async step(state) {
      const given = { ...state };
      await misbehave[mode]?.(given);
      const reward = { team: 0.5, local: 0, parts: {}, reason: text };
      return { state: { ...given, text: text + (globalThis.process.env.CHANGED ?? "") }, rewards: { one: reward }, done: true };
    },
    outcome: () => ({ success: false, score: 0 }),
    render: ({ text }) => text,
    oracle: { words: ["x", text], solve: () => text },
  }),
};`;

const cwd = folderWith({
  "hostile.mjs": hostile,
  "hostile.yaml": moduleRecipe("hostile", { module: "./hostile.mjs" }),
});

async function shown(args: readonly string[], input = "", env = {}, start = runCommand): Promise<Outcome> {
  const outcome = await start(args, { cwd, input, env });
  // Every control and format character but the end of a line: nothing printed here has another one.
  expect(outcome.stdout + outcome.stderr).not.toMatch(/[^\P{C}\n]/u);
  return outcome;
}

/** In a process of its own, which the module may disturb. */
const shownBy = (mode: string): Promise<Outcome> =>
  shown(["train", "hostile.yaml", `environment.mode=${mode}`, "--run", mode], "", {}, troupe);

describe("a module whose texts are escape sequences", () => {
  it("controls no terminal, whatever shows them", async () => {
    const trained = await shown(["train", "hostile.yaml"]);
    expect(trained).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/turn 1 one: .*, x \]0;title/) as string,
    });
    const played = await shown(["play", "hostile.yaml"], "h\n?\nx\nq\n");
    expect(played).toMatchObject({ code: 0, stdout: expect.stringContaining("x ]0;title") as string });
    const replayed = await shown(["replay", "hostile"], "", { CHANGED: "!" });
    expect(replayed).toMatchObject({ code: 1, stdout: expect.stringContaining("state: recorded") as string });
    const scored = await shown(["score", "hostile.yaml", "-"], '{"task":0,"actions":[{"one":"x"}]}');
    const [result] = scored.stdout.split("\n");
    expect(JSON.parse(result ?? "")).toMatchObject({
      rewards: [{ one: { reason: JSON.parse(`"x${controls.replaceAll("\\\\", "\\")}"`) as string } }],
    });
    expect((await shown(["tasks", "hostile.yaml"])).code).toBe(0);
    expect((await shown(["train", "hostile.yaml", "--run", "json", "--json"])).code).toBe(0);
  });

  it.each(["throw", "stray"])("fails with its message alone where it does a `%s`", async (mode) => {
    const { code, stderr } = await shownBy(mode);
    expect(code).toBe(1);
    const threw =
      /^error: (?:a module|`\w+` of the environment .*) threw "Error: x \]0;title .*" \(hostile\.mjs:\d+:\d+\); TROUPE_DEBUG=1 shows the stack\.\n$/;
    // What precedes it is progress.
    expect(stderr.slice(stderr.indexOf("error: "))).toMatch(threw);
  });
});

it.each([
  ["never", "nothing is left to wait for: a promise, such as of a module's function, never settles"],
  ["exit", "something, such as a module, ended the process before the command was done"],
  ["circular", "an episode cannot be recorded: its task, states and observations must be plain JSON"],
])("a module that does `%s` ends the command with an error", async (mode, problem) => {
  const { code, stderr } = await shownBy(mode);
  expect(code).toBe(1);
  expect(stderr).toContain(`error: ${problem}`);
  expect(stderr).not.toContain("This is a bug");
});

it("a module's timer does not keep a command that is done", async () => {
  expect((await shownBy("timer")).code).toBe(0);
});
