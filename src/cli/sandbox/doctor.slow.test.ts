import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { troupe } from "../testing/command.ts";

const cwd = import.meta.dirname;

interface Found {
  readonly machine: { readonly cores: number };
  readonly engine: { readonly description?: string };
  readonly sandboxes: readonly { name: string; works: boolean; problem?: string; fix?: string }[];
}

it("troupe doctor reports what works, and how to fix the rest", async () => {
  const { code, stdout } = await troupe(["doctor", "--json"], { cwd });
  const { machine, engine, sandboxes } = JSON.parse(stdout) as Found;
  expect(machine.cores).toBeGreaterThan(0);
  expect(engine.description).toContain("local engine");
  expect(sandboxes.map(({ name }) => name)).toEqual([
    "bubblewrap",
    "launcher",
    "launcher",
    "container",
    "sandboxfusion",
  ]);
  const broken = sandboxes.filter(({ works }) => !works);
  expect(broken.every(({ problem, fix }) => problem !== undefined && fix !== undefined)).toBe(true);
  expect(code).toBe(broken.length === sandboxes.length ? 1 : 0);
});

it("troupe doctor reports a server that does not answer, and rejects a backend that does not exist", async () => {
  // Free, because it was just used: `fetch` never asks well-known ports such as 9.
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  const env = { TROUPE_SANDBOX_URL: `http://127.0.0.1:${port}` };
  const { stdout } = await troupe(["doctor"], { cwd, env });
  expect(stdout).toContain(`http://127.0.0.1:${port} cannot be reached: connect ECONNREFUSED`);
  const wrong = await troupe(["doctor"], { cwd, env: { TROUPE_SANDBOX: "bubblewarp" } });
  expect(wrong.code).toBe(2);
  expect(wrong.stderr).toContain("expected bubblewrap, launcher, container, sandboxfusion");
});

it("troupe doctor asks for an interpreter, and for nothing else, if that is what is missing", async () => {
  const { stdout } = await troupe(["doctor", "--json"], { cwd, env: { TROUPE_PYTHON: "/nowhere/python" } });
  const { sandboxes } = JSON.parse(stdout) as Found;
  const own = sandboxes.filter(({ name }) => name === "bubblewrap" || name === "launcher");
  const fixes = own
    .filter(({ problem }) => problem?.includes("/nowhere/python does not run"))
    .map(({ fix }) => fix);
  expect(fixes).toHaveLength(process.platform === "linux" ? 3 : 0);
  for (const fix of fixes) expect(fix).toMatch(/^install Python 3\.8 or newer .* TROUPE_PYTHON$/);
});
