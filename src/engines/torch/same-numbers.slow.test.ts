/**
 * The engine on PyTorch has the numbers of the local engine: every architecture that both know, as whole model, adapter and
 * critic; each loss with one of them. docs/results/torch.md has the same at 30 million parameters.
 */
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../models/test-model.ts";
import { testEngine } from "../local/test-engine.ts";
import {
  apart,
  architectureNames,
  makeArchitecture,
  policyKinds,
  type PolicyKind,
} from "./testing/same-numbers.ts";
import { openShared, python } from "./testing/shared-worker.ts";

const preset = {
  hiddenSize: 48,
  layers: 2,
  heads: 4,
  keyValueHeads: 2,
  headSize: 12,
  intermediateSize: 80,
  maxLength: 64,
  tiedEmbeddings: true,
};

describe.skipIf(python === undefined).each(architectureNames)(
  "the local engine's numbers: %s",
  async (architecture) => {
    const folder = temporaryFolder();
    const model = await makeArchitecture(folder, architecture, preset, 40);
    const cases = Object.entries(policyKinds).map(([kind, { losses }], index) => {
      const names = Object.keys(losses);
      const turn = architectureNames.indexOf(architecture) + index;
      return [kind as PolicyKind, names[turn % names.length] as string] as const;
    });
    it.each(cases)("%s, %s", async (kind, loss) => {
      const torch = openShared();
      const engines = [testEngine(), torch] as const;
      const found = await apart(engines, folder, model, kind, loss);
      expect(found.outputs).toBeLessThan(1e-4);
      expect(found.gradients).toBeLessThan(1e-3);
      expect(found.weights).toBeLessThan(1e-3);
      await torch.close();
    });
  },
);
