/**
 * A process that trains the silent echo for a few steps in the folder `run` and is killed when its n-th step has been
 * sampled and judged, but not trained. Arguments: n (0: never), the algorithm with its options and the judge's options,
 * as JSON.
 */
import { openEngine } from "../../src/engines/open.ts";
import { train } from "../../src/train/run.ts";
import { echoJudge, silentRecipe } from "./silent-echo.ts";

const [, , killAt = "0", algorithm = "{}", judge = "{}"] = process.argv;
const { name, ...options } = JSON.parse(algorithm) as { readonly name: string };
const recipe = {
  judge: echoJudge("judge", JSON.parse(judge) as object),
  failures: { retries: 0, limit: 0.5 },
};
const engine = openEngine({ threads: 1 });
let judged = 0;
await train({
  ...silentRecipe({ steps: 5, ...recipe }, name, options),
  directory: "run",
  engine,
  onEvent: (event) => {
    if (event.type !== "phase" || event.phase !== "training") return;
    judged += 1;
    if (judged === Number(killAt)) process.kill(process.pid, "SIGKILL");
  },
});
await engine.close();
