/** Every form with scripted teams: who acts when, who sees what, whose answer counts, what is earned. */
import { readFileSync } from "node:fs";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { sandbox, works } from "../../code/testing/sandbox.ts";
import { conformanceChecks } from "../../conformance.ts";
import type { Environment } from "../../environment.ts";
import { mathOptions } from "../options.ts";
import { playTeam, teamEnvironment } from "../testing/team.ts";
import { phasesOf } from "../order.ts";
import { formOf, formSchema, type FormSettings } from "./forms.ts";

const right = "3 + 4 = \\boxed{7}";
const wrong = "3 + 4 = \\boxed{8}";

/** Rows of digits: row i sees column j. */
const matrixOf = (...rows: readonly string[]) => rows.map((row) => Array.from(row, Number));

const pair = {
  name: "graph",
  members: { ada: {}, bob: { writes: "comment" } },
  rounds: [{ spatial: matrixOf("01", "00") }, { temporal: matrixOf("11", "10") }],
  answer: "ada",
};
const settings: Readonly<Record<string, unknown>> = { graph: pair };

describe.runIf(works).each(["tool-reasoner", "mathchat", "debate", "graph"])("the form %s", async (name) => {
  const definition = {
    name: "math",
    summary: "",
    options: mathOptions,
    create: () => teamEnvironment(settings[name] ?? name) as unknown as Environment,
  };
  // Each task runs programs.
  const options = { turns: 3, services: { sandbox }, milliseconds: 60_000, tasks: 4 };
  it.each(await conformanceChecks(definition, options))("$name", { timeout: 120_000 }, ({ run }) =>
    expect(run()).resolves.toBeUndefined(),
  );
});

/** Row i sees column j. */
const matrices = fc.integer({ min: 1, max: 6 }).chain((size) =>
  fc.array(fc.array(fc.constantFrom(0, 1), { minLength: size, maxLength: size }), {
    minLength: size,
    maxLength: size,
  }),
);

const graphOf = (spatial: readonly (readonly number[])[]) => ({
  name: "graph",
  members: Object.fromEntries(spatial.map((_, index) => [`m${index}`, {}])),
  rounds: [{ spatial }],
  answer: "m0",
});

describe("the order of acting", () => {
  it("is that of who sees whom: everybody once, after those whom they see, as early as possible", () => {
    fc.assert(
      fc.property(matrices, (matrix) => {
        const spatial = matrix.map((row, viewer) => row.map((cell, seen) => (seen < viewer ? cell : 0)));
        const order = phasesOf(formOf(formSchema.parse(graphOf(spatial))), 0).map(({ seats }) => seats);
        const place = (index: number) => order.findIndex((seats) => seats.includes(`m${index}`));
        expect(order.flat().toSorted()).toEqual(spatial.map((_, index) => `m${index}`).toSorted());
        spatial.forEach((row, viewer) => {
          const seen = row.flatMap((cell, index) => (cell === 1 ? [place(index)] : []));
          expect(place(viewer)).toBe(Math.max(-1, ...seen) + 1);
        });
      }),
    );
  });

  it("exists exactly if the matrix has no cycle", () => {
    fc.assert(
      fc.property(matrices, (spatial) => {
        const build = () => formOf(formSchema.parse(graphOf(spatial)));
        expect(isRejected(build)).toBe(hasCycle(spatial));
      }),
    );
  });
});

function isRejected(build: () => unknown): boolean {
  try {
    build();
    return false;
  } catch (error) {
    return (error as Error).message.includes("wait for each other");
  }
}

/** A path from somebody to themselves; each pass doubles the length of the paths found. */
function hasCycle(matrix: readonly (readonly number[])[]): boolean {
  let reach = matrix.map((row) => row.map((cell) => cell === 1));
  for (let pass = 0; pass < matrix.length; pass++)
    reach = reach.map((row) =>
      row.map(
        (isSeen, other) => isSeen || row.some((isBetween, via) => isBetween && reach[via]?.[other] === true),
      ),
    );
  return reach.some((row, index) => row[index]);
}

it("the example of docs/math.md is a form", () => {
  const page = readFileSync(new URL("../../../../docs/math.md", import.meta.url), "utf8");
  const example = [...page.matchAll(/```yaml\n([^]*?)```/g)]
    .map(([, text = ""]) => text)
    .find((text) => text.startsWith("form:"));
  const { form } = parse(example ?? "") as { readonly form: FormSettings };
  const { seats, answer } = formOf(formSchema.parse(form));
  expect(Object.keys(seats)).toEqual(["author", "calculator", "critic"]);
  expect(answer).toBe("author");
});

const verify = (reasoner: readonly string[]) =>
  playTeam(teamEnvironment("self-verify"), { reasoner }, { turns: 4, phases: [["reasoner"]] });

describe("a reasoner that verifies itself", () => {
  it("sees its last solution, and is done once it repeats an answer", async () => {
    const played = await verify([wrong, right, "\\boxed{7.0}"]);
    expect(played.sawOf("reasoner")[1]).toBe(
      `Problem:\n\nWhat is 3 + 4?\n\nYour last solution:\n\n${wrong}\n\nVerify this solution, correct what is wrong, and give the final answer in \\boxed{}.`,
    );
    expect([played.acts.length, played.done, played.success]).toEqual([3, true, true]);
  });

  it("is done with a wrong answer, too: nothing tells it the truth; but not by giving none", async () => {
    const played = await verify([wrong]);
    expect([played.acts.length, played.done, played.success]).toEqual([2, true, false]);
    expect((await verify(["no idea"])).acts).toHaveLength(4);
  });
});

describe("a chain", () => {
  it("passes solution and comments on; the refiner's answer counts", async () => {
    const script = { generator: [wrong], verifier: ["The sum is off. \\boxed{0}"], refiner: [right] };
    const played = await playTeam(teamEnvironment("chain"), script);
    expect(played.order).toEqual(["generator", "verifier", "refiner"]);
    expect(played.sawOf("generator")).toEqual(["Problem:\n\nWhat is 3 + 4?"]);
    expect(played.sawOf("verifier")[0]).toBe(
      `Problem:\n\nWhat is 3 + 4?\n\nWritten by generator:\n\n\`\`\`\n${wrong}\n\`\`\``,
    );
    expect(played.sawOf("refiner")[0]).toBe(
      `Problem:\n\nWhat is 3 + 4?\n\nWritten by generator:\n\n\`\`\`\n${wrong}\n\`\`\`\n\nWritten by verifier:\n\n\`\`\`\nThe sum is off. \\boxed{0}\n\`\`\``,
    );
    expect(played.acts.map(({ reward }) => [reward?.team, reward?.local])).toEqual([
      [0, 0.2],
      [1, 1],
      [1, 1],
    ]);
    expect(played.success).toBe(true);
  });

  it.each([
    [right, "\\boxed{0}", 0, 0.2, "the judgement 0 of generator is wrong"],
    [right, "\\boxed{0} no, \\boxed{1}", 1, 1, undefined],
    [wrong, "fine", 0, 0, "no judgement: 1 or 0 in \\boxed{}"],
    [wrong, "\\boxed{0} but \\boxed{maybe}", 0, 0, "no judgement: 1 or 0 in \\boxed{}"],
  ])("after %s the judgement %s earns %d and %d", async (solution, judgement, team, local, reason) => {
    const script = { generator: [solution], verifier: [judgement], refiner: [right] };
    const [reward] = (await playTeam(teamEnvironment("chain"), script)).rewardsOf("verifier");
    expect(reward).toMatchObject({ team, local });
    expect(reward?.reason).toBe(reason);
  });
});

describe("a mixture of agents", () => {
  it("has independent candidates and an aggregator that sees all of them", async () => {
    const form = { name: "mixture", candidates: 2 };
    const script = { candidate1: [wrong], candidate2: [right], aggregator: [right] };
    const played = await playTeam(teamEnvironment(form), script, { turns: 2 });
    expect(played.order).toEqual([
      "candidate1 candidate2",
      "aggregator",
      "candidate1 candidate2",
      "aggregator",
    ]);
    const [first = ""] = played.sawOf("aggregator");
    expect(first).toContain(`Written by candidate1:\n\n\`\`\`\n${wrong}`);
    expect(first).toContain(`Written by candidate2:\n\n\`\`\`\n${right}`);
    const [before, later] = played.sawOf("candidate1");
    expect(before).toBe("Problem:\n\nWhat is 3 + 4?");
    expect(later).toContain(`Written by aggregator:\n\n\`\`\`\n${right}`);
    expect(later).not.toContain("candidate2");
    expect(played.rewardsOf("candidate1")[0]?.team).toBe(0);
    expect(played.success).toBe(true);
  });
});

describe("a debate", () => {
  const form = { name: "debate", debaters: 3 };

  it("shows each debater its own and the others' last solutions", async () => {
    const script = { debater1: [right, wrong], debater2: [wrong, right], debater3: ["\\boxed{9}", right] };
    const played = await playTeam(teamEnvironment(form), script, { turns: 2 });
    expect(played.order).toEqual(Array(2).fill("debater1 debater2 debater3"));
    expect(played.sawOf("debater2")[1]).toBe(
      [
        "Problem:\n\nWhat is 3 + 4?",
        `Your last solution:\n\n${wrong}`,
        "Written by debater3:\n\n```\n\\boxed{9}\n```",
        `Written by debater1:\n\n\`\`\`\n${right}\n\`\`\``,
        "Compare the solutions, and give the answer that you now think is right in \\boxed{}.",
      ].join("\n\n"),
    );
    expect(played.success).toBe(true);
  });

  it.each([
    [["\\boxed{8}", "\\boxed{7}", "so \\boxed{\\frac{14}{2}}"], true],
    [["\\boxed{7}", "\\boxed{8}", "\\boxed{9}"], true],
    [["\\boxed{8}", "\\boxed{7}", "\\boxed{9}"], false],
    [["no", "I do not know", "\\boxed{7}"], true],
    [["no", "no", "no"], false],
  ])(
    "with %j the majority, then the first, decides: %s",
    async ([one = "", two = "", three = ""], success) => {
      const script = { debater1: [one], debater2: [two], debater3: [three] };
      expect((await playTeam(teamEnvironment(form), script)).success).toBe(success);
    },
  );

  it("may leave out a debater's own solution, and show a few others only", async () => {
    const narrow = { ...form, seesItself: false, others: 1 };
    const played = await playTeam(teamEnvironment(narrow), { debater3: [right] }, { turns: 2 });
    expect(played.sawOf("debater2")[1]).toContain("Written by debater3:");
    expect(played.sawOf("debater2")[1]).not.toMatch(/debater1|Your last/);
  });
});

describe("a graph", () => {
  it("acts and sees as its matrices say, round by round", async () => {
    const played = await playTeam(
      teamEnvironment(pair),
      { ada: [wrong, right], bob: ["Add them."] },
      { turns: 3 },
    );
    expect(played.order).toEqual(["bob", "ada", "ada bob", "ada bob"]);
    expect(played.sawOf("ada")[0]).toBe(
      "Problem:\n\nWhat is 3 + 4?\n\nWritten by bob:\n\n```\nAdd them.\n```",
    );
    expect(played.sawOf("ada")[1]).toContain(`Your last solution:\n\n${wrong}`);
    expect(played.sawOf("bob").map((saw) => saw.includes("Written by ada"))).toEqual([false, true, true]);
    expect(played.rewardsOf("bob")).toEqual([null, null, null]);
    expect(played.success).toBe(true);
  });

  it.each([
    [{ rounds: [{ spatial: matrixOf("01", "10") }] }, "ada, bob wait for each other in round 1"],
    [{ rounds: [{}, { spatial: matrixOf("10", "00") }] }, "ada wait for each other in round 2"],
    [{ rounds: [{ spatial: [[0, 1]] }] }, "round 1, spatial: expected 2 rows of 2 numbers"],
    [{ rounds: [{ temporal: [[0], [1]] }] }, "round 1, temporal: expected 2 rows of 2 numbers"],
    [{ answer: "eve" }, "there is no member eve; the members are ada, bob"],
    [{ agreement: ["ada", "eve"] }, "there is no member eve"],
  ])("with %j is rejected", (change, message) => {
    expect(() => formOf(formSchema.parse({ ...pair, ...change }))).toThrow(message);
  });

  it("may let several members vote, and end when some agree", async () => {
    const voting = {
      ...pair,
      members: { ada: {}, bob: {} },
      answer: ["ada", "bob"],
      agreement: ["ada", "bob"],
    };
    const played = await playTeam(
      teamEnvironment(voting),
      { ada: [wrong, right], bob: [right] },
      { turns: 4 },
    );
    expect(played.order).toHaveLength(3);
    expect([played.done, played.success]).toEqual([true, true]);
  });
});
