/** SandboxFusion as a backend: a server run by somebody else, with the isolation it is configured with. */
import type { Backend } from "../backend.ts";
import { fusionSandbox, pingFusion } from "./client.ts";

export const sandboxFusion: Backend = {
  name: "sandboxfusion",
  isolation: "as its server is configured; by default none",
  fix: "start a server (bin/sandboxfusion.sh of this package) and set TROUPE_SANDBOX_URL=http://127.0.0.1:8080",
  async open({ url, workers, limits, service }) {
    if (url === undefined) return "no server is named";
    const base = url.replace(/\/+$/, "");
    try {
      await pingFusion(base);
    } catch (error) {
      return (error as Error).message;
    }
    const sandbox = fusionSandbox({ url: base, workers, limits, service });
    return { sandbox, python: "the server's", landlock: 0, wholeLimits: false };
  },
};
