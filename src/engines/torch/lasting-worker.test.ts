/** Workers that end, as simulated processes: what a new one is asked, and what is lost. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ServiceError, TroupeError } from "../../errors.ts";
import { failure } from "../../models/test-model.ts";
import { LastingWorker, type WorkerProcess } from "./lasting-worker.ts";
import type { Answer } from "./answers.ts";
import { Journal } from "./journal.ts";

type Asked = readonly [verb: string, name: unknown];

/** Each process answers by its own function, until that throws. */
function lastingWorker(...processes: readonly ((...asked: Asked) => void)[]) {
  const heard: Asked[][] = [];
  const start = (): WorkerProcess => {
    const own: Asked[] = [];
    const answer = processes[heard.push(own) - 1];
    return {
      ready: Promise.resolve<Answer>({ header: {}, arrays: {} }),
      memory: null,
      ask: async (verb, header) => {
        const { name, policy } = header as { name?: string; policy?: string };
        const asked = [verb, name ?? policy] as const;
        own.push(asked);
        answer?.(...asked);
        return { header: {}, arrays: {} };
      },
      close: async () => {},
    };
  };
  const notices: string[] = [];
  return { worker: new LastingWorker(start, (notice) => notices.push(notice)), heard, notices };
}

const end = (): never => {
  throw new ServiceError("It ended.");
};

it("a policy that cannot be restored is lost alone, until it is removed", async () => {
  const { worker, heard, notices } = lastingWorker(
    (verb) => verb === "sample" && end(),
    (verb, name) => {
      if (verb === "create" && name === "p") throw new TroupeError("bad_model", "Its base is gone.");
    },
    () => {},
  );
  for (const name of ["p", "q"]) await worker.ask("create", { name });
  await worker.ask("optimStep", { name: "p" });
  await worker.ask("copy", { name: "p", to: "p copy" });
  await worker.ask("sample", { policy: "q" });
  expect(heard[1]).toEqual([
    ["create", "p"],
    ["create", "q"],
    ["sample", "q"],
  ]);
  for (const policy of ["p", "p copy"])
    expect(await failure("service", () => worker.ask("sample", { policy }))).toBe(
      `The policy ${policy} was lost when a worker ended, and another worker cannot have it: Its base is gone.`,
    );
  await worker.ask("remove", { name: "p" });
  await worker.ask("create", { name: "p" }).catch(() => undefined);
  await worker.ask("sample", { policy: "q" });
  expect(heard).toHaveLength(2);
  expect(notices).toEqual(["It ended. Another one is started."]);
});

const made = (more: object) => ({
  verb: "create",
  header: {
    name: "p",
    directory: "/saves/first",
    base: "/base/",
    adapter: { rank: 2 },
    stored: true,
    ...more,
  },
  arrays: {},
  files: {
    "/saves/first/adapter_model.safetensors": "1",
    "/base/model.safetensors": "2",
    "/base/config.json": "3",
  },
});
const step = {
  verb: "forwardBackward",
  header: { policies: ["p"] },
  arrays: { tokens: new Int32Array(10) },
  files: {},
};

describe("what a new worker repeats", () => {
  it("knows of every verb of the worker whether it changes a policy", () => {
    const worker = readFileSync(new URL("../../../python/troupe_torch/worker.py", import.meta.url), "utf8");
    const verbs = [...worker.matchAll(/def _verb_(\w+)/g)].map(([, verb = ""]) => verb);
    expect(verbs).toContain("optimStep");
    const journal = new Journal();
    for (const verb of [...verbs, "sample"])
      expect(() => journal.add({ verb, header: { name: "p" }, arrays: {}, files: {} })).not.toThrow();
    expect(() => journal.add({ verb: "rename", header: { name: "p" }, arrays: {}, files: {} })).toThrow(
      /rename/,
    );
  });

  it("begins an adapter that was saved without the one it was made of", () => {
    const journal = new Journal();
    journal.add(made({}));
    journal.add(step);
    journal.add({ verb: "optimStep", header: { name: "p" }, arrays: {}, files: {} });
    expect(journal.bytes).toBe(40);
    journal.saved("p", "/saves/second", "/saves/second.optimizer");
    expect(journal.bytes).toBe(0);
    expect(journal.changes.map(({ verb }) => verb)).toEqual(["create", "restore"]);
    expect(journal.changes[0]?.header).toMatchObject({ directory: "/base/", stored: false });
    expect(Object.keys(journal.changes[0]?.files ?? {})).toEqual([
      "/base/model.safetensors",
      "/base/config.json",
    ]);
  });

  it("begins a whole model with what it was made of", () => {
    const journal = new Journal();
    const whole = made({ adapter: null, directory: "/base", stored: false });
    journal.add(whole);
    journal.saved("p", "/saves/second", "/saves/second.optimizer");
    expect(journal.changes[0]).toMatchObject(whole);
  });
});
