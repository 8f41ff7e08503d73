import { expect, it } from "vitest";
import { checkStep } from "../environments/contract.ts";
import { plainContext, startEpisode } from "../environments/progression.ts";
import { rememberModule } from "../environments/origin.ts";
import { numbers } from "../rollout/testing/numbers.ts";
import { rootKey } from "../random.ts";
import { describeError } from "./exit.ts";

/** What is thrown by the work, as shown to the user. */
async function shown(work: () => unknown): Promise<string> {
  try {
    await work();
    return "nothing";
  } catch (error) {
    return describeError(error, false);
  }
}

/** Says this when it starts. */
function throwing(said: unknown): typeof numbers {
  return {
    ...numbers,
    start: () => {
      throw said;
    },
  };
}

const start = (environment: typeof numbers) => startEpisode(environment, {}, plainContext(rootKey(1)));

it("what an environment of a module does wrong names the environment and its module", async () => {
  const named = throwing("no coins");
  rememberModule(named, "./coins.ts");
  const whose = `environment ${numbers.name} (./coins.ts)`;
  expect(await shown(() => start(named))).toContain(`\`start\` of the ${whose} threw "Error: no coins"`);
  const broken = await shown(() => checkStep(named, [], { done: true }));
  expect(broken).toMatch(
    /^error: the environment .* \(\.\/coins\.ts\): `step` is \{"done":true\}; expected /,
  );
  expect(broken).not.toContain("bug");
});

it("an error from writing to a state explains that states never change", async () => {
  const frozen = Object.freeze({ said: 1 });
  const changing = {
    ...numbers,
    start: () => Object.assign(frozen, { said: 2 }),
  };
  rememberModule(changing, "./coins.ts");
  expect(await shown(() => start(changing))).toContain("States and what is in them never change");
});

it("what a built-in environment does wrong is a bug", async () => {
  const own = { ...numbers };
  expect(await shown(() => checkStep(own, [], { done: true }))).toContain("This is a bug");
});
