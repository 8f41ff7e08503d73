/** docs/results/judged-algorithms.md, from the rows. */
import type { JudgedRow } from "./run.ts";

export function tableOf(rows: readonly JudgedRow[]): string {
  const lines = rows.map(
    ({ recipe, option, hasEffect, judged, unjudged, unrewarded, first, last }) =>
      `| ${recipe} | ${hasEffect ? "yes" : "no, and it is warned of"} | ${option === null ? "" : `\`${option}\``} | ${judged} | ${unjudged} | ${unrewarded} | ${first.toFixed(2)} → ${last.toFixed(2)} |`,
  );
  return `${introduction}
| recipe | judge has an effect | with | judged | unjudged | without reward | mean score, first → last |
| --- | --- | --- | ---: | ---: | ---: | --- |
${lines.join("\n")}
`;
}

const introduction = `# Every algorithm with a judge

The recipes of \`recipes/algorithms\`, from an untrained model (\`nano\`), for 24 steps with 4 tasks each. A judge gives all rewards
(\`fills: all\`): the share of the words that an agent writes that end in 1 or 2. It fails on one action in twenty.

\`node bench/judged/main.ts\` makes this page in about three minutes of processor time; [judged-algorithms.json](judged-algorithms.json) has the numbers.

- **judge has an effect:** the first two updates of the unchanged recipe differ from those with another judge. Otherwise the algorithm
  learns from the episode's score alone; \`troupe train\` warns of it and names the option under **with**.
- **judged, unjudged:** verdicts, and questions on which the judge failed.
- **without reward:** actions that trained nothing, because their reward is missing or their return depends on a missing one.
- **mean score:** of the first and the last three steps, with the option under **with**.

One failure in twenty leaves a third of the actions without a reward where the return is the sum of a trajectory's rewards.
`;
