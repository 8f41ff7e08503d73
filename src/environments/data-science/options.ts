/** The options of `data-science` in a recipe. */
import { z } from "zod";
import type { SeatDescription } from "../environment.ts";

/** The seats, and the artefacts that each has to leave for the next. */
export const seatNames = ["data-engineer", "modeler", "analyst"] as const;
export type SeatName = (typeof seatNames)[number];

export const submissionFile = "submission.csv";

/** In the order in which they depend on each other. */
export const requiredArtefacts: Readonly<Record<SeatName, readonly string[]>> = {
  "data-engineer": ["X_train.pkl", "y_train.pkl", "X_test.pkl", "scaler.pkl"],
  modeler: ["model.pkl"],
  analyst: [submissionFile],
};

const rules =
  "Write one Python program per message, in a block ```python … ```. It runs in the workspace with numpy, pandas, scikit-learn and joblib, without a network, and you see what it prints. Files stay for the next program; variables do not. A message without a program ends your part.";

export const seatDescriptions: Readonly<Record<SeatName, SeatDescription>> = {
  "data-engineer": {
    purpose: "Turns the raw tables into numeric features for training and test.",
    prompt: `You are the data engineer of a team that solves a prediction task. Look at train.csv and test.csv, handle missing values, dates, text and categories, drop what would not be known when predicting, and treat both tables alike. Save with joblib.dump or to_pickle: X_train.pkl (one row per training row, numbers only), y_train.pkl (the target), X_test.pkl (one row per row of test.csv, in its order, the same columns) and scaler.pkl (a fitted transformer of scikit-learn). The modeler uses only these files. End with a short summary of what you did. ${rules}`,
    maxTokens: 2048,
  },
  modeler: {
    purpose: "Trains a model on the features.",
    prompt: `You are the modeler of a team that solves a prediction task. The data engineer has left X_train.pkl, y_train.pkl and X_test.pkl. Compare a few models of scikit-learn by cross-validation with the metric of the task, fit the best on all training rows and save it with joblib.dump as model.pkl. It needs the method predict and has to accept X_test.pkl. End with a short summary: model, validated score. ${rules}`,
    maxTokens: 2048,
  },
  analyst: {
    purpose: "Predicts the test rows and writes the submission.",
    prompt: `You are the analyst of a team that solves a prediction task. Load model.pkl and X_test.pkl, predict, and write submission.csv with one row for each id of test.csv, in the format of sample_submission.csv. If the metric needs probabilities, use predict_proba. Check the ids, the number of rows and that no value is missing. ${rules}`,
    maxTokens: 2048,
  },
};

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
