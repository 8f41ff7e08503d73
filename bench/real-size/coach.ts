/** A coach by rules: the share of letters, digits and spaces in a reply. A random model's replies differ in it. */
import { createInterface } from "node:readline";

interface Action {
  readonly id: string;
  readonly reply: { readonly text: string };
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, reply } = JSON.parse(line) as Action;
  const plain = reply.text.match(/[a-z0-9 ]/gi)?.length ?? 0;
  console.log(JSON.stringify({ id, score: plain / Math.max(1, reply.text.length) }));
}
