/** Makes a model directory of a published shape with random weights: `node bench/real-size/make.ts FOLDER [SHAPE] [LAYERS]`. */
import { makeModel } from "./model.ts";

const [folder = "model", shape = "qwen2.5-0.5b", layers = "0"] = process.argv.slice(2);
try {
  await makeModel(folder, shape, Number(layers));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
