/** The sandbox with the packages of `troupe sandbox install data-science`. Tests that need it are skipped, visibly. */
import { memoryFiles } from "../../files/memory.ts";
import { unrecordedCalls } from "../../calls/recorded.ts";
import { cachedSandbox } from "../cached.ts";
import { openSandboxOfMachine } from "../from-environment.ts";
import type { Sandbox } from "../sandbox.ts";
import { routedSandbox } from "./routed.ts";

const routed = routedSandbox(openSandboxOfMachine);

/** `describe.runIf(hasPackages)` */
export const hasPackages = await routed.open("data-science").then(
  () => true,
  () => false,
);

export const files = memoryFiles();
export const sandbox: Sandbox = cachedSandbox(routed, unrecordedCalls(), files);
