/** A form that a recipe can name, with its own options. */
import { z } from "zod";
import type { MathSeat, TeamForm } from "./form.ts";

export interface FormDefinition<Shape extends z.ZodRawShape = z.ZodRawShape> {
  readonly name: string;
  readonly summary: string;
  /** Beside `name`. */
  readonly options: Shape;
  build(options: z.output<z.ZodObject<Shape>>): TeamForm;
}

/** Keeps the types of the options. */
export function defineForm<Shape extends z.ZodRawShape>(definition: FormDefinition<Shape>): FormDefinition {
  return definition;
}

/** `candidate1`, `candidate2`, …; the bare name if there is one. */
export function numbered(name: string, count: number): readonly string[] {
  return count === 1 ? [name] : Array.from({ length: count }, (_, index) => `${name}${index + 1}`);
}

/** The same seat under several names. */
export function seatsNamed(names: readonly string[], seat: MathSeat): Record<string, MathSeat> {
  return Object.fromEntries(names.map((name) => [name, seat]));
}

export const howMany = (standard: number, least = 1) => z.int().min(least).max(16).default(standard);
