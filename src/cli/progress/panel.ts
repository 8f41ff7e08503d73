/** The lines of the live panel for a state. Pure, for tests. */
import { styleText } from "node:util";
import type { ServerLoad } from "../../engines/engine.ts";
import { showBytes, showCount, showDuration, showLarge, showShare, showText } from "../../format.ts";
import { evaluationLine, lossNotes, rewardParts, serviceNotes, stageNames, trustParts } from "./lines.ts";
import type { ProgressState } from "./state.ts";
import { secondsLeft, tokensPerSecond } from "./state.ts";

/**
 * @param memory resident bytes of this process
 * @param servers that compute for it
 */
export function panelLines(
  state: ProgressState,
  columns: number,
  memory: number,
  servers: readonly ServerLoad[] = [],
): string[] {
  return [
    "",
    headLine(state),
    barLine(state, columns),
    ...measureLines(state),
    ...servers.map(serverLine),
    footLine(state, memory),
    dim("Ctrl-C finishes the step, saves and stops; twice: immediately"),
  ];
}

function headLine(state: ProgressState): string {
  return `${styleText("bold", state.run)}  ${state.phase}`;
}

function barLine(state: ProgressState, columns: number): string {
  if (state.stage === null) return dim("no step yet");
  const steps = state.steps[state.stage];
  const left = secondsLeft(state);
  const label = ` ${stageNames[state.stage]} ${state.done}/${steps}${left === null ? "" : `  ${showDuration(left)} left`}`;
  const width = Math.max(10, Math.min(40, columns - label.length - 1));
  const full = steps === 0 ? width : Math.round((width * Math.min(state.done, steps)) / steps);
  return `${styleText("green", "━".repeat(full))}${dim("─".repeat(width - full))}${label}`;
}

function measureLines(state: ProgressState): string[] {
  const { metrics, evaluation } = state;
  const lines: string[] = [];
  if (metrics?.rollout !== undefined) {
    const trend = sparkline(state.successes.slice(-30));
    lines.push(`success ${showShare(metrics.rollout.success)}  ${styleText("green", trend)}`);
    lines.push(`reward  ${rewardParts(metrics).join("   ")}  ${dim("team + local")}`);
    lines.push(trustParts(metrics).join("   "));
  } else if (metrics !== null) {
    const losses = Object.entries(metrics.policies).map(([name, { loss }]) => `${name} ${loss.toFixed(3)}`);
    lines.push(`loss    ${losses.join("   ")}`);
  }
  lines.push(...lossNotes(state).map((note) => styleText("yellow", note)));
  const services = serviceNotes(state.services, true);
  if (services.length > 0) lines.push(`services  ${services.join("   ")}`);
  if (evaluation !== null) lines.push(evaluationLine(evaluation, state.steps));
  return lines;
}

function footLine(state: ProgressState, memory: number): string {
  const { metrics, timing } = state;
  const rate =
    metrics === null || timing === null ? [] : [`${showLarge(tokensPerSecond(metrics, timing))} tokens/s`];
  return [...rate, `memory ${showBytes(memory)}`, dim(state.engine)].join("   ");
}

/** `server  127.0.0.1:8000   12 requests waiting   paused for lack of capacity   at most 50 models` */
function serverLine({ server, waiting, queue, capacity, silence }: ServerLoad): string {
  const parts = [
    `server  ${showText(server, 60)}`,
    `${showCount(waiting)} ${waiting === 1 ? "request" : "requests"} waiting`,
    ...(silence === null ? [] : [styleText("yellow", `no answer for ${showDuration(silence.seconds)}`)]),
    ...(queue === null ? [] : [styleText("yellow", showText(queue, 120))]),
    ...(capacity === null ? [] : [dim(showText(capacity, 120))]),
  ];
  return parts.join("   ");
}

const bars = "▁▂▃▄▅▆▇█";

/** Shares from 0 to 1, one character each. */
export function sparkline(shares: readonly number[]): string {
  return shares.map((share) => bars[Math.min(7, Math.floor(Math.max(0, share) * 8))]).join("");
}

function dim(text: string): string {
  return styleText("dim", text);
}
