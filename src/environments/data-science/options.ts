/** The options of `data-science` in a recipe. */
import { z } from "zod";
import { seatNames } from "./seats.ts";

export const dataScienceOptions = z.strictObject({
  tasks: z
    .string()
    .min(1)
    .default("generated")
    .describe(
      "`generated`: 24 generated tasks. Otherwise a folder with one folder for each task (docs/data-science.md), relative to this file.",
    ),
  sampling: z
    .enum(["uniform", "stratified"])
    .default("uniform")
    .describe(
      "stratified: an epoch of training has as many classification as regression tasks; those of the rarer type are repeated.",
    ),
  seats: z
    .array(z.enum(seatNames))
    .min(1)
    .refine((seats) => new Set(seats).size === seats.length, "a seat occurs twice")
    .default([...seatNames])
    .describe("The seats that act, in this order; `[analyst]` alone does everything."),
  actions: z.int().min(1).max(50).default(4).describe("Most actions of a seat, with a program each."),
  stopWhenComplete: z
    .boolean()
    .default(false)
    .describe("A seat's part ends as soon as its files are there and usable."),
  repeatTask: z
    .boolean()
    .default(true)
    .describe(
      "true: every prompt has the task and the seat's last program, for `memory: turn`. false: later prompts of a seat only have what is new, for `memory: conversation`.",
    ),
  target: z
    .number()
    .gt(0)
    .max(1)
    .default(0.8)
    .describe("Success: this share of the way from the best constant prediction to gold."),
  seconds: z.number().min(1).max(3600).default(60).describe("Processor time of a program."),
  megabytes: z.int().min(256).max(65_536).default(1024).describe("Memory of a program."),
  diskMegabytes: z.int().min(1).max(4096).default(64).describe("Size of the workspace."),
  files: z.int().min(8).max(1000).default(64).describe("Files in the workspace; others are removed."),
  outputCharacters: z
    .int()
    .min(100)
    .max(20_000)
    .default(2000)
    .describe("Of what a program prints, the last characters that its author sees."),
});

export type DataScienceOptions = z.output<typeof dataScienceOptions>;
