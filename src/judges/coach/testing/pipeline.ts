/** A team of three in a row for tests: a plan, a program with its output and a file, a final answer; nothing is rewarded. */
import type { Environment, StepResult } from "../../../environments/environment.ts";
import { rootKey } from "../../../random.ts";
import type { Episode, SamplingScheme } from "../../../rollout/episode.ts";
import { growEpisode } from "../../../rollout/grow.ts";
import { oneTrajectory } from "../../../rollout/setting.ts";
import { settingFor } from "../../../rollout/testing/numbers.ts";
import { scriptedEngine } from "../../../rollout/testing/scripted-engine.ts";
import type { Team } from "../../../teams/team.ts";
import { fixtureTokenizer } from "../../../text/testing/fixtures.ts";

type State = {
  readonly factors: readonly [number, number];
  readonly plan: string;
  readonly printed: string;
  readonly answer: string;
};

const seat = (purpose: string) => ({
  purpose,
  prompt: `You: ${purpose}.`,
  maxTokens: 64,
  judged: true as const,
});

const pipeline: Environment<{ readonly factors: readonly [number, number] }, State> = {
  name: "pipeline",
  seats: {
    solver: seat("plans the calculation"),
    executor: seat("writes a program for it"),
    verifier: seat("gives the final answer"),
  },
  tasks: {
    train: { size: 1, at: () => ({ factors: [17, 3] }) },
    heldOut: { size: 1, at: () => ({ factors: [5, 4] }) },
  },
  about: ({ factors: [one, other] }) => ({
    problem: `What is ${one} times ${other}?`,
    truth: `${one * other}`,
    type: "product",
  }),
  start: ({ factors }) => ({ factors, plan: "", printed: "", answer: "" }),
  observe: ({ factors, plan, printed }, name) => {
    const question = `${factors.join(" times ")}?`;
    return (
      { solver: question, executor: `${question} ${plan}`, verifier: `${question} ${printed}` }[name] ?? ""
    );
  },
  step: (state, replies) => {
    const [[name, reply] = ["", undefined]] = Object.entries(replies);
    return stepOf(state, name, reply?.text ?? "");
  },
  outcome: ({ factors: [one, other], answer }) => {
    const isRight = answer.includes(`${one * other}`);
    return { success: isRight, score: isRight ? 1 : 0 };
  },
  render: ({ plan, printed, answer }) => [plan, printed, answer].join("\n"),
};

function stepOf(state: State, name: string, text: string): StepResult<State> {
  const rewards = { [name]: null };
  if (name === "solver") return { state: { ...state, plan: text }, rewards, done: false };
  if (name === "verifier") return { state: { ...state, answer: text }, rewards, done: true };
  const printed = run(text);
  const files =
    printed === "SyntaxError" ? [] : [{ path: "result.txt", size: printed.length, note: printed }];
  return {
    state: { ...state, printed },
    rewards,
    done: false,
    evidence: { executor: { output: printed, files } },
  };
}

/** `print(17*3)` or `print(17+3)`. */
function run(program: string): string {
  const found = /^print\((\d+)([*+])(\d+)\)$/.exec(program);
  if (found === null) return "SyntaxError";
  const [one, other] = [Number(found[1]), Number(found[3])];
  return `${found[2] === "*" ? one * other : one + other}`;
}

const roles = ["solver", "executor", "verifier"] as const;
export type Role = (typeof roles)[number];

const team: Team = {
  roles: roles.map((name) => ({
    name,
    seat: name,
    policy: name,
    frozen: false,
    memory: "turn",
    maxTokens: 4096,
    stop: [],
  })),
  phases: roles.map((name) => [name]),
  turns: 1,
};

const policy = { tokenizer: fixtureTokenizer("qwen2"), maxLength: 1e6 };

/** What each role says; several: its samples, if the scheme has that many. */
export type Says = Readonly<Record<Role, string | readonly string[]>>;

export function play(says: Says, scheme: SamplingScheme = oneTrajectory): Promise<Episode> {
  const engine = scriptedEngine(policy.tokenizer, ({ policy: name }, index) => {
    const said = says[name as Role];
    return typeof said === "string" ? said : (said[index] ?? "");
  });
  const environment = pipeline as unknown as Environment;
  const policies = Object.fromEntries(roles.map((name) => [name, policy]));
  const setting = settingFor(policy, { environment, team, engine, scheme, policies });
  return growEpisode(setting, rootKey(3), { task: { factors: [17, 3] }, path: ["train", 1, 0] });
}

export const pipelineContext = { environment: pipeline as unknown as Environment, team };
