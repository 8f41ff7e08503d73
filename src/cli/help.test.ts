import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { withoutIdleHelp } from "./help.ts";
import { makeProgram } from "./program.ts";
import { visibleLength } from "./table.ts";

function helpOf(command: Command, helpWidth: number): string[] {
  const helper = command.createHelp();
  helper.prepareContext({ helpWidth });
  return helper.formatHelp(command, helper).split("\n");
}

const program = makeProgram();
const commands = [program, ...program.commands, ...program.commands.flatMap((each) => each.commands)];

describe("help", () => {
  it.each([60, 80])("fits a terminal of %d columns", (width) => {
    const long = commands.flatMap((command) =>
      helpOf(command, width).filter((line) => visibleLength(line) > width),
    );
    expect(long).toEqual([]);
  });

  it("is given about help as by itself", () => {
    expect(withoutIdleHelp(program, ["help", "--help"])).toEqual(["help"]);
    expect(withoutIdleHelp(program, ["help", "train", "-h"])).toEqual(["help", "train"]);
  });

  it("is not given for a command that does not exist", () => {
    for (const argv of [
      ["trian", "--help"],
      ["trian", "-h"],
      ["help", "trian"],
    ]) {
      expect(withoutIdleHelp(program, argv)).toEqual(["trian"]);
    }
    expect(withoutIdleHelp(program, ["runs", "compar", "--help"])).toEqual(["runs", "compar"]);
    for (const argv of [
      ["--help"],
      ["help"],
      ["help", "train"],
      ["train", "x", "--help"],
      ["runs", "compare", "-h"],
      [],
    ]) {
      expect(withoutIdleHelp(program, argv)).toBe(argv);
    }
  });
});
