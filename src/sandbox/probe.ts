/** Isolation is tested before use: a program looks for what it must not find. */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { TroupeError } from "../errors.ts";
import type { Sandbox } from "./sandbox.ts";

/** Prints everything it reached that it should not have. */
const spy = `
import json, os, socket, sys
secret, port, parent = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
reached = []
def attempt(name, action):
    try:
        if action() is not False:
            reached.append(name)
    except BaseException:
        pass
def read(path):
    with open(path, "rb") as file:
        return len(file.read(1)) > 0
attempt("a file of this machine", lambda: read(secret))
attempt("the environment of Troupe", lambda: read("/proc/%d/environ" % parent))
attempt("the environment of Troupe", lambda: "TROUPE_PROBE" in os.environ)
attempt("the network", lambda: socket.create_connection(("127.0.0.1", port), 1).close())
attempt("a file outside its workspace", lambda: open("/usr/lib/troupe-probe", "w").close())
attempt("a folder outside its workspace", lambda: open(secret + ".written", "w").close())
attempt("signals to Troupe", lambda: os.kill(parent, 0))
print(json.dumps(reached))
`;

/** What a program could reach in this sandbox; empty: nothing forbidden. Throws if the sandbox runs no program. */
export async function reachedFrom(sandbox: Sandbox): Promise<readonly string[]> {
  const folder = await mkdtemp(path.join(tmpdir(), "troupe-probe-")).catch(noFolder);
  const secret = path.join(folder, "secret");
  const server = createServer((connection) => connection.destroy());
  process.env["TROUPE_PROBE"] = randomBytes(8).toString("hex");
  try {
    await writeFile(secret, "secret", { mode: 0o644 }).catch(noFolder);
    const port = await listening(server);
    const given = [secret, String(port), String(process.pid)];
    const result = await sandbox.run({
      language: "python",
      source: spy,
      arguments: given,
      limits: { wallSeconds: 30, cpuSeconds: 10 },
    });
    return parsed(result.stdout) ?? [`nothing was found out: ${result.ended}, ${result.stderr.slice(-500)}`];
  } finally {
    delete process.env["TROUPE_PROBE"];
    server.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** @throws TroupeError `no_sandbox`: whether a sandbox isolates cannot be found out */
export function noFolder(error: unknown): never {
  throw new TroupeError(
    "no_sandbox",
    `Sandboxes need files in the temporary folder ${tmpdir()}, and none can be written there (${(error as Error).message}): make room, or name another folder with TMPDIR.`,
    { cause: error },
  );
}

function listening(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : 0);
    });
  });
}

function parsed(text: string): readonly string[] | null {
  try {
    return [...new Set(JSON.parse(text) as readonly string[])];
  } catch {
    return null;
  }
}
