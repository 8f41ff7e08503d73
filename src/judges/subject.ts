/** What a question to a judge is about, recorded with the answer so that people can read it. */
import { z } from "zod";
import { showText } from "../format.ts";
import type { Occurrence } from "../rollout/navigate.ts";

export const subjectSchema = z.object({
  /** The id of the episode in which it was first asked. */
  episode: z.string(),
  role: z.string(),
  /** In the order of the verdicts: one, or alternatives, with the beginning of what the role wrote. */
  actions: z.array(z.object({ id: z.string(), text: z.string() })),
});

export type Subject = z.output<typeof subjectSchema>;

/** In characters; stored episodes have the whole text. */
const longestText = 300;

/** @param occurrences at least one, all of one role in one episode */
export function subjectOf(occurrences: readonly Occurrence[]): Subject {
  const [first] = occurrences;
  const actions = occurrences.map(({ action: { id, reply } }) => ({
    id,
    text: showText(reply.text.slice(0, 2 * longestText), longestText),
  }));
  return { episode: first?.episode.id ?? "", role: first?.action.role ?? "", actions };
}
