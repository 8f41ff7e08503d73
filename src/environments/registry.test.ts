import { expect, it } from "vitest";
import { TroupeError } from "../errors.ts";
import { createEnvironment, environmentNamed, environments } from "./registry.ts";

it("every environment is found by its name", () => {
  for (const definition of environments) expect(environmentNamed(definition.name)).toBe(definition);
});

it("an unknown name is rejected with the nearest one", () => {
  const message = "environment.name: there is no environment `plan_pth`; did you mean `plan-path`?";
  expect(() => environmentNamed("plan_pth")).toThrow(new TroupeError("bad_recipe", message));
  expect(() => environmentNamed("chess")).toThrow(/there is plan-path/);
});

it("options are checked", async () => {
  expect((await createEnvironment("plan-path", { size: 4 })).oracle?.words).toContain("d4");
  await expect(createEnvironment("plan-path", { sise: 4 })).rejects.toThrow(/sise/);
});
