/**
 * Programs in isolation, by bubblewrap: a file system with the system's programs, the program's own folder and what the recipe
 * adds to read, an empty `/tmp` to write, no network, and no process of others. A socket of the gateway is the way out; a
 * process inside listens at the address that clients were told, and passes on what they send. When the program ends,
 * everything that it started does.
 */
import { accessSync, constants, lstatSync, readlinkSync, realpathSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { hearLast, startGroup, type Group } from "../../calls/child.ts";
import { ServiceError, TroupeError } from "../../errors.ts";
import { jsonOrNull } from "../../json.ts";
import { Gateway } from "../../gateway/gateway.ts";
import { isPresentSync } from "../../present.ts";
import type { ProgramOptions } from "./options.ts";

interface Places {
  /** Of the episode: `/tmp` inside. */
  readonly folder: string;
  /** Of the gateway. */
  readonly socket: string;
  /** The gateway's port as seen from inside the sandbox. */
  readonly url: string;
}

/** Links of a merged `/usr` stay links. */
const systemFolders = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store"];
/** What programs need to find libraries, certificates, users and the time; no other settings of the machine. */
const settings = (
  "ld.so.cache ld.so.conf ld.so.conf.d alternatives passwd group nsswitch.conf hosts localtime mime.types " +
  "ssl/certs ssl/openssl.cnf ca-certificates pki protocols services"
)
  .split(" ")
  .map((name) => `/etc/${name}`);

/** Root, if Troupe runs as root, could write these although it has no capability. */
const kernelFiles = ["/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus"];

const own = "/run/troupe";

/** @throws TroupeError `bad_recipe` if there is no such program */
export async function startSandboxed(
  options: ProgramOptions,
  env: Readonly<Record<string, string>>,
  places: Places,
): Promise<Group | Error> {
  const { NODE_COMPILE_CACHE: _, ...passed } = env;
  const inside = { HOME: "/tmp", TMPDIR: "/tmp", TROUPE_REWARD_FILE: "/tmp/reward.json" };
  const run = ["bwrap", ...wrapping(options, places, env["PATH"] ?? ""), ...options.run] as const;
  return startGroup({ run, directory: "/", env: { ...passed, ...inside }, hasFourth: true });
}

function wrapping(
  { run: [command], directory, readable }: ProgramOptions,
  places: Places,
  search: string,
): string[] {
  const readables = [directory, ...readable].map((one) => path.resolve(one));
  const shown = [...systemFolders, ...readables];
  const program = foundOn(search, command, directory);
  const isShown = program === null || shown.some((one) => program === one || program.startsWith(`${one}/`));
  return [
    // A kernel without control-group namespaces has none to hide.
    "--unshare-all --unshare-user --die-with-parent --new-session --hostname sandbox --cap-drop ALL".split(
      " ",
    ),
    "--proc /proc --dev /dev".split(" "),
    ...kernelFiles.filter((one) => isPresentSync(one)).map((one) => ["--ro-bind", one, one]),
    ...systemFolders.filter((one) => isPresentSync(one)).map(systemFolder),
    ...settings.map((one) => ["--ro-bind-try", one, one]),
    ["--bind", places.folder, "/tmp"],
    ...readables.map((one) => ["--ro-bind", one, one]),
    ...(isShown ? [] : [["--ro-bind", realpathSync(program), program]]),
    ["--ro-bind", process.execPath, `${own}/node`],
    ["--ro-bind", places.socket, `${own}/gateway`],
    ["--remount-ro", "/", "--chdir", path.resolve(directory), "--"],
    [`${own}/node`, "-e", forwarding, `${own}/gateway`, new URL(places.url).port],
  ].flat();
}

function systemFolder(place: string): string[] {
  return lstatSync(place).isSymbolicLink()
    ? ["--symlink", readlinkSync(place), place]
    : ["--ro-bind", place, place];
}

/** As the system looks for it; null: it finds nothing, and says so when it is started. */
function foundOn(search: string, command: string, directory: string): string | null {
  const candidates = command.includes("/")
    ? [path.resolve(directory, command)]
    : search.split(path.delimiter).map((folder) => path.join(folder, command));
  return candidates.find(isProgram) ?? null;
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Runs inside, before the program, with the interpreter that runs Troupe: other languages may be missing. It says on its fourth
 * pipe that the program has begun, or why it cannot; the program does not get that pipe.
 */
const forwarding = `
const { spawn } = require("node:child_process");
const { writeSync } = require("node:fs");
const net = require("node:net");
const [socket, port, command, ...given] = process.argv.slice(1);
const server = net.createServer({ allowHalfOpen: true }, (client) => {
  const gateway = net.connect({ path: socket, allowHalfOpen: true });
  for (const [one, other] of [[client, gateway], [gateway, client]])
    one.on("error", () => other.destroy()).on("close", () => other.destroySoon()).pipe(other);
});
server.listen(Number(port), "127.0.0.1", () => {
  const child = spawn(command, given, { stdio: ["inherit", "inherit", "inherit", "ignore"] });
  child.on("spawn", () => writeSync(3, "begun"));
  child.on("error", ({ message }) => {
    writeSync(3, message);
    process.exit(127);
  });
  child.on("exit", (code, signal) => (signal === null ? process.exit(code) : process.kill(process.pid, signal)));
});
`;

/** Hears whether the program of a group began. To be called at once. */
export function hearBeginning({ child }: Group): () => string {
  const pipe = child.stdio[3];
  return hearLast(pipe as NonNullable<typeof child.stdout>, 1000);
}

/**
 * A sandbox that could not be made says nothing of the program.
 * @param said by what runs before the program
 * @throws TroupeError `bad_recipe` if there is no such program inside; ServiceError if there was no sandbox
 */
export function checkBegun(said: string, program: string, problem: string | null, errors: string): void {
  if (said.startsWith("begun")) return;
  if (said !== "")
    throw new TroupeError(
      "bad_recipe",
      `environment.run: ${program} cannot be started in the sandbox: ${said}. Add its folder, and those of its libraries, to \`readable\`.`,
    );
  const last = errors.trim().split("\n").at(-1) ?? "";
  throw new ServiceError(`The sandbox of ${program} could not be made: ${problem ?? "it ended"} (${last}).`);
}

/** Prints everything it reached that it should not have, and whether it reached the gateway. */
const spy = `
const fs = require("node:fs"), net = require("node:net"), os = require("node:os");
const [url, secret, port, pid, network, folder] = process.argv.slice(1);
const reached = [];
const attempt = (what, action) => {
  try {
    if (action() !== false) reached.push(what);
  } catch {}
};
attempt("a file of this machine", () => fs.readFileSync(secret));
attempt("a folder outside its own", () => fs.writeFileSync(secret + ".written", ""));
attempt("its folder, to write", () => fs.writeFileSync(folder + "/.troupe-probe", ""));
attempt("the system's folders, to write", () => fs.writeFileSync("/usr/lib/troupe-probe", ""));
attempt("the kernel's settings, to write", () => fs.writeFileSync("/proc/sys/kernel/domainname", "troupe"));
attempt("the environment of Troupe", () => process.env.TROUPE_PROBE !== undefined);
attempt("processes of this machine", () => fs.readlinkSync("/proc/self/ns/pid") === pid);
attempt("the network of this machine", () => fs.readlinkSync("/proc/self/ns/net") === network);
attempt("a network", () => Object.keys(os.networkInterfaces()).some((name) => name !== "lo"));
const connects = (place) => new Promise((resolve) => {
  const socket = net.connect(place, () => resolve(true)).on("error", () => resolve(false));
  socket.setTimeout(2000, () => resolve(false));
});
(async () => {
  for (const host of ["127.0.0.1", "::1"])
    if (await connects({ host, port: Number(port) })) reached.push("a port of this machine");
  if (await connects({ host: "1.1.1.1", port: 53 })) reached.push("the internet");
  const status = await fetch(url + "/v1/models").then((response) => response.status, String);
  console.log(JSON.stringify({ reached, status }));
  process.exit(0);
})();
`;

/**
 * Proves the sandbox as it will be used, with a program that looks for what it must not reach.
 * @throws TroupeError `no_sandbox` with what to do
 */
export async function proveSandbox(options: ProgramOptions): Promise<void> {
  const problem = process.platform === "linux" ? await problemOf(options) : "it needs Linux";
  if (problem === null) return;
  throw new TroupeError(
    "no_sandbox",
    `environment.sandbox: programs cannot be isolated here: ${problem}. It needs bubblewrap (apt-get install bubblewrap) and ` +
      "user namespaces (sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns=0); otherwise run " +
      "the whole training in a container, and remove `sandbox`.",
  );
}

/** Null: it isolates. */
async function problemOf(options: ProgramOptions): Promise<string | null> {
  const gateway = new Gateway();
  const folder = await mkdtemp(path.join(tmpdir(), "troupe-probe-"));
  const [secret, inside] = [
    path.join(folder, "secret"),
    await mkdtemp(path.join(tmpdir(), "troupe-episode-")),
  ];
  const server = createServer((connection) => connection.destroy());
  process.env["TROUPE_PROBE"] = "1";
  try {
    await writeFile(secret, "secret");
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const url = "http://127.0.0.1:4711";
    const given = [
      url,
      secret,
      String(port),
      namespaceOf("pid"),
      namespaceOf("net"),
      path.resolve(options.directory),
    ];
    const run = [`${own}/node`, "-e", spy, ...given] as const;
    const env = { PATH: process.env["PATH"] ?? "" };
    const group = await startSandboxed({ ...options, run: [...run] }, env, {
      folder: inside,
      socket: await gateway.socket(),
      url,
    });
    if (group instanceof Error) return group.message;
    const [begun, output, errors] = [
      hearBeginning(group),
      hearLast(group.child.stdout, 10_000),
      hearLast(group.child.stderr, 1000),
    ];
    const timer = setTimeout(() => group.kill("it did not end in 30 seconds"), 30_000);
    const problem = await group.ended.finally(() => clearTimeout(timer));
    const found = jsonOrNull(output()) as { reached: readonly string[]; status: unknown } | null;
    if (found === null) return `${problem ?? "nothing was found out"} ${begun()}${errors()}`.trim();
    if (found.reached.length > 0) return `a program reached ${found.reached.join(", ")}`;
    return found.status === 401 ? null : `a program did not reach the gateway (${String(found.status)})`;
  } finally {
    delete process.env["TROUPE_PROBE"];
    server.close();
    await gateway.close();
    await Promise.all([folder, inside].map((one) => rm(one, { recursive: true, force: true })));
  }
}

const namespaceOf = (kind: string): string => readlinkSync(`/proc/self/ns/${kind}`);
