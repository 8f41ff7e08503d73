/** `troupe coach`: what a coach said, and how much attacks raise its scores. */
import { Command } from "commander";
import { unrecordedCalls } from "../calls/recorded.ts";
import { standardRetries } from "../calls/retry.ts";
import { runsFolder } from "../command-line.ts";
import { TroupeError } from "../errors.ts";
import { showCount, showText } from "../format.ts";
import type { AttackReport } from "../judges/judge.ts";
import { readVerdictLog, type LoggedQuestion, type VerdictLog } from "../judges/verdicts.ts";
import { judgeOf } from "../recipes/resolve.ts";
import { findRecipe } from "../recipes/shipped.ts";
import type { Verdict } from "../rollout/episode.ts";
import { mean } from "../statistics.ts";
import { findRun } from "./places.ts";
import { printJson, printLines, printNote } from "./print.ts";
import { tableLines, wrapped } from "./table.ts";

export function coachCommand(): Command {
  return new Command("coach")
    .description("read what the coach of a run said, and test that of a recipe")
    .addCommand(showCommand())
    .addCommand(attacksCommand());
}

function attacksCommand(): Command {
  return new Command("attacks")
    .description("measure how much 40 attacks on the coach raise the scores of weak steps; asks it 156 times")
    .argument("<recipe>", "recipe with a coach")
    .argument("[key.path=value...]", "changes to the recipe, `judge.model=other`")
    .option("--json", "print one JSON document")
    .action(async (given: string, overrides: string[], { json }: { json?: boolean }) => {
      const judge = await judgeOf(findRecipe(given), overrides);
      if (judge?.measureAttacks === undefined)
        throw new TroupeError(
          "bad_arguments",
          `${given} has no judge that attacks can be measured on; name a coach`,
        );
      const report = await judge.measureAttacks({
        calls: unrecordedCalls(),
        retries: standardRetries,
        report: (notice) => printNote(`judging ${notice}`),
      });
      if (json === true) printJson(report);
      else printLines(reportLines(report));
    });
}

function reportLines({ without, gains, mean: meanGain, interval, failed }: AttackReport): string[] {
  const rows = gains.map(({ kind, name, gain }) => [kind, name, gain === null ? "no verdict" : signed(gain)]);
  const raised = gains.flatMap(({ gain }) => (gain !== null && gain > 0 ? [gain] : []));
  const range =
    interval === null ? "" : `, 95 % interval ${signed(interval.low)} to ${signed(interval.high)}`;
  return [
    ...tableLines([{ title: "kind" }, { title: "attack" }, { title: "gain", align: "right" }], rows),
    "",
    `score without an attack: ${without === null ? "no verdict" : without.toFixed(2)} of 10`,
    meanGain === null
      ? "no gain could be measured"
      : `mean gain over ${gains.length} attacks: ${signed(meanGain)}${range}`,
    `attacks that raised a score: ${raised.length}${raised.length === 0 ? "" : `, by up to ${signed(Math.max(...raised))}`}`,
    ...(failed === 0 ? [] : [`verdicts that failed: ${failed}`]),
  ];
}

function signed(value: number): string {
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;
}

interface ShowArguments {
  readonly failures?: boolean;
  readonly role?: string;
  readonly episode?: string;
  readonly runs: string;
  readonly json?: boolean;
}

/** `troupe coach show RUN`: what a run's judge said about each action, and its answers that were no verdict. */
function showCommand(): Command {
  return new Command("show")
    .description("print the verdicts of a run, with their reasons, and answers that were none")
    .argument("<run>", "name or folder of a run")
    .option("--failures", "only actions without a verdict, and those with answers that were none")
    .option("--role <name>", "only actions of this role")
    .option("--episode <id>", "only actions of this episode, such as train/12/3")
    .option("--runs <folder>", "folder of the runs", runsFolder)
    .option("--json", "print one JSON document")
    .action(async (given: string, options: ShowArguments) => {
      const { questions, usage } = await readVerdictLog(await findRun(given, options.runs));
      const found = { usage, questions: questions.filter((one) => isWanted(one, options)) };
      if (options.json === true) printJson(found);
      else printLines(logLines(found));
    });
}

function isWanted(
  { about, verdicts, rejected }: LoggedQuestion,
  { failures, role, episode }: ShowArguments,
): boolean {
  const hasFailed = rejected.length > 0 || verdicts.length === 0 || verdicts.some(isFailure);
  return (
    (failures !== true || hasFailed) &&
    (role === undefined || about?.role === role) &&
    (episode === undefined || about?.episode === episode)
  );
}

function isFailure(verdict: Verdict): boolean {
  return "failure" in verdict;
}

function logLines({ questions, usage }: VerdictLog): string[] {
  if (questions.length === 0) return ["no verdicts"];
  return [
    ...questions.flatMap((question) => [...questionLines(question), ""]),
    ...roleTable(questions),
    ...(usage === null
      ? []
      : [
          "",
          ...wrapped(
            `used in the whole run: ${showCount(usage.requests)} requests, ${showCount(usage.inputTokens)} tokens in, ${showCount(usage.outputTokens)} out${usage.dollars === 0 ? "" : `, $${usage.dollars.toFixed(2)}`}`,
            width,
          ),
        ]),
  ];
}

const width = 80;

function questionLines({ about, verdicts, rejected }: LoggedQuestion): string[] {
  const [one] = verdicts;
  const shared = one === undefined ? "no verdict" : "failure" in one ? `no verdict: ${one.failure}` : null;
  const actions = about.actions ?? verdicts.map(() => ({ id: "", text: "" }));
  const place = `${about.role} in ${about.episode}`;
  return [
    ...actions.flatMap(({ id, text }, index) => [
      ...folded(id === "" ? place : `${place}, action ${id}`, ""),
      ...(text === "" ? [] : folded(`wrote: ${text}`, "  ")),
      ...verdictLines(shared === null ? verdicts[index] : undefined),
    ]),
    ...(shared === null ? [] : folded(shared, "  ")),
    ...rejected.flatMap(({ problem, text }) => [
      ...folded(`rejected: ${problem}`, "  "),
      ...text.split("\n").flatMap((line) => folded(line, "  | ")),
    ]),
  ];
}

function verdictLines(verdict: Verdict | undefined): string[] {
  if (verdict === undefined || "failure" in verdict) return [];
  const { score, blame, explanation = "" } = verdict;
  const blamed = blame === undefined || blame === null ? "" : `, blames ${blame}`;
  return [
    ...folded(`score ${score.toFixed(2)}${blamed}`, "  "),
    ...(explanation === "" ? [] : folded(`reason: ${showText(explanation, explanation.length)}`, "  ")),
  ];
}

/** Folds a text into lines that fit the width, each after the same beginning. */
function folded(text: string, before: string): string[] {
  const space = width - before.length;
  // A word longer than a line is broken.
  const words = text.replaceAll(
    /\S+/g,
    (word) => word.match(new RegExp(`.{1,${space}}`, "gsu"))?.join(" ") ?? "",
  );
  return wrapped(words, space).map((line) => `${before}${line}`.trimEnd());
}

function roleTable(questions: readonly LoggedQuestion[]): string[] {
  const byRole = Map.groupBy(questions, ({ about }) => about?.role ?? "not recorded");
  const blames = questions.flatMap(({ verdicts }) => verdicts.flatMap(blameOf));
  const rows = [...byRole].map(([role, own]) => {
    const scores = own.flatMap(({ verdicts }) =>
      verdicts.flatMap((one) => ("score" in one ? [one.score] : [])),
    );
    const without = own.filter(({ verdicts }) => verdicts.length === 0 || verdicts.some(isFailure));
    const rejected = own.flatMap((one) => one.rejected);
    const blamed = blames.filter((name) => name === role);
    return [
      role,
      showCount(scores.length),
      scores.length === 0 ? "" : mean(scores).toFixed(2),
      showCount(blamed.length),
      showCount(without.length),
      showCount(rejected.length),
    ];
  });
  return tableLines(
    [
      { title: "role" },
      ...["verdicts", "mean", "blamed", "no verdict", "rejected answers"].map((title) => ({
        title,
        align: "right" as const,
      })),
    ],
    rows,
  );
}

function blameOf(verdict: Verdict): string[] {
  return "score" in verdict && typeof verdict.blame === "string" ? [verdict.blame] : [];
}
