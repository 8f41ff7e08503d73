import {
  copyFileSync,
  existsSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { failure, makeModel, temporaryFolder } from "../../models/test-model.ts";
import { adapter, someDatum, testEngine, train, request } from "./test-engine.ts";

const folder = temporaryFolder();
const at = (...parts: string[]): string => join(folder, ...parts);
let model = "";

beforeAll(async () => {
  model = await makeModel(folder, "model");
});

describe("resumed training", () => {
  test.each([
    ["a whole model", undefined],
    ["an adapter", adapter],
  ])("of %s takes the same steps as training that was not interrupted", async (_, options) => {
    const more = options === undefined ? {} : { adapter: options };
    const name = options === undefined ? "whole" : "adapter";
    const straight = testEngine();
    await straight.createPolicy({ name: "p", model, ...more });
    await train(straight, "p", 3);
    const saved = await straight.checkpoint("p", { folder, name });
    const resumed = testEngine();
    await resumed.createPolicy({ name: "p", model, ...more });
    await resumed.restore("p", { saved, folder });
    expect(await train(resumed, "p", 4)).toEqual(await train(straight, "p", 4));
    expect((await resumed.forward([someDatum("p")])).logprobs).toEqual(
      (await straight.forward([someDatum("p")])).logprobs,
    );
  });

  test("without its optimizer takes different steps: the state matters", async () => {
    const engine = testEngine();
    await engine.createPolicy({ name: "p", model });
    await train(engine, "p", 3);
    await engine.export("p", at("forgetful"));
    await engine.createPolicy({ name: "q", model: at("forgetful") });
    await train(engine, "p", 1);
    await train(engine, "q", 1);
    expect((await engine.forward([someDatum("q")])).logprobs).not.toEqual(
      (await engine.forward([someDatum("p")])).logprobs,
    );
  });

  test("from a file for other weights, a damaged or a missing one is rejected", async () => {
    const engine = testEngine();
    await engine.createPolicy({ name: "p", model });
    await engine.createPolicy({ name: "a", model, adapter });
    const saved = await engine.checkpoint("p", { folder, name: "p" });
    const other = await engine.checkpoint("a", { folder, name: "a" });
    const message = () => failure("bad_model", () => engine.restore("p", { saved, folder }));
    copyFileSync(at("a.optimizer"), at("p.optimizer"));
    expect(await message()).toContain("moment1.model");
    copyFileSync(join(model, "model.safetensors"), at("p.optimizer"));
    expect(await message()).toContain("not an optimizer");
    rmSync(at("p.optimizer"));
    expect(await message()).toContain("cannot be opened");
    truncateSync(at("a.optimizer"), 1000);
    expect(await failure("bad_model", () => engine.restore("a", { saved: other, folder }))).toContain(
      "a.optimizer",
    );
  });

  test("from a checkpoint that does not fit changes nothing", async () => {
    const engine = testEngine();
    await engine.createPolicy({ name: "p", model });
    const saved = await engine.checkpoint("p", { folder, name: "whole-but" });
    truncateSync(at("whole-but.optimizer"), 1000);
    await train(engine, "p", 1);
    const before = await engine.forward([someDatum("p")]);
    await failure("bad_model", () => engine.restore("p", { saved, folder }));
    expect(await engine.forward([someDatum("p")])).toEqual(before);
    expect((await engine.sample(request()))[0]?.policyVersion).toBe(1);
  });

  test("a checkpoint replaces an earlier one, and nothing else", async () => {
    const engine = testEngine();
    await engine.createPolicy({ name: "p", model });
    await engine.checkpoint("p", { folder, name: "again" });
    await engine.checkpoint("p", { folder, name: "again" });
    const save = (name: string) => () => engine.checkpoint("p", { folder, name });
    writeFileSync(at("mine.optimizer"), "notes");
    symlinkSync("/dev/null", at("device.optimizer"));
    for (const name of ["mine", "device"]) {
      expect(await failure("bad_arguments", save(name))).toContain("not an optimizer's state");
      expect(existsSync(at(name))).toBe(false);
    }
    expect(readFileSync(at("mine.optimizer"), "utf8")).toBe("notes");
  });

  test("the name of a save must be a file name", async () => {
    const engine = testEngine();
    await engine.createPolicy({ name: "p", model });
    for (const name of ["", ".", "..", "a/b", "/tmp"])
      expect(await failure("bad_arguments", () => engine.snapshot("p", { folder, name }))).toContain(
        "file name",
      );
  });
});
