/** Judges colours (src/cli/testing/colours.ts), with the habit that is its argument in every third start. */
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

interface Action {
  readonly id: string;
  readonly observation: string;
  readonly reply: { readonly text: string };
}

const [, , habit = "none"] = process.argv;
appendFileSync("judge-starts", ".");
const isStrange = readFileSync("judge-starts", "utf8").length % 3 === 0;
const lines = readFileSync(0, "utf8").trim().split("\n");
const answers = lines
  .map((line) => JSON.parse(line) as Action)
  .map(({ id, observation, reply }) =>
    JSON.stringify({ id, score: reply.text.trim() === observation.split(" ").at(-1) ? 1 : 0.25 }),
  );
const whole = answers.map((answer) => `${answer}\n`).join("");
if (!isStrange || habit === "none") process.stdout.write(whole);
else if (habit === "answers twice") process.stdout.write(whole + whole);
else if (habit === "breaks off") process.stdout.write(whole.slice(0, whole.length / 2));
else if (habit === "writes nonsense") process.stdout.write(`nonsense\n${"{".repeat(50)}\n`);
else if (habit === "answers others") process.stdout.write(whole.replaceAll('"id":"', '"id":"other'));
else if (habit === "is late") await delay(30_000);
else if (habit === "crashes") process.exit(3);
else writeFileSync("/dev/stderr", `unknown habit ${habit}\n`);
