import { describe, expect, it } from "vitest";
import { findRecipe, shippedRecipes } from "./shipped.ts";

describe("findRecipe", () => {
  // The names of MAGRPO's configuration files.
  it.each([
    "grpo-he",
    "grpo-che",
    "magrpo-he",
    "magrpo-che",
    "mt-magrpo-he",
    "mt-magrpo-che",
    "magrpo-mbpp",
    "mt-magrpo-mbpp",
  ])("finds code/%s without its folder", (name) => {
    expect(findRecipe(name)).toBe(shippedRecipes()[`code/${name}`]);
  });

  it("prefers a recipe outside of folders", () => {
    expect(findRecipe("plan-path")).toBe(shippedRecipes()["plan-path"]);
  });

  it("finds no part of a folder's name, and no file name without its folder", () => {
    expect(() => findRecipe("de/magrpo-he")).toThrow("did you mean `code/magrpo-he`?");
    expect(() => findRecipe("magrpo-he.yaml")).toThrow("did you mean `code/magrpo-he`?");
  });
});
