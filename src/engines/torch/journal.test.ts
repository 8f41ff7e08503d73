import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Journal } from "./journal.ts";

const create = (more: object) => ({
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
    journal.add(create({}));
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
    const made = create({ adapter: null, directory: "/base", stored: false });
    journal.add(made);
    journal.saved("p", "/saves/second", "/saves/second.optimizer");
    expect(journal.changes[0]).toMatchObject(made);
  });
});
