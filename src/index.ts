/** What a program that uses Troupe imports. The command line is made of the same parts. */
export { TroupeError } from "./errors.ts";
export type { ErrorCode } from "./errors.ts";
export type * from "./engines/engine.ts";
export type * from "./environments/environment.ts";
export type { Team, Role } from "./teams/team.ts";
export { builtInCatalog } from "./recipes/built-in.ts";
export type { Catalog } from "./recipes/catalog.ts";
export { openEngine } from "./recipes/engine.ts";
export { RecipeError } from "./recipes/mistakes.ts";
export type { Mistake } from "./recipes/mistakes.ts";
export { resolveRecipe } from "./recipes/resolve.ts";
export type { ResolvedRecipe } from "./recipes/resolve.ts";
export type { Recipe } from "./recipes/schema.ts";
export type { TrainEvent } from "./train/events.ts";
export { train } from "./train/train.ts";
export type { TrainOptions, TrainOutcome } from "./train/train.ts";
