import { describe, expect, it } from "vitest";
import { verifyAnswer, sameFinalAnswer } from "./answer.ts";

const isSame = async (one: string, other: string): Promise<boolean> =>
  (await sameFinalAnswer(one, other)).isSame;

describe("sameFinalAnswer", () => {
  it("compares in a process", async () => {
    expect(await isSame("\\frac{1}{\\sqrt{3}}", "\\frac{\\sqrt{3}}{3}")).toBe(true);
    expect(await isSame("x+1", "x+2")).toBe(false);
  });

  it("many pairs at once get their own verdicts", async () => {
    const pairs = Array.from({ length: 8 }, (_, index) => [
      `${index}+\\sqrt{2}`,
      `\\sqrt{2}+${index - (index % 2)}`,
    ]);
    const verdicts = await Promise.all(pairs.map(([one = "", other = ""]) => isSame(one, other)));
    expect(verdicts).toEqual(pairs.map((_, index) => index % 2 === 0));
  });

  it.each([
    ["a tower of powers", "9^{9^{9^{9}}}"],
    ["a huge factorial", "(10^{9})!"],
    ["a long sum", "\\sum_{k=1}^{10^{12}} \\frac{1}{k}"],
    ["deep nesting", "(".repeat(900) + ")".repeat(900)],
    ["nested fractions", "\\frac{1}{".repeat(300) + "2" + "}".repeat(300)],
    ["nested roots", "\\sqrt{".repeat(300) + "2" + "}".repeat(300)],
    ["a product of sums", Array.from({ length: 60 }, (_, n) => `(x+${n})`).join("")],
    ["megabytes", "9".repeat(5_000_000)],
    ["code", "\\operatorname{process}.exit(1)"],
    ["prototypes", "__proto__"],
  ])("%s is data, and the next pair is compared", async (_, hostile) => {
    expect(await isSame(hostile, "5+\\sqrt{7}")).toBe(false);
    expect(await isSame("5+\\sqrt{7}", "\\sqrt{7}+5")).toBe(true);
  });
});

describe("verifyAnswer", () => {
  it.each([
    ["so \\boxed{\\frac{1}{2}}", ["0.5"], true, "boxed"],
    ["the answer is 80", ["081", "080"], true, "phrase"],
    ["it is 7", ["8"], false, "number"],
    ["I do not know", ["8"], false, null],
  ])("%s against %j", async (text, accepted, isCorrect, source) => {
    expect(await verifyAnswer(text, accepted)).toMatchObject({ isCorrect, source });
  });
});
