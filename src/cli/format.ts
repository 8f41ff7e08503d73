/** Numbers as people read them; reports, which stand below the commands, show them in the same way. */
export * from "../format.ts";
