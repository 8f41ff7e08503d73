/** Trains `parity.yaml` with the judge, the engine and a logger. */
import { openEngine, resolveRecipe, train, type Listener } from "troupe";
import brief from "./brief.ts";
import { counting } from "./counting.ts";

const logger: Listener = (event) => {
  if (event.type === "step") console.log("step", event.metrics.step, event.metrics.rollout?.success);
};
const resolved = await resolveRecipe("parity.yaml");
const counts = new Map<string, number>();
const engine = counting(openEngine({ type: "local", threads: 1 }), counts);
const { status } = await train({
  ...resolved,
  judge: brief,
  directory: "runs/parity",
  engine,
  onEvent: logger,
});
await engine.close();
console.log(status, "after", counts.get("optimStep"), "updates");
