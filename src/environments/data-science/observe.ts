/** What the seats see. */
import { showText } from "../../format.ts";
import { fenced } from "../../text/fences.ts";
import type { Message } from "../environment.ts";
import { metricNamed } from "./metrics/metric.ts";
import { requiredArtefacts, seatNames, type DataScienceOptions, type SeatName } from "./options.ts";
import type { DataScienceState, LastAction } from "./state.ts";
import { showArtefacts } from "./step.ts";
import type { TabularTask } from "./tasks/task.ts";

const longestDescription = 6000;
const longestHandover = 1500;
const shownRows = 3;
const longestRow = 400;

/** The task in words: what to predict, how it is measured, and how the tables begin. */
export function briefOf({ about, truth, files, testRows }: TabularTask): string {
  const { title, description, metric, target, idColumn } = about;
  const direction = metricNamed(metric).isLargerBetter ? "larger is better" : "smaller is better";
  const labels =
    about.type === "classification" ? ` Its values: ${truth.classes.slice(0, 20).join(", ")}.` : "";
  return [
    `${title}\n\n${shortened(description, longestDescription)}`,
    `Predict ${target} for each ${idColumn} of test.csv (${testRows} rows). Metric: ${metric}, ${direction}.${labels}${positiveOf(about.metric, truth.classes, truth.positive)}`,
    ...Object.entries(files).map(([name, text]) => `${name} begins with\n${beginning(text)}`),
  ].join("\n\n");
}

function positiveOf(metric: TabularTask["metric"], classes: readonly string[], positive: string): string {
  const { values } = metricNamed(metric);
  if (classes.length > 2 && values === "probabilities")
    return " Submit a column of probabilities for each value.";
  if (classes.length !== 2) return "";
  return values === "probabilities" ? ` Submit the probability of ${positive}.` : "";
}

function beginning(text: string): string {
  const lines = text
    .slice(0, 10_000)
    .split("\n")
    .slice(0, 1 + shownRows);
  return fenced(lines.map((line) => showText(line, longestRow)).join("\n"), "");
}

export function observationOf(
  state: DataScienceState,
  seat: string,
  options: DataScienceOptions,
): string | readonly Message[] {
  const name = seatNames.find((one) => one === seat) ?? "analyst";
  const own = state.work[name];
  const isFirst = own === undefined || options.seats[state.acting] !== name || state.actions === 0;
  if (isFirst) return `${state.brief}\n\n${situationOf(state, name, options)}`;
  const answer = answerTo(state, name, own, options);
  if (!options.repeatTask) return answer;
  return [
    { role: "user", content: state.brief },
    { role: "assistant", content: own.text },
    { role: "user", content: answer },
  ];
}

/** What is in the workspace, and what the seat before has said. */
function situationOf(state: DataScienceState, seat: SeatName, options: DataScienceOptions): string {
  const index = options.seats.indexOf(seat);
  const before = options.seats[index - 1];
  const said = before === undefined ? undefined : state.work[before];
  return [
    `Files in the workspace:\n${filesOf(state)}`,
    ...(before === undefined || said === undefined ? [] : [handover(state, before, said)]),
    `You have to leave: ${neededOf(seat, options).join(", ")}. You can write ${options.actions} programs.`,
  ].join("\n\n");
}

/** A seat alone needs no files on the way. */
function neededOf(seat: SeatName, { seats }: DataScienceOptions): readonly string[] {
  return seats.length === 1 && seat === "analyst" ? requiredArtefacts.analyst : requiredArtefacts[seat];
}

function filesOf({ files }: DataScienceState): string {
  return Object.entries(files)
    .map(([name, { size }]) => `- ${name}, ${size} bytes`)
    .join("\n");
}

function handover(state: DataScienceState, seat: SeatName, { text }: LastAction): string {
  const reports = state.artefacts[seat] ?? [];
  const quoted =
    text.trim() === "" ? "" : `\nIts last message:\n${fenced(text.slice(-longestHandover).trim(), "")}`;
  return `The ${seat.replace("-", " ")} has left:\n${showArtefacts(reports)}${quoted}`;
}

function answerTo(
  state: DataScienceState,
  seat: SeatName,
  own: LastAction,
  options: DataScienceOptions,
): string {
  const left = options.actions - state.actions;
  return [
    own.output === "" ? "Your program printed nothing." : `Your program printed:\n${fenced(own.output, "")}`,
    ...(own.problem === null ? [] : [`Your program: ${own.problem}.`]),
    `Your files:\n${showArtefacts(state.artefacts[seat] ?? [])}`,
    `Files in the workspace:\n${filesOf(state)}`,
    `You can write ${left} more program${left === 1 ? "" : "s"}; a message without a program ends your part.`,
  ].join("\n\n");
}

function shortened(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1).toWellFormed()}…`;
}
