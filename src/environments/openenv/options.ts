import { z } from "zod";
import { hasNoCredentials } from "../../clients/options.ts";

const json = z.record(z.string(), z.unknown());
const variable = z.string().regex(/^[A-Za-z_]\w*$/, "the name of an environment variable");

export const openEnvOptions = z.strictObject({
  url: z
    .url({ protocol: /^https?$/ })
    .refine(hasNoCredentials, "an address without user and password; a key is read from `token`")
    .describe("The server's address, as in `http://localhost:8000`."),
  token: variable.optional().describe("The environment variable that contains its bearer token."),
  seats: z
    .array(z.string().min(1))
    .min(1)
    .default(["agent"])
    .describe("Who plays. Default in a recipe: its roles."),
  player: z
    .strictObject({
      field: z
        .string()
        .min(1)
        .describe(
          "Of the observation, such as `current_player_id`; of the server's state with `state.` before it.",
        ),
      values: z
        .array(z.union([z.string(), z.number()]))
        .optional()
        .describe("What it says of each seat. Default: the seats' names, or 0, 1, …."),
    })
    .optional()
    .describe("Where the server says which seat moves. Default: the seats take turns."),
  action: z
    .string()
    .min(1)
    .optional()
    .describe(
      "The field of an action that a reply becomes, in the type of the server's schema; `json`: the reply contains the whole action as a JSON object. Default: the only field that is required, else `json`.",
    ),
  fields: json.default({}).describe("Further fields of every action."),
  observation: z
    .string()
    .min(1)
    .optional()
    .describe(
      "What a seat sees: text with fields of the observation in braces, as in `{prompt}` or `{board.0}`. Default: the observation as JSON.",
    ),
  memory: z
    .enum(["conversation", "turn"])
    .default("conversation")
    .describe("conversation: a prompt has all that the seat saw and wrote. turn: only what it sees now."),
  reset: json.default({}).describe("What every `reset` is given besides the task."),
  dataset: z
    .strictObject({
      files: z
        .object({
          train: z.string().describe("JSON lines, each an object that `reset` is given."),
          heldOut: z.string().describe("The same for final evaluations; other splits may follow."),
        })
        .catchall(z.string()),
    })
    .optional()
    .describe("The tasks. Default: `seed`, a number that no two splits share."),
  score: z
    .enum(["sum", "last"])
    .default("sum")
    .describe("Of an episode's rewards: their sum, or the last one."),
  bounds: z
    .tuple([z.number(), z.number()])
    .refine(([low, high]) => low < high, "the lower number first")
    .default([0, 1])
    .describe(
      "The lowest and the highest score of an episode, which become 0 and 1. One beyond them ends the run.",
    ),
  rewards: z
    .enum(["team", "seat", "zero-sum"])
    .default("team")
    .describe(
      "Whose the rewards are: the team's; the seat's that moved; or what one of two seats wins, the other loses.",
    ),
  errors: z
    .enum(["failure", "action"])
    .default("failure")
    .describe(
      "What an exception of the server's `step` is: a failure, which is retried and never rewarded, or a bad action, for servers that raise one for an illegal move.",
    ),
  sessions: z
    .int()
    .min(1)
    .max(4096)
    .default(1)
    .describe(
      "Most sessions at the same time: the server's `max_concurrent_envs`, of which the default is 1.",
    ),
  timeoutSeconds: z
    .number()
    .gt(0)
    .max(86_400)
    .default(60)
    .describe("Time limit of an answer of the server; longer counts as a failure."),
  maxTokens: z.int().min(1).default(512).describe("Most tokens of a reply of roles without `maxTokens`."),
  words: z
    .array(z.string())
    .optional()
    .describe("Every word of prompts and replies, for the presets: small models with a vocabulary of words."),
});

export type OpenEnvOptions = z.output<typeof openEnvOptions>;
