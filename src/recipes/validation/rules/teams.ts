/** Whether the roles of a team fit the environment's seats, the policies and the order of acting. */
import type { Algorithm } from "../../../credit/algorithm.ts";
import type { Environment } from "../../../environments/environment.ts";
import { didYouMean } from "../../../nearest.ts";
import type { SamplingScheme } from "../../../rollout/episode.ts";
import type { RoleInput, TeamInput } from "../../../teams/build.ts";
import type { RoleName } from "../../../teams/team.ts";
import type { RecipeTeam } from "../../schema.ts";
import type { Path } from "../../tree.ts";
import { below, type Problem, type Rule } from "../rule.ts";

/** The trained team, and those it is compared with. */
export const teams: Rule = ({ recipe, environment }) => {
  const policies = Object.keys(recipe.policies);
  const compared = Object.entries(recipe.evaluation.compare);
  return [
    ...below(["team"], teamProblems(recipe.team, environment, policies)),
    ...compared.flatMap(([name, team]) =>
      below(["evaluation", "compare", name], teamProblems(team, environment, policies)),
    ),
  ];
};

/** Paths start at the team: `["roles", "scout", "seat"]`. */
export function teamProblems(
  input: TeamInput,
  environment: Environment,
  policies: readonly string[],
): readonly Problem[] {
  const roles = Object.entries(input.roles).flatMap(([name, role]) => [
    ...unknownSeat(name, role, environment),
    ...unknownPolicy(name, role, policies),
    ...forgets(name, role, environment),
  ]);
  const order =
    environment.next === undefined ? phaseProblems(input, environment) : ownOrder(input, environment);
  const seats = [...besideAlone(input, environment), ...emptySeats(input, environment)];
  return [...roles, ...hostedProblems(input, environment), ...seats, ...order, ...noTurns(input)];
}

/** The environment decides which seat acts, and thereby which role. */
function ownOrder(input: TeamInput, { name }: Environment): readonly Problem[] {
  const problem = `${name} decides itself which seats act`;
  const twice = sharedSeats(input, () => false);
  return input.phases.length === 0 ? twice : [{ path: ["phases"], problem, fix: "remove it" }, ...twice];
}

/** Roles in a seat that another role has, unless the seat repeats. */
function sharedSeats(input: TeamInput, repeats: (seat: string) => boolean): readonly Problem[] {
  const seats = new Map<string, RoleName>();
  return Object.keys(input.roles).flatMap((role) => {
    const seat = seatOf(input, role);
    const other = seats.get(seat);
    seats.set(seat, other ?? role);
    return other === undefined || repeats(seat) ? [] : [sameSeat(role, other, seat)];
  });
}

function unknownSeat(name: RoleName, role: RoleInput, environment: Environment): readonly Problem[] {
  const seat = role.seat ?? name;
  const seats = Object.keys(environment.seats);
  if (seats.includes(seat)) return [];
  const ownName = role.seat === undefined ? " (by default a role's seat is its name)" : "";
  return [
    {
      path: ["roles", name, "seat"],
      problem: `${environment.name} has no seat \`${seat}\`${ownName}`,
      fix: hint(seat, seats, "its seats are"),
    },
  ];
}

function hostedProblems({ roles, hosted = {} }: TeamInput, environment: Environment): readonly Problem[] {
  return Object.keys(hosted).flatMap((name) => {
    const path = ["hosted", name];
    if (environment.drive === undefined) {
      const problem = `a model of a service plays roles of programs that drive themselves, and ${environment.name} is none`;
      return [{ path, problem, fix: "give the role a policy, or use `environment: command`" }];
    }
    if (!Object.hasOwn(roles, name)) return unknownSeat(name, { policy: "" }, environment);
    return [{ path, problem: "the team has another role of this name", fix: "rename or remove one of them" }];
  });
}

function unknownPolicy(name: RoleName, role: RoleInput, policies: readonly string[]): readonly Problem[] {
  if (policies.includes(role.policy)) return [];
  return [
    {
      path: ["roles", name, "policy"],
      problem: `there is no policy \`${role.policy}\``,
      fix: hint(role.policy, policies, "the policies are"),
    },
  ];
}

function forgets(name: RoleName, role: RoleInput, environment: Environment): readonly Problem[] {
  const seat = role.seat ?? name;
  const reason = Object.hasOwn(environment.seats, seat) ? environment.seats[seat]?.remembers : undefined;
  if (reason === undefined || role.memory === "conversation") return [];
  const problem = `\`${name}\` must keep its messages: ${reason}`;
  return [{ path: ["roles", name, "memory"], problem, fix: "set `memory: conversation`" }];
}

function emptySeats(input: TeamInput, environment: Environment): readonly Problem[] {
  const taken = new Set(Object.keys(input.roles).map((name) => seatOf(input, name)));
  return Object.entries(environment.seats)
    .filter(([seat, { required }]) => required === true && !taken.has(seat))
    .map(([seat]) => ({
      path: ["roles"],
      problem: `no role has the seat \`${seat}\`, without which ${environment.name} cannot be played`,
      fix: `add \`${seat}: { policy: … }\``,
    }));
}

/** A seat that plays alone excludes all others. */
function besideAlone(input: TeamInput, environment: Environment): readonly Problem[] {
  const names = Object.keys(input.roles);
  const lone = names.find((name) => environment.seats[seatOf(input, name)]?.alone !== undefined);
  if (lone === undefined) return [];
  const seat = seatOf(input, lone);
  return names
    .filter((name) => seatOf(input, name) !== seat)
    .map((name) => ({
      path: ["roles", name],
      problem: `\`${lone}\` must be alone: ${environment.seats[seat]?.alone}`,
      fix: `remove the role, as with \`${name}: null\`, or the option`,
    }));
}

function neverActs(name: RoleName): Problem {
  return {
    path: ["roles", name],
    problem: `the role \`${name}\` is in no phase`,
    fix: "add it to a phase or remove it",
  };
}

function phaseProblems(input: TeamInput, { seats }: Environment): readonly Problem[] {
  const repeats = (seat: string): boolean => Object.hasOwn(seats, seat) && seats[seat]?.repeats === true;
  const idle = Object.keys(input.roles).filter((name) => !input.phases.flat().includes(name));
  const problems = [...idle.map(neverActs), ...sharedSeats(input, repeats)];
  const acted = new Set<RoleName>();
  if (input.phases.length === 0) problems.push(nobody(["phases"]));
  input.phases.forEach((phase, index) => {
    if (phase.length === 0) problems.push(nobody(["phases", index]));
    const taken = new Map<string, RoleName>();
    phase.forEach((name, position) => {
      const path = ["phases", index, position];
      const seat = seatOf(input, name);
      const other = taken.get(seat);
      if (!Object.hasOwn(input.roles, name)) problems.push(unknownRole(path, name, input));
      else if (acted.has(name)) problems.push(actsTwice(path, name, repeats(seat)));
      else if (other !== undefined && repeats(seat)) problems.push(actAtOnce(path, name, other, seat));
      acted.add(name);
      taken.set(seat, name);
    });
  });
  return problems;
}

function seatOf(input: TeamInput, name: RoleName): string {
  return (Object.hasOwn(input.roles, name) ? input.roles[name]?.seat : undefined) ?? name;
}

function nobody(path: Path): Problem {
  return { path, problem: "no role acts here", fix: "name at least one role" };
}

function unknownRole(path: Path, name: RoleName, input: TeamInput): Problem {
  return {
    path,
    problem: `there is no role \`${name}\``,
    fix: hint(name, Object.keys(input.roles), "the roles are"),
  };
}

function actsTwice(path: Path, name: RoleName, repeats: boolean): Problem {
  return {
    path,
    problem: `the role \`${name}\` acts twice in a turn`,
    fix: `let it act once${repeats ? ", or add a role with the same seat and policy" : ""}`,
  };
}

function sameSeat(name: RoleName, other: RoleName, seat: string): Problem {
  return {
    path: ["roles", name],
    problem: `\`${other}\` and \`${name}\` have the seat \`${seat}\`, where a turn has room for one action`,
    fix: "give the seat one role",
  };
}

function actAtOnce(path: Path, name: RoleName, other: RoleName, seat: string): Problem {
  return {
    path,
    problem: `\`${other}\` and \`${name}\` act simultaneously in the seat \`${seat}\``,
    fix: "put them in separate phases",
  };
}

function noTurns({ turns }: TeamInput): readonly Problem[] {
  if (Number.isInteger(turns) && turns >= 1) return [];
  return [{ path: ["turns"], problem: `${turns} is not a number of turns`, fix: "use 1 or more" }];
}

function hint(name: string, candidates: readonly string[], list: string): string {
  return didYouMean(name, candidates) ?? `${list} ${candidates.join(", ") || "none"}`;
}

/** What an algorithm depends on in a team. */
export interface TeamShape {
  readonly phases: readonly (readonly string[])[];
  readonly turns: number;
  /** The environment decides who acts: assumes each role acts once per turn. */
  readonly isGuessed?: boolean;
}

export function teamShape({ roles, phases, turns }: RecipeTeam, environment: Environment): TeamShape {
  if (environment.next === undefined) return { phases, turns };
  return { phases: Object.keys(roles).map((role) => [role]), turns, isGuessed: true };
}

/** A tree with more joint actions is not intended. */
const largestTree = 4096;

export function treeSize(
  { name, sampling }: Pick<Algorithm, "name" | "sampling">,
  team: TeamShape,
): readonly Problem[] {
  if (jointActions(sampling, team) <= largestTree) return [];
  const most = mostSamples(sampling, team);
  if (most === 0) {
    const problem = `with ${team.turns} turns an episode could have more than ${largestTree} joint actions`;
    return [{ path: ["team", "turns"], problem, fix: "use fewer turns" }];
  }
  const { root, inner } = sampling.branch;
  const problem = `with ${Math.max(root, inner)} samples an episode's tree could have more than ${largestTree} joint actions`;
  const fewer = most === 1 ? "" : `at most ${most} samples, `;
  const keepsAll = sampling.keep === "all" && sampling.branch.inner > 1 && sampling.continued === undefined;
  const fix = keepsAll
    ? `use ${fewer}${name === "c3" ? "`continued: once`" : "`handOver: best`"} or fewer turns`
    : `use ${fewer || "fewer samples, "}or ${sampling.joint === "cross" ? "`joint: aligned`" : "fewer turns"}`;
  return [{ path: ["algorithm", "samples"], problem, fix }];
}

/** Most samples that fit the largest tree; 0: not even one. */
function mostSamples(sampling: SamplingScheme, team: TeamShape): number {
  const { root, inner } = sampling.branch;
  const fits = (count: number): boolean => {
    const branch = { root: Math.min(root, count), inner: Math.min(inner, count) };
    return jointActions({ ...sampling, branch }, team) <= largestTree;
  };
  let count = Math.min(Math.max(root, inner), largestTree);
  while (count > 0 && !fits(count)) count--;
  return count;
}

/** Nodes of a whole episode without an early end; stops counting above the limit. */
function jointActions(
  { branch, keep, joint, continued }: SamplingScheme,
  { phases, turns }: TeamShape,
): number {
  if (phases.length === 0) return 0;
  let [total, tips, continuations] = [0, 1, 0];
  for (let turn = 0; turn < turns && total <= largestTree; turn++) {
    for (const [phase, roles] of phases.entries()) {
      const count = turn === 0 && phase === 0 ? branch.root : branch.inner;
      const children = tips * count ** (joint === "cross" ? roles.length : 1);
      total += children + continuations;
      if (continued === "once") continuations += children - 1;
      else tips = keep === "all" ? children : tips;
    }
  }
  return total;
}
