/**
 * `npm run bench`: our speed compared with PyTorch and transformers, in one run on one machine (docs/benchmarks.md).
 */
import { TroupeError } from "../src/errors.ts";
import { madePeers, makePeers } from "./find-peers.ts";
import { measure } from "./measure.ts";
import { readOptions, usage, type Options } from "./options.ts";
import { Peer } from "./peer-process.ts";
import { reportLines } from "./report.ts";

const noPeers = "No peers: run with --make-peers once to have PyTorch and transformers beside these numbers.";

/** Progress goes to stderr; stdout has only the result. */
function tell(what: string): void {
  process.stderr.write(`${what}\n`);
}

async function startPeer(options: Options): Promise<Peer | undefined> {
  const python = options.peers ?? (options.makePeers ? makePeers() : madePeers());
  if (options.game || options.vocabularies || options.sandbox || options.scale || options.endToEnd)
    return undefined;
  if (python === undefined) tell(noPeers);
  return python === undefined ? undefined : Peer.start(python, options.threads);
}

async function bench(options: Options): Promise<void> {
  const peer = await startPeer(options);
  try {
    const found = await measure(options, peer, tell);
    const text = options.json ? JSON.stringify(found, null, 2) : reportLines(found).join("\n");
    process.stdout.write(`${options.json ? "" : "\n"}${text}\n`);
  } finally {
    peer?.close();
  }
}

try {
  const options = readOptions(process.argv.slice(2));
  if (options === undefined) process.stdout.write(`${usage}\n`);
  else await bench(options);
} catch (error) {
  if (!(error instanceof TroupeError)) throw error;
  process.stderr.write(`bench: ${error.message}\n`);
  process.exitCode = 1;
}
