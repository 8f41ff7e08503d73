import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { listening } from "./listening.ts";

const event = { type: "phase", phase: "saving" } as const;

it("an async listener's rejection is thrown at the next event, and at the end", async () => {
  const { onEvent, end } = listening(async () => {
    throw new Error("mine");
  });
  onEvent(event);
  await setImmediate();
  expect(() => onEvent(event)).toThrow("mine");
  expect(end).toThrow("mine");
});

it("a listener's own error is thrown at once", () => {
  const { onEvent } = listening(() => {
    throw new Error("mine");
  });
  expect(() => onEvent(event)).toThrow("mine");
});

it("a listener that succeeds is asked for every event", async () => {
  let count = 0;
  const { onEvent, end } = listening(async () => void count++);
  onEvent(event);
  await setImmediate();
  onEvent(event);
  end();
  expect(count).toBe(2);
});
