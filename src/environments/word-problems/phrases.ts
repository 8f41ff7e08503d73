/** What happens to a number of things in a problem: each phrase in words, and the operation that it means. */

/** As a plan writes them; a program divides with `//`. */
export const operators = ["+", "-", "*", "/"] as const;
export type Operator = (typeof operators)[number];

interface Phrase {
  readonly operator: Operator;
  readonly words: (by: number) => string;
}

export const phrases: Readonly<Record<string, Phrase>> = {
  finds: { operator: "+", words: (by) => `finds ${by} more` },
  buys: { operator: "+", words: (by) => `buys ${by}` },
  wins: { operator: "+", words: (by) => `wins ${by}` },
  given: { operator: "+", words: (by) => `is given ${by}` },
  loses: { operator: "-", words: (by) => `loses ${by}` },
  sells: { operator: "-", words: (by) => `sells ${by}` },
  away: { operator: "-", words: (by) => `gives away ${by}` },
  breaks: { operator: "-", words: (by) => `breaks ${by}` },
  times: { operator: "*", words: (by) => `ends up with ${by} times as many` },
  bags: { operator: "*", words: (by) => `fills ${by} bags with as many each` },
  copies: { operator: "*", words: (by) => `makes ${by} of each` },
  friends: { operator: "*", words: (by) => `is one of ${by} with as many , who put all together` },
  parts: { operator: "/", words: (by) => `keeps one of ${by} equal parts` },
  shares: { operator: "/", words: (by) => `shares all among ${by}` },
  every: { operator: "/", words: (by) => `keeps one in every ${by}` },
  packs: { operator: "/", words: (by) => `packs them in boxes of ${by} and counts boxes` },
};

export const apply: Readonly<Record<Operator, (left: number, right: number) => number>> = {
  "+": (left, right) => left + right,
  "-": (left, right) => left - right,
  "*": (left, right) => left * right,
  // Like Python's //.
  "/": (left, right) => Math.floor(left / right),
};
