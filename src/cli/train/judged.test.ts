/** Judges as a user has them: an environment, a judge program, a recipe, and the commands on them. */
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Verdict } from "../../rollout/episode.ts";
import type { Calibration } from "../../runs/records.ts";
import { coloursModule, coloursRecipe } from "../testing/colours.ts";
import { jsonLines, runCommand } from "../testing/command.ts";
import { folderWith } from "../testing/folder.ts";

const judge = (score: string) => `
import { createInterface } from "node:readline";
import { appendFileSync } from "node:fs";
appendFileSync("started", ".");
for await (const line of createInterface({ input: process.stdin })) {
  const { id, observation, reply } = JSON.parse(line);
  const isRight = reply.text.startsWith(observation.split(" ")[1]);
  console.log(JSON.stringify({ id, score: ${score}, explanation: isRight ? "right" : "wrong" }));
}
`;

const cwd = folderWith({
  "colours.ts": coloursModule,
  "colours.yaml": coloursRecipe({
    algorithm: { name: "at-grpo", samples: 4 },
    judge: { name: "command", run: ["node", "judge.mjs"] },
    failures: { retries: 0 },
  }),
  "judge.mjs": judge("isRight ? 1 : 0"),
  "other.mjs": judge("isRight ? 0.5 : 0.25"),
});

const run = (...args: readonly string[]) => runCommand(args, { cwd });
const starts = async () => (await readFile(join(cwd, "started"), "utf8")).length;

interface Line {
  readonly recorded: { readonly return: number } | null;
  readonly now: { readonly return: number | null };
  readonly verdict?: Verdict;
}

const rescored = (...args: readonly string[]) => rescoredOf("colours", ...args);

async function rescoredOf(name: string, ...args: readonly string[]): Promise<Line[]> {
  const outcome = await run("rescore", name, "--json", ...args);
  expect(outcome).toMatchObject({ code: 0, stderr: "" });
  return jsonLines(outcome);
}

describe("a recipe with a judge", () => {
  it("trains on its verdicts, and shows them", async () => {
    const { code, stderr } = await run("train", "colours.yaml");
    expect(code).toBe(0);
    expect(stderr).toMatch(/turn 1 speaker: .* \[(0\.00|1\.00) \+ 0\.00, (right|wrong)\]/);
    expect(stderr).not.toContain("without a reward");
    expect(stderr).not.toContain("warning");
  });

  it("is evaluated with the judge if it judges evaluations", async () => {
    const judged = "extends: colours.yaml\njudge: { evaluation: true }\n";
    await writeFile(join(cwd, "judged.yaml"), judged);
    const before = await starts();
    expect(JSON.parse((await run("eval", "colours", "--json")).stdout)).not.toHaveProperty("judged");
    expect(await starts()).toBe(before);
    const { code, stdout } = await run("eval", "colours", "--recipe", "judged.yaml", "--json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ tasks: 3, judged: expect.any(Number) as number });
    expect(await starts()).toBeGreaterThan(before);
  });

  it("mixes normalised scores with outcomes, and is compared with them in evaluations", async () => {
    const options = "outcomeWeight: 0.25, normalise: role, evaluation: true";
    const changes = `algorithm: { name: reinforce, reward: action, samples: 4 }\njudge: { ${options} }\n`;
    await writeFile(join(cwd, "mixed.yaml"), `extends: colours.yaml\nname: mixed\n${changes}`);
    expect(await run("train", "mixed.yaml")).toMatchObject({ code: 0 });
    const found = await rescoredOf("mixed", "--judge", "own");
    expect(found.map(({ now }) => now)).toEqual(found.map(({ recorded }) => recorded));
    // One role, so normalising changes nothing but the last bits. The judge also likes "red red", which is no success.
    const rewards = new Set(found.map(({ now }) => Math.abs(now.return ?? NaN).toFixed(12)));
    for (const reward of rewards)
      expect(["0.000000000000", "0.750000000000", "1.000000000000"]).toContain(reward);
    const lines = (await readFile(join(cwd, "runs", "mixed", "evaluations.jsonl"), "utf8"))
      .trim()
      .split("\n");
    for (const line of lines) {
      const { calibration } = JSON.parse(line) as { calibration: Calibration };
      expect(calibration).toEqual({
        correlation: calibration.correlation,
        roles: { speaker: calibration.correlation },
      });
      expect(calibration.correlation ?? 1).toBeGreaterThan(0);
    }
    expect((await run("eval", "mixed")).stdout).toMatch(
      /^rank correlation of scores and outcomes .*: speaker /m,
    );
  });

  it("is rescored with recorded verdicts, without the program", async () => {
    await rename(join(cwd, "judge.mjs"), join(cwd, "away.mjs"));
    const before = await starts();
    const found = await rescored("--judge", "own");
    expect(found).toHaveLength(3 * 4 * 4);
    expect(found.map(({ now }) => now)).toEqual(found.map(({ recorded }) => recorded));
    expect(new Set(found.map(({ verdict }) => JSON.stringify(verdict)))).toContain(
      '{"score":0,"explanation":"wrong"}',
    );
    expect(await starts()).toBe(before);
    expect((await run("replay", "colours")).stdout).toContain("no differences");
  });

  const other = "{name: command, run: [node, other.mjs]}";

  it("is rescored by another program, which is asked once", async () => {
    const before = await starts();
    const found = await rescored("--judge", other);
    const pairs = found.map(({ recorded, now }) => `${recorded?.return} ${now.return}`);
    expect(new Set(pairs)).toEqual(new Set(["0 0.25", "1 0.5"]));
    expect(await starts()).toBeGreaterThan(before);
    const asked = await starts();
    expect(await rescored("--judge", other)).toEqual(found);
    expect(await rescored("--judge", other, "alpha=2")).not.toEqual(found);
    expect(await starts()).toBe(asked);
  });

  it("reports failed verdicts, and what an option of the judge should be", async () => {
    const { code, stdout } = await run("rescore", "colours", "--judge", "own", "judge.attempt=2");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^48 verdicts failed\. The first, in train\/1\/0: .*code 1.*Cannot find module/m);
    const wrong = await run("rescore", "colours", "judge.as=both");
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("judge.as: expected") as string });
  });

  it("is rejected if its program does not exist", async () => {
    const { code, stderr } = await run("train", "colours.yaml", "--fresh");
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("judge.run: there is no file judge.mjs in ") as string,
    });
  });
});
