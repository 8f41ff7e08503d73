/** Collects what is asked at about the same time into batches, and bounds how many of them are answered at once. */

export interface BatchLimits {
  /** Batches that are answered at once. */
  readonly concurrency: number;
  /** Items of a batch at most. */
  readonly batch: number;
}

/**
 * A function that gives the answer to one item. While all places are taken, items wait, and the next batch takes as many of
 * them as it may.
 * @param answer gives the answers to a batch, in its order; where it rejects, all of the batch do
 */
export function batched<Item, Answer>(
  { concurrency, batch }: BatchLimits,
  answer: (items: readonly Item[]) => Promise<readonly Answer[]>,
): (item: Item) => Promise<Answer> {
  const waiting: { readonly item: Item; readonly given: PromiseWithResolvers<Answer> }[] = [];
  let running = 0;

  const answerNext = async (): Promise<void> => {
    const taken = waiting.splice(0, batch);
    try {
      const answers = await answer(taken.map(({ item }) => item));
      for (const [index, { given }] of taken.entries()) given.resolve(answers[index] as Answer);
    } catch (error) {
      for (const { given } of taken) given.reject(error);
    }
  };
  const fill = (): void => {
    while (running < concurrency && waiting.length > 0) {
      running++;
      void answerNext().finally(() => {
        running--;
        fill();
      });
    }
  };
  return (item) => {
    const given = Promise.withResolvers<Answer>();
    waiting.push({ item, given });
    // Not at once: what is asked in the same moment belongs into one batch.
    setImmediate(fill);
    return given.promise;
  };
}
