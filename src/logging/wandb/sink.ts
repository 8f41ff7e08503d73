/**
 * Sends a run's points to Weights & Biases through its Python library, since it maintains none for JavaScript. Without a
 * connection (`mode: offline`) the library writes files into the run's folder for `wandb sync`.
 */
import { createHash } from "node:crypto";
import fs from "node:fs/promises";
import path from "node:path";
import { readRecipe } from "../../runs/read.ts";
import type { WandbSettings } from "../settings.ts";
import { openSent, readClock, readPoints, type Point, type Sink, type Sent } from "../sink.ts";
import { Bridge } from "./bridge.ts";

/** Points of one request. */
const mostPoints = 100;

type Environment = Readonly<Record<string, string | undefined>>;

export async function wandbSink(
  directory: string,
  settings: WandbSettings,
  environment: Environment,
): Promise<Sink> {
  const { project, entity, mode } = settings;
  const sent = await openSent(directory, "wandb", JSON.stringify([mode, entity ?? null, project]));
  let bridge: Bridge | null = null;
  const open = async () => {
    if (bridge !== null && !bridge.hasEnded) return bridge;
    bridge = new Bridge(settings.python, environment);
    await bridge.request({ init: await initOf(directory, settings) });
    return bridge;
  };
  return {
    title: "W&B",
    update: () => update(directory, sent, open),
    close: async () => bridge?.close(),
  };
}

async function update(directory: string, sent: Sent, open: () => Promise<Bridge>): Promise<void> {
  const due = (await readPoints(directory)).filter(({ key }) => !sent.has(key));
  for (let start = 0; start < due.length; start += mostPoints) {
    const points = due.slice(start, start + mostPoints);
    await (await open()).request({ points: points.map(pointOf) });
    await sent.add(points.map(({ key }) => key));
  }
}

function pointOf({ step, time, values }: Point): object {
  return { step, values: { ...Object.fromEntries(values), _timestamp: time / 1000 } };
}

/** Arguments of `wandb.init`. The same run has the same id in every process. */
async function initOf(directory: string, { project, entity, mode }: WandbSettings): Promise<object> {
  const dir = path.resolve(directory, "logging");
  // The library would otherwise use the machine's folder for temporary files, and say so in a warning.
  await fs.mkdir(path.join(dir, "wandb"), { recursive: true });
  const name = path.basename(path.resolve(directory));
  const { started } = await readClock(directory);
  const id = createHash("sha256").update(`${name}/${started}`).digest("hex").slice(0, 16);
  const config = await readRecipe(directory);
  return { id, name, project, mode, dir, config, ...(entity === undefined ? {} : { entity }) };
}
