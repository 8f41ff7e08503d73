import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { runCommand } from "../testing/command.ts";
import { folderWith } from "../testing/folder.ts";

const example = fileURLToPath(new URL("../../../examples/translation", import.meta.url));

const seat = '{ purpose: "guesses", prompt: "Guess.", maxTokens: 2 }';
/** Its states contain a function, which JSON loses. */
const forgetful = `export const forgetful = {
  name: "forgetful", summary: "", options: { parse: (given) => given },
  create: () => ({
    name: "forgetful",
    seats: { one: ${seat} },
    tasks: { train: { size: 1, at: () => 0 }, heldOut: { size: 1, at: () => 1 } },
    start: (task) => ({ task, when: new Date(0) }),
    observe: () => "guess",
    step: (state) => ({ state, rewards: { one: { team: 0, local: 0, parts: {}, reason: "wrong" } }, done: true }),
    outcome: () => ({ success: false, score: 0 }),
    render: () => "…",
  }),
};`;
const zero = `import { algorithmFrom } from "troupe";
export default { options: { parse: (given) => given }, build: () => ({ ...algorithmFrom("grpo"), scale: () => 0 }) };`;

const cwd = folderWith({ "forgetful.js": forgetful, "zero.ts": zero });

const check = (...args: string[]) => runCommand(["check", ...args], { cwd });

describe("troupe check", () => {
  it("passes valid environments and algorithms, included ones too", async () => {
    const environment = await check(
      join(example, "translation.ts"),
      "language=french",
      "milliseconds=0",
      "--tasks",
      "5",
    );
    expect(environment).toMatchObject({ code: 0, stderr: "" });
    expect(environment.stdout).toMatch(/^✓ it loads and accepts its options\n(✓ .*\n)+\nall \d+ passed\n$/);
    const algorithm = await check(join(example, "median.ts"), "samples=4", "--json");
    expect(algorithm.code).toBe(0);
    const document = JSON.parse(algorithm.stdout) as { passed: boolean; checks: { name: string }[] };
    expect(document.passed).toBe(true);
    expect(document.checks.map(({ name }) => name)).toContain("the scale is finite and positive");
    expect((await check("grpo")).code).toBe(0);
    const atOnce = ["thin-ice", "--tasks", "5", "--phases", "[[red, blue]]"];
    expect((await check(...atOnce)).code).toBe(0);
  });

  it("reports the reason of each failed check, and exits with 1", async () => {
    const environment = await check("forgetful.js", "--export", "forgetful", "--tasks", "1");
    expect(environment.code).toBe(1);
    expect(environment.stdout).toMatch(/^✗ states survive JSON\n {4}\S.*$/m);
    expect(environment.stdout).toMatch(/\n\d+ of \d+ failed\nhint: without `oracle\.words` .*\n$/);
    const algorithm = await check("zero.ts", "--json");
    expect(algorithm.code).toBe(1);
    const { checks } = JSON.parse(algorithm.stdout) as { checks: { name: string; reason?: string }[] };
    expect(checks.find(({ name }) => name === "the scale is finite and positive")?.reason).toBe(
      "the scale of the returns [0] is 0",
    );
  });

  it("names the line of the module that threw, and what a reward has to be", async () => {
    const broken = forgetful.replace("observe: () =>", "observe: (state) => state.none.length +");
    await writeFile(join(cwd, "broken.js"), broken);
    const threw = await check("broken.js", "--export", "forgetful", "--tasks", "1");
    expect(threw.stdout).toMatch(
      /✗ any text is an action\n {4}Cannot read .*'length'\) \(broken\.js:8:36\)\n/,
    );
    const bare = forgetful.replace(/\{ team: 0.*?"wrong" \}/, "1");
    await writeFile(join(cwd, "bare.js"), bare);
    const rewarded = await check("bare.js", "--export", "forgetful", "--tasks", "1");
    const expected =
      "the reward of seat one is 1; expected null, or { team, local, parts, reason? } with finite numbers";
    expect(rewarded.stdout).toContain(expected);
  });

  it("rejects phases with unknown seats", async () => {
    for (const phases of ["[[red, bleu]]", "red"]) {
      const { code, stderr } = await check("thin-ice", "--phases", phases);
      expect(code).toBe(2);
      expect(stderr).toMatch(
        phases === "red" ? /expected such as \[\[red, blue\]\]/ : /no seat bleu; did you mean `blue`/,
      );
    }
  });

  it.each([
    ["nowhere.ts", /there is no file .*nowhere\.ts/],
    ["forgetful.js", /has no default export; add `export: forgetful`/],
    [
      `${example}/translation.ts langauge=french`,
      /environment\.langauge: unknown key; did you mean `language`\?/,
    ],
    [`${example}/median.ts samples=1`, /algorithm\.samples: expected a whole number, at least 2, found 1/],
  ])("%s cannot be checked, and the reason is printed", async (line, reason) => {
    const { code, stdout } = await check(...line.split(" "));
    expect(code).toBe(1);
    expect(stdout).toMatch(/^✗ it loads and accepts its options\n/);
    expect(stdout).toMatch(reason);
    expect(stdout).toMatch(/\n1 of 1 failed\n$/);
  });
});
