/** Programs in the sandbox: real ones, which look for a way out, and which work through the gateway. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startGroup } from "../src/calls/child.ts";
import type { CommandState } from "../src/environments/command/definition.ts";
import { ServiceError } from "../src/errors.ts";
import { growEpisode } from "../src/rollout/grow.ts";
import { nodeOf } from "../src/rollout/navigate.ts";
import { rootKey } from "../src/random.ts";
import type { Episode } from "../src/rollout/episode.ts";
import { folder, outcomesOf, play, settingOf, start } from "./support/agents.ts";

const home = mkdtempSync(join(tmpdir(), "troupe-home-"));
const usualFolder = process.env["TMPDIR"];
// Folders of episodes of others, who run at the same time, are elsewhere.
process.env["TMPDIR"] = mkdtempSync(join(tmpdir(), "troupe-temporary-"));
const server = createServer((connection) => connection.destroy());
beforeAll(async () => {
  writeFileSync(join(home, "secret"), "sesame");
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterAll(() => {
  server.close();
  for (const one of [home, tmpdir()]) rmSync(one, { recursive: true });
  if (usualFolder === undefined) delete process.env["TMPDIR"];
  else process.env["TMPDIR"] = usualFolder;
});

async function works(): Promise<string> {
  const setting = await settingOf("", { options: { sandbox: true } });
  try {
    await setting.environment.checkMachine?.();
    return "";
  } catch (error) {
    return (error as Error).message;
  }
}

const problem = await works();

const sandboxed = (program: string, options: object = {}): Promise<Episode> =>
  play(program, { samples: 1, options: { sandbox: true, ...options } });

const outputOf = (episode: Episode): string =>
  (nodeOf(episode, episode.ends[0]?.node ?? "").state as CommandState).output;

/** Ends with what it did although it must not. */
const hostile = (): string => `
await ask("WRITER", "x");
const fs = await import("node:fs");
const net = await import("node:net");
const { spawnSync } = await import("node:child_process");
const reached = [];
const attempt = (what, action) => {
  try {
    if (action() !== false) reached.push(what);
  } catch {}
};
const connects = (place) => new Promise((resolve) => {
  const socket = net.connect(place, () => resolve(true)).on("error", () => resolve(false));
  socket.setTimeout(3000, () => resolve(false));
});
attempt("home", () => fs.readFileSync(${JSON.stringify(join(home, "secret"))}));
attempt("listing", () => fs.readdirSync("/root").length > 0 || fs.readdirSync("/home").length > 0);
attempt("HOME", () => process.env.HOME !== "/tmp");
attempt("shadow", () => fs.readFileSync("/etc/shadow"));
for (const place of ["/usr/x", "/etc/x", "/x", "/run/x", ${JSON.stringify(join(folder, "x"))}, ${JSON.stringify(join(home, "x"))}])
  attempt("writing " + place, () => fs.writeFileSync(place, ""));
attempt("variable", () => process.env.TROUPE_TEST_SECRET !== undefined);
const pids = fs.readdirSync("/proc").filter((name) => /^\\d+$/.test(name));
attempt("processes", () => pids.length > 12);
attempt("kill", () => process.kill(${process.pid}, 0) && !pids.includes("${process.pid}"));
attempt("environment", () => pids.some((pid) => {
  try { return fs.readFileSync("/proc/" + pid + "/environ", "utf8").includes("TROUPE_TEST_SECRET"); } catch { return false; }
}));
attempt("mount", () => spawnSync("mount", ["-o", "remount,rw", "/usr"]).status === 0);
attempt("sysctl", () => fs.writeFileSync("/proc/sys/kernel/domainname", "x"));
for (const host of ["127.0.0.1", "::1"])
  if (await connects({ host, port: ${(server.address() as AddressInfo | null)?.port ?? 0} })) reached.push("port");
if (await connects({ host: "1.1.1.1", port: 53 })) reached.push("internet");
for (const path of ["/run/docker.sock", "/var/run/docker.sock", "/run/dbus/system_bus_socket"])
  if (await connects({ path })) reached.push(path);
fs.writeFileSync("/tmp/own", "x");
attempt("setsid", () => spawnSync("setsid", ["-f", "sleep", "987654"], { stdio: "ignore" }).status !== 0);
console.log(JSON.stringify(reached));
console.log(reached.length === 0 ? 1 : 0);`;

it("needs bubblewrap: without it a training is rejected before it starts, with what to do", async () => {
  const usual = process.env["PATH"];
  process.env["PATH"] = home;
  const setting = await settingOf("", { options: { sandbox: true } });
  const checked = Promise.resolve(setting.environment.checkMachine?.());
  await expect(checked.finally(() => (process.env["PATH"] = usual))).rejects.toMatchObject({
    code: "no_sandbox",
    message: expect.stringMatching(/bwrap ENOENT.*apt-get install bubblewrap.*remove `sandbox`/s),
  });
});

describe.runIf(problem === "")(`in the sandbox ${problem}`, () => {
  it("a program may leave more folders inside one another than a path can name", async () => {
    const episode = await sandboxed(`
      const fs = await import("node:fs");
      await ask("WRITER", "x");
      process.chdir("/tmp");
      for (let depth = 0; depth < 200; depth++) {
        fs.mkdirSync("folder".repeat(10));
        process.chdir("folder".repeat(10));
      }
      fs.chmodSync(".", 0);
      console.log(1);`);
    expect(outcomesOf(episode)).toEqual([[1, null]]);
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith("troupe-episode-"))).toEqual([]);
  });

  it("a program reaches nothing but the gateway, and leaves nothing behind", async () => {
    process.env["TROUPE_TEST_SECRET"] = "sesame-open";
    const episode = await sandboxed(hostile());
    delete process.env["TROUPE_TEST_SECRET"];
    expect(outputOf(episode)).toMatch(/^\[\]\n/);
    expect(outcomesOf(episode)).toEqual([[1, null]]);
    expect(episode.actions).toHaveLength(1);
    const left = readdirSync("/proc").filter(
      (pid) => /^\d+$/.test(pid) && existsSync(`/proc/${pid}/cmdline`) && commandOf(pid).includes("987654"),
    );
    expect(left).toEqual([]);
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith("troupe-episode-"))).toEqual([]);
  });

  it("a shell script with curl, and its reward in a file, works as outside", async () => {
    const script = `
      curl -sS "$OPENAI_BASE_URL_WRITER/chat/completions" -H "authorization: Bearer $OPENAI_API_KEY_WRITER" \\
        -d '{"messages":[{"role":"user","content":"x"}]}' | grep -q choices && echo 0.5 > "$TROUPE_REWARD_FILE"
      cat > /dev/null`;
    const options = { run: ["sh", "-c", script], reward: "file" };
    const [inside, outside] = [await sandboxed("", options), await play("", { samples: 1, options })];
    expect(outcomesOf(inside)).toEqual([[0.5, null]]);
    expect(inside).toEqual(outside);
  });

  it("what it may read is its folder, and what the recipe adds", async () => {
    const read = `console.log(1 * (await import("node:fs")).existsSync(${JSON.stringify(join(home, "secret"))}));`;
    expect(outcomesOf(await sandboxed(read))).toEqual([[0, null]]);
    expect(outcomesOf(await sandboxed(read, { readable: [home] }))).toEqual([[1, null]]);
  });

  it("its exit code, its crash and its silence are as outside", async () => {
    expect(outcomesOf(await sandboxed("process.exit(3)", { reward: "exit-code" }))).toEqual([
      [0, "the program failed: it exited with code 3"],
    ]);
    expect(outcomesOf(await sandboxed("throw new Error('no')"))).toEqual([
      [0, expect.stringContaining("it exited with code 1")],
    ]);
    const silent = await sandboxed("setInterval(() => {}, 1000)", { timeoutSeconds: 10 });
    expect(outcomesOf(silent)).toEqual([[0, expect.stringContaining("neither called a role nor ended")]]);
    await expect(sandboxed("process.kill(process.pid, 'SIGKILL')")).rejects.toBeInstanceOf(ServiceError);
  });

  it("a program that is not there inside ends the run, with what to do", async () => {
    const hidden = join(home, "bin");
    mkdirSync(hidden);
    writeFileSync(join(hidden, "agent"), `#!${join(hidden, "interpreter")}\n`, { mode: 0o755 });
    await expect(sandboxed("", { run: [join(hidden, "agent")] })).rejects.toMatchObject({
      code: "bad_recipe",
      message: expect.stringMatching(/cannot be started in the sandbox: .*Add its folder.*`readable`/s),
    });
  });

  it("a sandbox that cannot be made is no failure of the program", async () => {
    const setting = await settingOf("console.log(1)", {
      options: { sandbox: true, readable: [join(home, "gone")] },
    });
    // The proof finds it first; a folder may also vanish afterwards.
    await expect(growEpisode(setting, rootKey(1), start)).rejects.toMatchObject({ code: "no_sandbox" });
  });
});

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

function isGone(pid: string): boolean {
  const file = `/proc/${pid}/status`;
  return !existsSync(file) || /^State:\s+Z/m.test(readFileSync(file, "utf8"));
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 10));
}

it("a process that is killed takes its programs with it", async () => {
  const program = `
    const { startGroup } = await import(${JSON.stringify(new URL("../src/calls/child.ts", import.meta.url).href)});
    for (let one = 0; one < 2; one++) {
      const { child } = startGroup({ run: ["sh", "-c", "sleep 4242 & echo $!; wait"], directory: "/", env: process.env });
      child.stdout.on("data", (text) => console.log(child.pid + "\\n" + text));
    }
    startGroup({ run: ["true"], directory: "/", env: process.env });
    setInterval(() => {}, 1000);`;
  const group = startGroup({
    run: [process.execPath, "--input-type=module", "-e", program],
    directory: "/",
    env: { PATH: process.env["PATH"] ?? "" },
  });
  if (group instanceof Error) throw group;
  let text = "";
  group.child.stdout.setEncoding("utf8").on("data", (part: string) => (text += part));
  const pids = (): string[] => text.match(/\d+/g) ?? [];
  await until(() => pids().length === 4);
  expect(pids().some(isGone)).toBe(false);
  group.child.kill("SIGKILL");
  await until(() => pids().every(isGone));
});
