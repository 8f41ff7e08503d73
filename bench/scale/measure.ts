/** What Troupe itself costs beside a server (docs/benchmarks.md). */
import { loadTokenizer } from "../../src/text/tokenizer.ts";
import { measureDay, type LongRun } from "./day.ts";
import { measureEpisodes, type EpisodeCost } from "./episodes.ts";
import { withNarrowModel } from "./narrow-model.ts";
import { replyBank } from "./replies.ts";

export interface Scale {
  /** Short replies, at once: does the cost of an episode depend on how many there are? */
  readonly atOnce: readonly EpisodeCost[];
  /** 10,000 concurrent episodes with replies of 480 tokens on average. */
  readonly concurrent: EpisodeCost;
  readonly day: LongRun;
}

/**
 * Time is compressed, because the processor time of an episode does not depend on how long a server takes. About a
 * quarter of an hour.
 */
export function measureScale(tell: (what: string) => void): Promise<Scale> {
  return withNarrowModel(async ({ folder, model }) => {
    const tokenizer = loadTokenizer(model);
    const short = replyBank(tokenizer, 200, 20);
    await measureEpisodes({ tokenizer, replies: short, count: 500, together: 500, speed: Infinity });
    const atOnce: EpisodeCost[] = [];
    for (const count of [100, 1000, 10_000, 100_000]) {
      tell(`${count} episodes, replies at once`);
      atOnce.push(
        await measureEpisodes({ tokenizer, replies: short, count, together: 1000, speed: Infinity }),
      );
    }
    tell("10,000 concurrent episodes");
    const [replies, count] = [replyBank(tokenizer, 200, 400), 10_000];
    const concurrent = await measureEpisodes({ tokenizer, replies, count, together: count, speed: 10 });
    tell("a day of training");
    const day = await measureDay({ folder, model, tokenizer, replies, steps: 1430, speed: 800 });
    return { atOnce, concurrent, day };
  });
}
