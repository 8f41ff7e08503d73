import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { extractAnswer, longestAnswer } from "./extract.ts";

describe("extractAnswer", () => {
  it.each([
    ["so \\boxed{5}", "5"],
    ["\\boxed{1} is wrong, \\boxed{2} is right", "2"],
    ["$\\boxed{\\frac{1}{\\sqrt{2}}}$.", "\\frac{1}{\\sqrt{2}}"],
    ["\\boxed{\\{1, 2\\}}", "\\{1, 2\\}"],
    ["\\boxed{\\text{a \\} b}}", "\\text{a \\} b}"],
    ["\\boxed{\\boxed{7}}", "7"],
    ["\\fbox{8}", "8"],
    ["\\boxed 9", "9"],
    ["\\boxed{12} and then \\boxed{13", "12"],
    ["The answer is 5", "5"],
    ["The final answer is: $x = 5$. I hope it is correct.", "$x = 5$"],
    ["**Answer:** \\(3\\sqrt{2}\\)", "3\\sqrt{2}"],
    ["The answers: none. The answer is $1$ and $2$.", "$1$ and $2$"],
    ["The answer is therefore 12.", "12"],
    ["The answer is thus $12$.", "$12$"],
    ["The answer is, then, equal to 12", "12"],
    ["The answer is simply **12**.", "12"],
    ["The answer is therefore\n12", "12"],
    ["The answer is clearly 12, as 3 + 9 = 12", "12"],
    ["The answer is thusly", "thusly"],
    ["答案是１２", "12"],
    ["She pays 3 * 4 = 12.\n#### 12", "12"],
    ["we get 3 and then 1,234.5", "1,234.5"],
    ["so it is -7", "-7"],
    ["half of it, 3/4", "3/4"],
    ["we get 3 1/2", "3 1/2"],
    ["The answer is not 5, it is 7", "7"],
    ["The answer isn't $5$ but $7$.", "7"],
    ["The answer is not 1,000 but 7", "7"],
    ["The answer cannot be 5; it is 7", "7"],
    ["The answer is 7, not 5", "7"],
    ["The answer is 7 (not 5)", "7"],
    ["The answer is 7 rather than 5.", "7"],
    ["The answer is not possible", "not possible"],
  ])("%s", (text, answer) => {
    expect(extractAnswer(text)?.text).toBe(answer);
  });

  it.each([
    "",
    "no number",
    "\\boxed{}",
    "\\boxed{",
    "\\boxed{13",
    "The answer is not 5.",
    "it is $x^2$",
    "so \\sqrt{5}",
  ])("finds nothing in %j", (text) => {
    expect(extractAnswer(text)).toBeNull();
  });

  it("says how the answer was written", () => {
    expect(extractAnswer("\\boxed{1}")?.source).toBe("boxed");
    expect(extractAnswer("the answer is 1")?.source).toBe("phrase");
    expect(extractAnswer("1")?.source).toBe("number");
  });

  it("any text is data, and an answer has a limit", () => {
    const piece = fc.constantFrom("\\boxed", "{", "}", "\\", "answer is", "$", "9", "x", "\n");
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 200 }), (pieces) => {
        const found = extractAnswer(pieces.join(""));
        expect(found?.text.length ?? 0).toBeLessThanOrEqual(longestAnswer);
      }),
    );
    expect(extractAnswer("\\boxed{".repeat(200_000))).toBeNull();
    expect(extractAnswer(`\\boxed{${"9".repeat(1_000_000)}}`)?.source).not.toBe("boxed");
  });

  it("a box is found whatever precedes it", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.integer(), (text, answer) => {
        expect(extractAnswer(`${text} \\boxed{${answer}}`)?.text).toBe(String(answer));
      }),
    );
  });
});
