/** Episodes as arguments: each is checked once, however often a program navigates it. */
import { z } from "zod";
import { checkArgument } from "../arguments.ts";
import * as codec from "../rollout/codec.ts";
import type { Episode } from "../rollout/episode.ts";

export const identified = z.looseObject({ id: z.string() });

export const node = z.looseObject({ id: z.string(), parent: z.string().nullable() });

const edge = z.looseObject({ action: z.string() });

/** What navigation reads, also of an episode that is still growing. */
const record = z.looseObject(
  {
    id: z.string(),
    nodes: z.array(node.extend({ actions: z.array(edge) })),
    actions: z.array(identified),
  },
  "expected an episode (readEpisodes)",
);

const navigable = new WeakSet<Episode>();
const whole = new WeakSet<Episode>();

/** @throws TroupeError `bad_arguments`, as below */
export function checkRecord(episode: Episode): void {
  if (navigable.has(episode)) return;
  checkArgument("episode", record, episode);
  navigable.add(episode);
}

/** An episode that can be recorded. */
export function checkEpisode(name: string, episode: Episode): void {
  if (whole.has(episode)) return;
  codec.checkEpisode(name, episode);
  whole.add(episode);
}
