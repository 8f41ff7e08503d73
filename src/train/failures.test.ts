import { expect, it } from "vitest";
import { Service, withServicesUsed, type ServiceUse } from "../calls/services.ts";
import { checkFaults, countsOf, summedCounts, timesOf } from "./failures.ts";

const use = (changes: Partial<ServiceUse>): ServiceUse => ({
  calls: 10,
  faults: 0,
  failures: 0,
  retries: 0,
  seconds: 2.5,
  slowest: 1.5,
  ...changes,
});

it("records have counts, times are apart, and zeros are left out", () => {
  const used = { coach: use({ failures: 2, lastProblem: "503" }), expert: use({}) };
  expect(countsOf(used)).toEqual({ services: { coach: { calls: 10, failures: 2 }, expert: { calls: 10 } } });
  expect(countsOf({})).toEqual({});
  expect(timesOf(used).services?.["coach"]).toEqual({ seconds: 2.5, slowest: 1.5, lastProblem: "503" });
});

it("counts of records are added", () => {
  const sum = summedCounts([{ b: { calls: 1, faults: 1 } }, undefined, { a: { calls: 2 }, b: { calls: 3 } }]);
  expect(sum).toEqual({ services: { a: { calls: 2 }, b: { calls: 4, faults: 1 } } });
  expect(summedCounts([undefined])).toEqual({});
});

it("faults above the limit stop the run, whichever service gives them", () => {
  const wrong = { expert: use({ faults: 2, lastProblem: "no JSON" }) };
  expect(() => checkFaults(wrong, 0.2)).not.toThrow();
  expect(() => checkFaults(wrong, 0.1)).toThrow(
    "2 of 10 answers of the expert were unusable, failures.limit allows 10 %. The last: no JSON.",
  );
  // Otherwise a run would learn from nothing but faults.
  expect(() => checkFaults({ expert: use({ faults: 10 }) }, 1)).toThrow(/at least one must succeed/);
});

it("a program that ends a script of the sandbox stops no run: of its calls only those with a problem are counted", async () => {
  const { services } = await withServicesUsed(async () => {
    const sandbox = new Service("sandbox", { onlyProblems: true });
    for (let call = 0; call < 10; call++) sandbox.ended("answered");
    sandbox.ended("faulty", "a script gave no answer (signalled)");
  });
  expect(() => checkFaults(services, 0.1)).not.toThrow();
  expect(countsOf(services)).toEqual({ services: { sandbox: { calls: 1, faults: 1 } } });
});
