import { z } from "zod";
import { passedVariables } from "../../calls/secrets.ts";

/** Values of `reward` that are not the path of a module. */
export const rewardPlaces: readonly string[] = [
  "last-line",
  "file",
  "exit-code",
  "answer",
  "webhook",
  "none",
];

const ofPrograms = ["last-line", "file", "exit-code"];
const address = z.url({ protocol: /^https?$/ });

export const commandOptions = z
  .strictObject({
    run: z
      .tuple([z.string().min(1)], z.string())
      .optional()
      .describe("The program and its arguments, started once for each episode."),
    url: address
      .refine((url) => {
        const { username, password, search, hash } = new URL(url);
        return [username, password, search, hash].every((part) => part === "");
      }, "an address without user, password and query; a key is read from `keyVariable`")
      .optional()
      .describe(
        "In place of `run`: a service that is already running and answers `POST /episodes` below it.",
      ),
    keyVariable: z
      .string()
      .regex(/^[A-Z][A-Z0-9_]*$/, "expected the name of an environment variable")
      .optional()
      .describe("Environment variable with the service's key, sent as a bearer token."),
    directory: z
      .string()
      .min(1)
      .default(".")
      .describe("The program's working directory, relative to this file. Default: the folder of this file."),
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
      .optional()
      .describe(
        "Where the reward is: `last-line` of the output (the default), `file` (the one named by TROUPE_REWARD_FILE), `exit-code` (1 for 0), `answer` of a service (its default), `webhook` (posted to TROUPE_REWARD_URL), `none` (a judge gives it), or the path of a module whose default export grades an episode.",
      ),
    env: passedVariables,
    sandbox: z
      .boolean()
      .default(false)
      .describe(
        "Whether programs run in isolation, with nothing but the gateway to reach. Needs bubblewrap.",
      ),
    readable: z
      .array(z.string().min(1))
      .default([])
      .describe(
        "What a program in the sandbox may read besides its folder: files and folders, relative to this file.",
      ),
    gateway: z
      .strictObject({
        host: z
          .string()
          .min(1)
          .default("127.0.0.1")
          .describe("The address of this machine that it listens at."),
        port: z.int().min(0).max(65_535).default(0).describe("Its port; 0: a free one."),
        url: address.optional().describe("How programs elsewhere reach it. Default: by host and port."),
      })
      .optional()
      .describe("Where programs and services reach the roles. Default: at this machine alone."),
    timeoutSeconds: z
      .number()
      .gt(0)
      .max(86_400)
      .default(300)
      .describe(
        "The program is ended after this long without a call; waiting for an answer does not count. Also the limit of a grader, and of the wait for a webhook.",
      ),
    processes: z
      .int()
      .min(1)
      .max(4096)
      .default(8)
      .describe("Most programs, or episodes of a service, at the same time."),
    maxTokens: z.int().min(1).default(512).describe("Most tokens of a reply of roles without `maxTokens`."),
    words: z
      .array(z.string())
      .optional()
      .describe(
        "Every word of prompts and replies, for the presets: small models with a vocabulary of words.",
      ),
  })
  .check(({ value, issues }) => {
    for (const [key, message] of mistakesIn(value))
      issues.push({ code: "custom", path: [key], message, input: value[key] });
  })
  .transform(({ reward, ...rest }) => ({
    ...rest,
    reward: reward ?? (rest.url === undefined ? "last-line" : "answer"),
  }));

interface Given {
  readonly run?: unknown;
  readonly url?: string | undefined;
  readonly keyVariable?: string | undefined;
  readonly reward?: string | undefined;
  readonly sandbox: boolean;
  readonly readable: readonly string[];
  readonly gateway?: { readonly host: string; readonly url?: string | undefined } | undefined;
}

/** What cannot be combined, and what is expected instead. */
function mistakesIn(given: Given): readonly (readonly [keyof Given, string])[] {
  const { run, url, keyVariable, reward, sandbox, readable, gateway } = given;
  const isService = url !== undefined;
  const wrong: readonly (readonly [boolean, keyof Given, string])[] = [
    [
      isService === (run !== undefined),
      isService ? "url" : "run",
      "either `run`, a program, or `url`, a service",
    ],
    [!isService && keyVariable !== undefined, "keyVariable", "none without `url`, a service"],
    [
      isService && ofPrograms.includes(reward ?? ""),
      "reward",
      "answer, webhook, none or a module, because a service has no output",
    ],
    [!isService && reward === "answer", "reward", "a place in what a program writes, such as last-line"],
    [isService && sandbox, "sandbox", "false, because a service runs where it was started"],
    [readable.length > 0 && !sandbox, "readable", "nothing without `sandbox: true`"],
    [sandbox && gateway !== undefined, "gateway", "none, because programs in the sandbox reach it without"],
    [
      ["0.0.0.0", "::"].includes(gateway?.host ?? "") && gateway?.url === undefined,
      "gateway",
      "the `url` that programs use, because they cannot call 0.0.0.0 or ::",
    ],
  ];
  return wrong.flatMap(([isWrong, key, expected]) => (isWrong ? [[key, expected] as const] : []));
}

export type CommandOptions = z.output<typeof commandOptions>;
export type ProgramOptions = CommandOptions & { readonly run: readonly [string, ...string[]] };
export type ServiceOptions = CommandOptions & { readonly url: string };
