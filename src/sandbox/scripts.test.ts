import { describe, expect, it } from "vitest";
import { unrecordedCalls } from "../calls/recorded.ts";
import { cachedSandbox } from "./cached.ts";
import { openSandbox } from "./open.ts";
import { routedSandbox } from "./packages/routed.ts";
import type { Sandbox } from "./sandbox.ts";
import { askScript, withScript, type Script } from "./scripts.ts";

const opened = await openSandbox({ workers: 1 }).catch((error: Error) => error);
const works = !(opened instanceof Error);
const sandbox = opened as Sandbox;

const counter = `import sys
count = 0
for line in sys.stdin:
    count += 1
    if line.strip() == "die":
        sys.exit(3)
    print(count, flush=True)
`;

async function ask(script: Script, line: string): Promise<string | null> {
  script.send(line);
  return script.next();
}

const counted = (source: string, line: string, signal?: AbortSignal): Promise<string | null> =>
  withScript(sandbox, source, signal, (script) => ask(script, line));

async function asking(raw: Sandbox): Promise<null> {
  await askScript(raw, `${counter}# proof`, "a");
  return null;
}

describe.runIf(works)("a script", () => {
  it("is kept for the next request", async () => {
    expect([await counted(counter, "a"), await counted(counter, "b")]).toEqual(["1", "2"]);
  });

  it("is replaced once it has ended", async () => {
    const source = `${counter}# ends`;
    await counted(source, "a");
    expect(await counted(source, "die")).toBe(null);
    expect(await counted(source, "b")).toBe("1");
  });

  it("is lent to one user at a time", async () => {
    const source = `${counter}# two`;
    const answers = await Promise.all([counted(source, "a"), counted(source, "b")]);
    expect(answers).toEqual(["1", "1"]);
  });

  it("ends if the work fails or is cancelled", async () => {
    const source = `${counter}# fails`;
    const failed = withScript(sandbox, source, undefined, async (script) => {
      await ask(script, "a");
      throw new Error("no");
    });
    await expect(failed).rejects.toThrow("no");
    expect(await counted(source, "b")).toBe("1");
    await counted(source, "c", AbortSignal.abort());
    expect(await counted(source, "d")).toBe("1");
  });

  it("gives way to one that is started through another wrapper of the sandbox", async () => {
    const [one, other] = [1, 2].map(() => cachedSandbox(sandbox, unrecordedCalls())) as [Sandbox, Sandbox];
    const sources = Array.from(
      { length: sandbox.sessions ?? 0 },
      (_, index) => `${counter}# wrapped ${index}`,
    );
    for (const source of sources) expect(await askScript(one, source, "a")).toBe("1");
    expect(await askScript(other, `${counter}# of the other`, "a")).toBe("1");
  });

  it("leaves no session behind in a proof, which those who use the sandbox could not end", async () => {
    const proved = await openSandbox({ workers: 1, proofs: [asking] });
    const router = routedSandbox(() => Promise.resolve(proved));
    const used = cachedSandbox(router, unrecordedCalls());
    await router.open();
    const sources = Array.from({ length: proved.sessions ?? 0 }, (_, index) => `${counter}# used ${index}`);
    for (const source of sources) expect(await askScript(used, source, "a")).toBe("1");
    await used.close();
  });

  it("gives way to another if all sessions are taken", async () => {
    const sources = Array.from({ length: (sandbox.sessions ?? 0) + 1 }, (_, index) => `${counter}# ${index}`);
    for (const source of sources) expect(await askScript(sandbox, source, "a")).toBe("1");
    expect(await askScript(sandbox, sources.at(-1) ?? "", "b")).toBe("2");
    expect(await askScript(sandbox, sources[0] ?? "", "b")).toBe("1");
  });
});
