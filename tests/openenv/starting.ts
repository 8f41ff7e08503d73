/** Servers of Python for tests of OpenEnv: TROUPE_OPENENV_PYTHON, or python3, with `pip install openenv-core`. */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const python = process.env["TROUPE_OPENENV_PYTHON"] ?? "python3";
export const hasOpenEnv =
  spawnSync(python, ["-c", "import openenv.core, uvicorn, websockets"], { cwd: tmpdir() }).status === 0;

export interface StartedServer {
  readonly url: string;
  readonly child: ChildProcess;
  kill: () => Promise<void>;
}

/** @param port to listen at */
export async function startServer(
  script: "server.py" | "hostile.py" | "../../examples/openenv/server.py",
  env: Readonly<Record<string, string>>,
  port?: number,
): Promise<StartedServer> {
  const own = port ?? (await freePort());
  const file = fileURLToPath(new URL(script, import.meta.url));
  const child = spawn(python, [file, String(own)], {
    env: { ...process.env, PORT: String(own), ...env },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const url = `http://127.0.0.1:${own}`;
  while (!(await fetch(`${url}/schema`).catch(() => null))?.ok) {
    if (child.exitCode !== null) throw new Error(`${script} exited with code ${child.exitCode}`);
    await delay(50);
  }
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  };
  return { url, child, kill };
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
