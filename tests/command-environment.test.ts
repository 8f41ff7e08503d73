/* oxlint-disable unicorn/consistent-function-scoping */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { command, type CommandState } from "../src/environments/command/definition.ts";
import { commandOptions } from "../src/environments/command/options.ts";
import { earnedBy } from "../src/environments/command/reward.ts";
import { ServiceError, TroupeError } from "../src/errors.ts";
import { rootKey } from "../src/random.ts";
import { decodeEpisode, encodeEpisode } from "../src/rollout/codec.ts";
import { packed, unpacked, type EndedTrajectories } from "../src/rollout/ended.ts";
import { growEpisode, growEpisodes } from "../src/rollout/grow.ts";
import { nodeOf } from "../src/rollout/navigate.ts";
import type { RolloutSetting } from "../src/rollout/setting.ts";
import { scriptedEngine, type Script } from "../src/rollout/testing/scripted-engine.ts";
import { treeOf } from "../src/rollout/testing/tree.ts";
import { buildTeam } from "../src/teams/build.ts";
import { evaluatePolicies } from "../src/train/evaluate.ts";
import { folder, outcomesOf, play, settingOf, start, tokenizer } from "./support/agents.ts";

const usualFolder = process.env["TMPDIR"];

beforeAll(() => {
  // Episodes have folders of their own there.
  process.env["TMPDIR"] = folder;
});
afterAll(() => {
  if (usualFolder === undefined) delete process.env["TMPDIR"];
  else process.env["TMPDIR"] = usualFolder;
});

const dialogue = `
const first = await ask("WRITER", task.goal);
const verdict = await ask("CRITIC", first);
const second = await ask("WRITER", "again " + verdict);
console.log("some output");
console.log(JSON.stringify({ score: 0.5, roles: { writer: 0.25 } }));
`;

describe("an episode of a program", () => {
  it("is its calls, in their order, with the reward that it printed, and the same again", async () => {
    const setting = await settingOf(dialogue, {});
    const episode = await growEpisode(setting, rootKey(1), start);
    expect(await growEpisode(setting, rootKey(1), start)).toEqual(episode);
    expect(episode.actions[0]?.reply.text).not.toBe(episode.actions[3]?.reply.text);
    const { root, ends } = treeOf(episode);
    expect(ends.map(({ outcome, turns, node }) => [outcome, turns, node.id])).toEqual([
      [{ success: false, score: 0.5 }, 2, "0.0.0.0"],
      [{ success: false, score: 0.5 }, 2, "1.0.0.0"],
    ]);
    expect(root.children.map(({ id, actions }) => [id, actions])).toEqual([
      ["0", []],
      ["1", []],
    ]);
    const [first] = root.children;
    expect(first?.observations).toEqual({ writer: [{ role: "user", content: "a" }] });
    // The score and the reward of a role are given once, to its last reply.
    const own = { team: 0.5, local: 0.25, parts: { own: 0.25 } };
    const none = { team: 0, local: 0, parts: {} };
    expect(episode.actions.slice(0, 3)).toMatchObject([
      { id: "0/writer/0", parent: "0", role: "writer", turn: 0, frozen: false },
      { id: "0.0/critic/0", parent: "0.0", role: "critic", turn: 0, frozen: true },
      { id: "0.0.0/writer/0", parent: "0.0.0", role: "writer", turn: 1, frozen: false },
    ]);
    expect(episode.nodes.flatMap(({ actions }) => actions.map(({ reward }) => reward)).slice(0, 3)).toEqual([
      none,
      { team: 0.5, local: 0, parts: {} },
      own,
    ]);
    const [one] = episode.actions;
    expect([...(one?.prompt ?? [])]).toEqual([
      ...tokenizer.renderPrompt([{ role: "user", content: "a" }], true),
    ]);
    expect(ends[0]?.node.state).toMatchObject({ output: expect.stringContaining("some output") });
  });

  it("has the reward of its last line, although another process keeps its output open", async () => {
    const program = `
      await ask("WRITER", "x");
      const { spawn } = await import("node:child_process");
      console.log("0.25");
      spawn("sleep", ["3"], { stdio: ["ignore", "inherit", "ignore"], detached: true }).unref();
      await new Promise((resolve) => process.stdout.write("1", resolve));
      process.exit(0);`;
    expect(outcomesOf(await play(program, { samples: 1 }))).toEqual([[1, null]]);
  });

  it("is damaged if a bit of its packed record is another", async () => {
    const episode = await play(`await ask("WRITER", "x"); console.log(0.5);`, { samples: 1 });
    const whole = JSON.stringify(encodeEpisode(episode).json);
    const bytes = Buffer.from(await packed(episode), "base64");
    const read: string[] = [];
    // Every place in a byte, and every part of the record.
    for (let bit = 0; bit < 8 * bytes.length; bit += 7) {
      const damaged = Buffer.from(bytes);
      damaged[bit >> 3] = (damaged[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      const back = await unpacked(damaged.toString("base64"), "here").catch(() => null);
      if (back !== null) read.push(JSON.stringify(encodeEpisode(back).json));
    }
    expect(read.filter((json) => json !== whole)).toEqual([]);
  });

  it("survives its record", async () => {
    const edit = `
      const messages = [{ role: "user", content: "hi" }];
      await ask("WRITER", "hi");
      await ask("WRITER", "", { messages: [...messages, { role: "assistant", content: "made up" }, { role: "user", content: "?" }] });
      console.log(1);`;
    const episode = await play(edit);
    expect(episode.actions.map(({ branch }) => branch).slice(0, 2)).toEqual([
      undefined,
      "a reply was not sampled here",
    ]);
    const { json, prompts } = encodeEpisode(episode);
    expect(decodeEpisode(JSON.parse(JSON.stringify(json)), (hash) => prompts.get(hash), "here")).toEqual(
      episode,
    );
  });

  it("is not played again where it had ended; what a failure broke off is", async () => {
    const kept = new Map<string, string>();
    const ended: EndedTrajectories = {
      get: async (place) => {
        const contents = kept.get(JSON.stringify(place));
        return contents === undefined ? null : unpacked(contents, "here");
      },
      put: async (place, episode) => void kept.set(JSON.stringify(place), await packed(episode)),
    };
    const starts = join(folder, "starts");
    const program = `
      (await import("node:fs")).appendFileSync(${JSON.stringify(starts)}, "x");
      const said = await ask("WRITER", task.goal);
      if (process.env.HOME === "/broken" && said === "7") process.kill(process.pid, "SIGKILL");
      console.log(Math.random());`;
    const setting = await settingOf(program, { samples: 6, script: sevenOrEight, setting: { ended } });
    const home = process.env["HOME"];
    process.env["HOME"] = "/broken";
    await expect(growEpisode(setting, rootKey(1), start)).rejects.toBeInstanceOf(ServiceError);
    process.env["HOME"] = home;
    const [before, count] = [readFileSync(starts, "utf8").length, kept.size];
    expect([before, count > 0 && count < 6]).toEqual([6, true]);
    const one = await growEpisode(setting, rootKey(1), start);
    expect(readFileSync(starts, "utf8").length - before).toBe(6 - count);
    expect(JSON.stringify(await growEpisode(setting, rootKey(1), start))).toBe(JSON.stringify(one));
    const { task, ...elsewhere } = start;
    await growEpisode(setting, rootKey(1), { ...elsewhere, task: { goal: "b", was: task } });
    expect(kept.size).toBe(12);
  });
});

const sevenOrEight: Script = ({ seed }) => String(seed % 2 === 0 ? 7 : 8);

describe("its reward", () => {
  it.each<[string, object, string, readonly unknown[]]>([
    ["is a number on the last line", {}, "console.log('x\\n0.25')", [0.25, null]],
    [
      "is in a file",
      { reward: "file" },
      "(await import('node:fs')).writeFileSync(process.env.TROUPE_REWARD_FILE, '1')",
      [1, null],
    ],
    ["is the exit code", { reward: "exit-code" }, "", [1, null]],
    [
      "is 0 for another exit code",
      { reward: "exit-code" },
      "process.exit(3)",
      [0, "the program failed: it exited with code 3"],
    ],
    [
      "is 0, with a reason, for a line that is none",
      {},
      "console.log('done')",
      [0, "the last line of its output is no reward: done"],
    ],
    [
      "is 0 for a crash, whatever was printed",
      {},
      "console.log(1); throw 'no'",
      [0, expect.stringContaining("it exited with code 1")],
    ],
  ])("%s", async (_, options, program, expected) => {
    const episode = await play(`await ask("WRITER", "x");\n${program}`, { options, samples: 1 });
    expect(outcomesOf(episode)).toEqual([expected]);
  });

  /** Of a program that ended well, and wrote this on its last line. */
  const earned = (reward: string) =>
    earnedBy(
      { reward: "last-line", seats: ["writer", "critic"], timeoutSeconds: 5 },
      null,
      { exitCode: 0, problem: null, reward, output: "", errors: "" },
      {},
      { replies: [], reported: undefined },
    );

  it.each([
    ["-1", ""],
    ["1.5", ""],
    ["1e999", ""],
    ['{"score":0.5,"roles":{"writer":7}}', ""],
    ['{"score":0.5,"roles":{"writter":1}}', " (there is no role `writter`; the roles are writer, critic)"],
    ['{"score":0.5,"replies":{"msg_no":1}}', " (no answer has the id `msg_no`)"],
    ['{"score":0,"score":1}', " (it has a key twice)"],
  ])("is 0, with a reason, for %s", async (line, why) => {
    const reason = `the last line of its output is no reward: ${line}${why}`;
    expect(await earned(line)).toMatchObject({ score: 0, reason });
  });

  it("may have a mark of its encoding", async () => {
    expect(await earned("\ufeff0.5")).toEqual({ score: 0.5 });
  });

  it("comes from a grader that sees the task, the output and every reply", async () => {
    writeFileSync(
      join(folder, "grader.mjs"),
      `export default ({ task, output, exitCode, replies }) => ({
        score: task.goal === "a" && output === "out\\n" && exitCode === 0 ? replies.length / 2 : 0,
        replies: { [replies[0].id]: 0.75 },
        reason: replies.map(({ role, added, reply }) => role + added[0].content + reply.text).join(),
      });`,
    );
    const program = `await ask("WRITER", "x"); console.log("out");`;
    const changes = { options: { reward: join(folder, "grader.mjs") }, script: () => "said", samples: 1 };
    const { nodes } = await play(program, changes);
    expect(nodes.at(-1)?.actions[0]?.reward).toEqual({
      team: 0.5,
      local: 0.75,
      parts: { own: 0.75 },
      reason: "writerxsaid",
    });
  });

  it.each<[string, object]>([
    ["chat/completions", { messages: [{ role: "user", content: "x" }] }],
    ["messages", { max_tokens: 9, messages: [{ role: "user", content: "x" }] }],
    ["responses", { input: "x" }],
  ])("is of one reply by the id of its answer: %s", async (protocol, body) => {
    const program = `
      const url = process.env.OPENAI_BASE_URL_WRITER + "/${protocol}";
      const response = await fetch(url, { method: "POST", body: JSON.stringify(${JSON.stringify(body)}) });
      console.log(JSON.stringify({ score: 0.5, replies: { [(await response.json()).id]: 0.75 } }));`;
    const { nodes } = await play(program, { samples: 1 });
    expect(nodes.at(-1)?.actions[0]?.reward).toEqual({ team: 0.5, local: 0.75, parts: { own: 0.75 } });
  });

  it("comes from a grader that sees all of a long output, and whose failure is not hidden by a late answer", async () => {
    writeFileSync(
      join(folder, "whole.mjs"),
      `export default async ({ output }) => {
        await new Promise((resolve) => setTimeout(resolve, 50));
        throw new Error("it saw " + output.length + output.slice(0, 7));
      };`,
    );
    const program = `
      ask("WRITER", "x").catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, 100));
      process.stdout.write("BEGIN\\n\\n" + "y".repeat(3000), () => process.exit(0));`;
    const engine: RolloutSetting["engine"] = {
      ...scriptedEngine(tokenizer, () => ""),
      sample: (_, { signal } = {}) =>
        new Promise((_resolve, reject) => {
          signal?.addEventListener("abort", () => reject(signal.reason as Error));
        }),
    };
    const options = { reward: join(folder, "whole.mjs") };
    await expect(play(program, { options, samples: 1, setting: { engine } })).rejects.toThrow(
      "it saw 3007BEGIN\n\n",
    );
  });

  it("may be missing: then the trajectory trains nothing and has no outcome", async () => {
    const episode = await play(
      `await ask("WRITER", "x"); if (await ask("CRITIC", "y") === "1") console.log(1);`,
      {
        script: ({ prompt }) => String(prompt.length % 2),
        samples: 1,
      },
    );
    expect(episode.ends).toEqual([]);
    expect(episode.actions).toMatchObject([
      { frozen: true, masked: "nothing rewards the episode" },
      { frozen: true, masked: "nothing rewards the episode" },
    ]);
  });
});

describe("rounds, of which MAGRPO compares joint actions", () => {
  const rounds = { branch: { root: 1, inner: 1 }, keep: "all", rounds: true } as const;
  const learning = {
    roles: { writer: { policy: "p" }, critic: { policy: "p" }, judge: { policy: "p", frozen: true } },
    phases: [],
    turns: 4,
  };

  /** What is masked of each role's replies. */
  const masksOf = async (program: string, samples = 1): Promise<string> => {
    const options = { seats: ["writer", "critic", "judge"] };
    const { environment, ...setting } = await settingOf(`${program} console.log(1);`, { options });
    const scheme = { ...rounds, branch: { root: samples, inner: 1 } };
    const team = buildTeam(learning, environment);
    const { actions, ends } = await growEpisode({ ...setting, environment, team, scheme }, rootKey(1), start);
    expect(ends).toHaveLength(samples);
    return actions.map(({ role, masked }) => `${role} ${masked ?? "trains"}`).join(", ");
  };

  it("are those in which each trained role answers once; frozen ones may answer at any time", async () => {
    const program = `
      await ask("JUDGE", "a");
      for (const round of [1, 2]) {
        await Promise.all([ask("WRITER", "w" + round), ask("CRITIC", "c" + round)]);
        await ask("JUDGE", "j" + round);
        await ask("JUDGE", "k" + round);
      }`;
    expect(await masksOf(program, 2)).not.toContain("round");
  });

  const uneven = "the roles did not each answer once per round";
  it.each([
    [
      "a role answers more often",
      `await ask("WRITER", "a"); await ask("CRITIC", "b"); await ask("WRITER", "c");`,
    ],
    [
      "a role answers twice before another",
      `for (const role of ["WRITER", "WRITER", "CRITIC", "CRITIC"]) await ask(role, "a" + Math.random());`,
    ],
    ["a role answers alone", `await ask("WRITER", "a");`],
    [
      "an answer did not arrive",
      `await ask("CRITIC", "b");
      const url = process.env.OPENAI_BASE_URL_WRITER + "/chat/completions";
      const body = JSON.stringify({ messages: [{ role: "user", content: "x" }] });
      await fetch(url, { method: "POST", body, signal: AbortSignal.timeout(1) }).catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, 300));`,
    ],
  ])("are none where %s: the trajectory is masked", async (_, program) => {
    const masks = await masksOf(program);
    expect(masks).toContain(uneven);
    expect(masks).not.toContain("trains");
  });
});

it("an evaluation needs the outcome of every episode: one that nothing rewards is lost, not solved", async () => {
  const { services, ...setting } = await settingOf(`await ask("WRITER", "x");`, {});
  const evaluated = evaluatePolicies({ ...setting, services, tasks: 1, temperature: 1, topP: 1 });
  await expect(evaluated).rejects.toMatchObject({
    code: "service",
    message: expect.stringContaining("Nothing rewards the episode"),
  });
});

describe("a program that fails", () => {
  it("by silence is ended, and earns nothing", async () => {
    const options = { timeoutSeconds: 5 };
    const episode = await play(
      `await ask("WRITER", "x"); await new Promise(() => setInterval(() => {}, 1000));`,
      {
        options,
        samples: 1,
      },
    );
    expect(outcomesOf(episode)).toEqual([
      [0, "the program failed: it neither called a role nor ended for 5 seconds"],
    ]);
    expect(episode.actions).toHaveLength(1);
  });

  it("before it calls anybody leaves a trajectory without actions", async () => {
    const episode = await play("process.exit(2)", { samples: 1 });
    expect(episode).toMatchObject({ actions: [], ends: [{ node: "0", outcome: { score: 0 } }] });
  });

  it("by the hand of somebody who killed it, as a shell around it reports, is no failure of its own", async () => {
    const options = { run: ["sh", "-c", "echo 1; sh -c 'kill -9 $$'"] };
    await expect(play("", { options, samples: 1 })).rejects.toBeInstanceOf(ServiceError);
  });

  it("because there is no such program ends the run, with what to do", async () => {
    const options = { run: ["no-such-program-here"] };
    await expect(play("", { options })).rejects.toMatchObject({
      code: "bad_recipe",
      message: expect.stringContaining("environment.run: no-such-program-here cannot be started"),
    });
  });

  it("does not see secrets, nor leave its descendants behind", async () => {
    process.env["TROUPE_TEST_SECRET"] = "sesame-open";
    const program = `
      await ask("WRITER", "x");
      const { spawn } = await import("node:child_process");
      const { pid } = spawn("sleep", ["1000"], { stdio: "ignore" });
      console.log("pid " + pid + " " + process.env.TROUPE_TEST_SECRET);
      console.log(1);
      process.exit(0);`;
    const episode = await play(program, { samples: 1 });
    delete process.env["TROUPE_TEST_SECRET"];
    const { output } = nodeOf(episode, "0.0").state as CommandState;
    const pid = Number(/pid (\d+) undefined/.exec(output)?.[1]);
    expect(pid).toBeGreaterThan(1);
    // It ends a moment later; where nobody waits for it, it stays as a zombie.
    const file = `/proc/${pid}/status`;
    while (existsSync(file) && !/^State:\s+Z/m.test(readFileSync(file, "utf8"))) await delay(10);
  });
});

function failing(error: Error): RolloutSetting["engine"] {
  return {
    sample: async () => {
      throw error;
    },
  };
}

describe("a failure of ours is no reward", () => {
  it("of the engine: the program is ended and the episode is dropped", async () => {
    const program = `await ask("WRITER", "x").catch(() => null); console.log(1); setInterval(() => {}, 1000);`;
    const setting = await settingOf(program, { setting: { engine: failing(new ServiceError("gone")) } });
    const { episodes, failed } = await growEpisodes(setting, rootKey(1), [start]);
    expect(episodes).toEqual([]);
    expect(failed).toMatchObject([{ path: start.path, cause: { message: "gone" } }]);
  });

  it("of a program that somebody ends: it is started again, with the same keys", async () => {
    const marker = join(folder, "killed");
    const program = `
      const said = await ask("WRITER", "x");
      const fs = await import("node:fs");
      if (!fs.existsSync(${JSON.stringify(marker)})) {
        fs.writeFileSync(${JSON.stringify(marker)}, "");
        process.kill(process.pid, "SIGKILL");
      }
      console.log(1);`;
    const retries = { retries: 1, firstDelay: 0, longestDelay: 0 };
    const setting = await settingOf(program, { samples: 1, setting: { retries } });
    const episode = await growEpisode(setting, rootKey(1), start);
    expect(episode.ends).toMatchObject([{ outcome: { score: 1 } }]);
    expect(await growEpisode(setting, rootKey(1), start)).toEqual(episode);
  });

  it("a bug: it ends the run", async () => {
    const setting = await settingOf(`await ask("WRITER", "x");`, {
      setting: { engine: failing(new TypeError("bug")) },
    });
    await expect(growEpisode(setting, rootKey(1), start)).rejects.toThrow("bug");
  });

  it("a cancelled episode: its programs end at once", async () => {
    const stop = new AbortController();
    const program = `await ask("WRITER", "x"); setInterval(() => {}, 1000);`;
    const setting = await settingOf(program, {
      script: () => {
        setTimeout(() => stop.abort(new TroupeError("cancelled", "enough")), 20);
        return "x";
      },
      setting: { signal: stop.signal },
    });
    await expect(growEpisode(setting, rootKey(1), start)).rejects.toMatchObject({ code: "cancelled" });
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith("troupe-episode-"))).toEqual([]);
  });
});

it("a task may be longer than a variable, in bytes: it is on the standard input", async () => {
  const setting = await settingOf("", {});
  const file = join(folder, "long.mjs");
  writeFileSync(
    file,
    `let text = "";
    for await (const part of process.stdin.setEncoding("utf8")) text += part;
    console.log(process.env.TROUPE_TASK === undefined && JSON.parse(text).goal.length === 60000 ? 1 : 0);`,
  );
  const tasks = join(folder, "tasks.jsonl");
  const environment = await command.create(
    commandOptions.parse({
      run: [process.execPath, file],
      seats: ["writer", "critic"],
      dataset: { files: { train: tasks, heldOut: tasks } },
    }),
  );
  const task = { goal: "漢".repeat(60_000) };
  const episode = await growEpisode({ ...setting, environment }, rootKey(1), { ...start, task });
  expect(outcomesOf(episode).map(([score]) => score)).toEqual([1, 1]);
});
