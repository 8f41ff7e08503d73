import { setTimeout as delay } from "node:timers/promises";
import { expect, it } from "vitest";
import { ServiceError } from "../../errors.ts";
import { CircuitBreaker } from "./breaker.ts";

const settings = { failures: 2, pauseSeconds: 10, pauses: 3 };

it("asks one question after a pause, however many wait, and pauses again if that fails", async () => {
  const events: string[] = [];
  const breaker = new CircuitBreaker(settings, {
    sleep: async (milliseconds) => {
      await delay(5);
      events.push(`${milliseconds / 1000} s`);
    },
  });
  const ask = async (): Promise<never> => {
    events.push("asked");
    await delay(1);
    throw new ServiceError("down");
  };
  const questions = Array.from({ length: 8 }, () => breaker.pass(ask));
  await Promise.allSettled(questions);
  const again = await Promise.allSettled(Array.from({ length: 5 }, () => breaker.pass(ask)));
  expect(events.slice(8)).toEqual(["10 s", "asked", "20 s", "asked", "40 s", "asked"]);
  // Nobody is asked after the last pause has failed: each question could take until its timeout.
  for (const one of again.slice(2))
    expect(one).toMatchObject({
      reason: {
        name: "OutageError",
        message: "The judge gave up after 11 failures in a row and 3 pauses (judge.breaker): down",
      },
    });
});

it("lets all questions through once one after a pause is answered", async () => {
  const notices: string[] = [];
  const breaker = new CircuitBreaker(settings, {
    sleep: () => delay(5),
    report: (notice) => void notices.push(notice),
  });
  let isDown = true;
  let underWay = 0;
  let most = 0;
  const ask = async (): Promise<string> => {
    underWay += 1;
    most = Math.max(most, underWay);
    await delay(5);
    underWay -= 1;
    if (isDown) throw new ServiceError("down");
    return "answer";
  };
  await Promise.allSettled([breaker.pass(ask), breaker.pass(ask)]);
  [isDown, most] = [false, 0];
  const answers = Promise.all(Array.from({ length: 4 }, () => breaker.pass(ask)));
  expect(await answers).toEqual(Array.from({ length: 4 }, () => "answer"));
  expect(most).toBe(3);
  expect(notices).toEqual(["paused for 10 s: down", "continues"]);
});
