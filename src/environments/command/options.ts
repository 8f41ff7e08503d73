import { z } from "zod";
import { passedVariables } from "../../calls/secrets.ts";

/** Values of `reward` that are not the path of a module. */
export const rewardPlaces: readonly string[] = ["last-line", "file", "exit-code", "none"];

export const commandOptions = z.strictObject({
  run: z
    .tuple([z.string().min(1)], z.string())
    .describe("The program and its arguments, started once for each episode."),
  directory: z
    .string()
    .min(1)
    .default(".")
    .describe("Its working directory, relative to this file. Default: the folder of this file."),
  seats: z
    .array(z.string().min(1))
    .min(1)
    .default(["agent"])
    .describe("Whom the program may call. Default in a recipe: its roles."),
  dataset: z
    .strictObject({
      files: z
        .object({
          train: z.string().describe("JSON lines, each a task: any JSON, which the program gets."),
          heldOut: z.string().describe("The same for final evaluations; other splits may follow."),
        })
        .catchall(z.string()),
    })
    .describe("The tasks."),
  reward: z
    .string()
    .min(1)
    .default("last-line")
    .describe(
      "Where the reward is: `last-line` of the output, `file` (the one named by TROUPE_REWARD_FILE), `exit-code` (1 for 0), `none` (a judge gives it), or the path of a module whose default export grades an episode.",
    ),
  env: passedVariables,
  timeoutSeconds: z
    .number()
    .gt(0)
    .max(86_400)
    .default(300)
    .describe("The program is ended after this long without a call; waiting for an answer does not count."),
  processes: z.int().min(1).max(4096).default(8).describe("Most programs at the same time."),
  maxTokens: z.int().min(1).default(512).describe("Most tokens of a reply of roles without `maxTokens`."),
  words: z
    .array(z.string())
    .optional()
    .describe("Every word of prompts and replies, for the presets: small models with a vocabulary of words."),
});

export type CommandOptions = z.output<typeof commandOptions>;
