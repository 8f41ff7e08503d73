import { truncateSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { failure, makeModel, temporaryFolder } from "../../models/test-model.ts";
import { adapter, someDatum, testEngine, train } from "./test-engine.ts";

const folder = temporaryFolder();
const at = (...parts: string[]): string => join(folder, ...parts);
let model = "";

beforeAll(async () => {
  model = await makeModel(folder, "model");
});

describe("training that is resumed", () => {
  test.each([
    ["a whole model", undefined],
    ["an adapter", adapter],
  ])("of %s takes the same steps as training that was not interrupted", async (_, options) => {
    const more = options === undefined ? {} : { adapter: options };
    const name = options === undefined ? "whole" : "adapter";
    const straight = testEngine();
    await straight.createPolicy({ name: "p", model, ...more });
    await train(straight, "p", 3);
    await straight.save("p", at(`resume-${name}`));
    await straight.saveOptimizer("p", at(`resume-${name}.optimizer`));
    const resumed = testEngine();
    await resumed.createPolicy({ name: "p", model, ...more });
    await resumed.load("p", at(`resume-${name}`));
    await resumed.loadOptimizer("p", at(`resume-${name}.optimizer`));
    expect(await train(resumed, "p", 4)).toEqual(await train(straight, "p", 4));
    expect((await resumed.forward([someDatum("p")])).logprobs).toEqual(
      (await straight.forward([someDatum("p")])).logprobs,
    );
  });

  test("without its optimizer takes other steps: the state matters", async () => {
    const engine = testEngine();
    await engine.createPolicy({ name: "p", model });
    await train(engine, "p", 3);
    await engine.save("p", at("forgetful"));
    await engine.createPolicy({ name: "q", model: at("forgetful") });
    await train(engine, "p", 1);
    await train(engine, "q", 1);
    expect((await engine.forward([someDatum("q")])).logprobs).not.toEqual(
      (await engine.forward([someDatum("p")])).logprobs,
    );
  });

  test("from a file for other weights, a damaged one or none is refused", async () => {
    const engine = testEngine();
    await engine.createPolicy({ name: "p", model });
    await engine.createPolicy({ name: "a", model, adapter });
    await engine.saveOptimizer("a", at("other.optimizer"));
    expect(await failure("bad_model", () => engine.loadOptimizer("p", at("other.optimizer")))).toContain(
      "moment1.model",
    );
    expect(
      await failure("bad_model", () => engine.loadOptimizer("p", join(model, "model.safetensors"))),
    ).toContain("not an optimizer");
    expect(await failure("bad_model", () => engine.loadOptimizer("p", at("none")))).toContain(
      "cannot be opened",
    );
    truncateSync(at("other.optimizer"), 1000);
    expect(await failure("bad_model", () => engine.loadOptimizer("a", at("other.optimizer")))).toContain(
      "other.optimizer",
    );
  });
});
