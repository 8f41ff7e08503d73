/** A child process whose question names what to do. */
import { serve } from "../serve.ts";

const kept: unknown[] = [];
let asked = 0;

const does: Readonly<Record<string, () => void>> = {
  spin: () => {
    for (;;);
  },
  // A third of the limit, of the processor.
  work: () => {
    for (const before = used(); used() < before + 100_000;);
  },
  // Of the clock only.
  sleep: () => sleep(600),
  "sleep for ever": () => sleep(),
  "fill the memory": fill,
  "fill the memory if used": () => {
    if (asked > 1) fill();
  },
  end: () => process.exit(1),
  // What V8 does if the system refuses memory.
  abort: () => process.abort(),
};

function used(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

function sleep(milliseconds?: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

function fill(): void {
  for (;;) kept.push(Array.from({ length: 10_000 }, () => kept.length));
}

serve((question) => {
  const { one } = question as { readonly one: string };
  asked++;
  does[one]?.();
  const isAlone = one === "has no environment" && Object.keys(process.env).length === 0;
  return { isSame: isAlone || one.includes("same") };
});
