/**
 * What the graders of APPS and LiveCodeBench import before every program. Programs rely on it: LiveCodeBench's classes begin
 * with `List[int]`. APPS's grader also imports numpy; here that would take longer than most tests.
 */

function modules(...names: readonly string[]): string {
  return `import ${names.join(", ")}\n`;
}

function everythingOf(...names: readonly string[]): string {
  return names.map((name) => `from ${name} import *\n`).join("");
}

export const appsImports =
  modules("collections", "fractions", "heapq", "itertools", "math", "random", "sys", "time") +
  "from collections import ChainMap, Counter, OrderedDict, defaultdict, deque\n" +
  "from functools import lru_cache\n" +
  "from itertools import accumulate, combinations, permutations, product\n" +
  "from math import ceil, cos, exp, fabs, floor, gcd, log, log2, sin, sqrt, tan\n" +
  "from typing import List, Tuple\n" +
  everythingOf("heapq") +
  "stdin, stdout = sys.stdin, sys.stdout\n";

/** In the grader's order: the last of two things with one name counts, such as Python's own `pow`. */
export const liveCodeBenchImports =
  everythingOf("string", "re", "datetime", "collections", "heapq", "bisect", "copy", "math", "random") +
  everythingOf(
    "statistics",
    "itertools",
    "functools",
    "operator",
    "io",
    "sys",
    "json",
    "builtins",
    "typing",
  ) +
  modules("string", "re", "datetime", "collections", "heapq", "bisect", "copy", "math", "random") +
  modules("statistics", "itertools", "functools", "operator", "io", "sys", "json") +
  "sys.setrecursionlimit(50000)\n";
