import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { rootKey } from "../../random.ts";
import { advance, plainContext, plainReply, seatsToAct, startEpisode } from "../progression.ts";
import { evaluationTasks } from "../tasks.ts";
import { guessNumber } from "./guess-number.ts";
import { quiz } from "./quiz.ts";

const source = readFileSync(new URL("quiz.ts", import.meta.url), "utf8");
const manual = readFileSync(new URL("../../../docs/writing-an-environment.md", import.meta.url), "utf8");
const context = plainContext(rootKey(1));

it("quiz is linked from the manual, and has at most 80 lines", () => {
  expect(manual).toContain("](../src/environments/examples/quiz.ts)");
  expect(source.trimEnd().split("\n").length).toBeLessThanOrEqual(80);
});

it("quiz decides who acts: the researcher, then the writer, whatever the phases say", async () => {
  const environment = await quiz.create(quiz.options.parse({}));
  const schedule = { phases: [["writer"]], turns: 1 };
  const [first] = await evaluationTasks(environment, "heldOut", 1);
  let position = await startEpisode(environment, first?.task ?? null, context);
  expect(seatsToAct(environment, schedule, position)).toEqual(["researcher"]);
  const asked = { researcher: plainReply("capital of France") };
  ({ position } = await advance(environment, schedule, position, asked, context));
  expect(position).toMatchObject({ turn: 0, phase: 1, done: false });
  expect(seatsToAct(environment, schedule, position)).toEqual(["writer"]);
  expect(environment.observe(position.state, "writer")).toEqual([
    { role: "user", content: "capital of France" },
    { role: "user", content: "Paris" },
  ]);
  const answered = { writer: plainReply("Paris") };
  ({ position } = await advance(environment, schedule, position, answered, context));
  expect(position).toMatchObject({ turn: 1, phase: 0, done: true });
  expect(environment.outcome(position.state)).toEqual({ success: true, score: 1 });
});

it("guess-number is won in 6 turns by halving, if the referee tells the truth", () => {
  const environment = guessNumber.create({});
  for (let secret = 1; secret <= 32; secret++) {
    let state = environment.start({ secret });
    for (let turn = 0; turn < 6 && !environment.outcome(state).success; turn++) {
      const [, low = "", , high = ""] = environment.observe(state, "guesser").split(" ");
      const middle = Math.floor((Number(low) + Number(high)) / 2);
      state = environment.step(state, { guesser: String(middle) }).state;
      if (environment.outcome(state).success) break;
      state = environment.step(state, { referee: environment.solve(state, "referee") }).state;
    }
    expect(environment.outcome(state)).toEqual({ success: true, score: 1 });
  }
});
