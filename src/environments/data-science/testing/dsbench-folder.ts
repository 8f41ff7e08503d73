/** Generated tasks in the form in which DSBench is downloaded. */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { generatedRules } from "../tasks/generated/tasks.ts";
import { buildTask } from "../tasks/generated/build.ts";
import { rootKey } from "../../../random.ts";

/** @param names of DSBench's tasks, each with a generated task of the same metric */
export function writeDsbench(folder: string, names: Readonly<Record<string, string>>): void {
  const write = (file: string, text: string): void => {
    const place = path.join(folder, file);
    mkdirSync(path.dirname(place), { recursive: true });
    writeFileSync(place, text);
  };
  for (const [name, id] of Object.entries(names)) {
    const rules = generatedRules.find((one) => one.id === id);
    if (rules === undefined) throw new Error(`there is no generated task ${id}`);
    const { about, train, test, labels } = buildTask(rules, rootKey(3));
    write(`data/task/${name}.txt`, about.description);
    write(`data/data_resplit/${name}/train.csv`, train);
    write(`data/data_resplit/${name}/test.csv`, test);
    write(`data/answers/${name}/test_answer.csv`, labels);
    write(`save_performance/baseline/${name}/result.txt`, "0.5\n");
    write(`save_performance/GT/${name}/result.txt`, about.metric === "rmse" ? "0.0" : "1.0");
  }
}
