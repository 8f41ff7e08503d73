import { inflateSync } from "node:zlib";
import { assert, integer, property, uint8Array } from "fast-check";
import { describe, expect, it } from "vitest";
import { RowError } from "./problem-set.ts";
import { readPickledText } from "./pickled-text.ts";

const hex = (text: string) => Buffer.from(text, "hex");
const packed = (text: string) => inflateSync(Buffer.from(text, "base64"));

// All from CPython 3.11, `pickle.dumps(value, protocol=…)`.
describe("a pickled string", () => {
  it.each([
    ["protocol 2", "8002580400000068c3a90a71002e"],
    ["protocol 3", "8003580400000068c3a90a71002e"],
    ["protocol 4", "80049508000000000000008c0468c3a90a942e"],
    ["protocol 5", "80059508000000000000008c0468c3a90a942e"],
  ])("in %s is read", (_, bytes) => {
    expect(readPickledText(hex(bytes))).toBe("hé\n");
  });

  it.each([
    [
      "protocol 2",
      "eNrtwkERACAIADA0EG+j+NUGNiA6Aayw22ruWiPOBQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACA34tsxY0N7A==",
    ],
    [
      "protocol 4",
      "eNrtwjENACAMADBI0LMbKbxMyURMMAKw0LS1Tu05bgIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAwK/jASlSDhE=",
    ],
  ])("in %s, longer than a frame, is read", (_, bytes) => {
    expect(readPickledText(packed(bytes))).toBe("ab".repeat(40_000));
  });
});

describe("anything else is rejected", () => {
  it.each([
    [
      "a call of os.system",
      "8004952b000000000000008c05706f736978948c0673797374656d9493948c10746f756368202f746d702f6f776e656494859452942e",
    ],
    [
      "a call in a list",
      "80025d710028580100000078710163706f7369780a73797374656d0a71025810000000746f756368202f746d702f6f776e65647103857104527105652e",
    ],
    ["a list", "80049508000000000000005d948c017894612e"],
    ["bytes", "8004950500000000000000430178942e"],
    ["a number", "80044b052e"],
    ["protocol 0", "56780a70300a2e"],
    ["protocol 1", "58010000007871002e"],
    ["a lone surrogate", "80049507000000000000008c03eda080942e"],
    ["something after the end", "80049508000000000000008c0468c3a90a942e2e"],
    ["two strings", "8004952b000000000000008c0178948c0179942e"],
    ["nothing", ""],
  ])("%s", (_, bytes) => {
    expect(() => readPickledText(hex(bytes))).toThrow(RowError);
  });

  it("a length beyond the end, of any size", () => {
    for (const bytes of ["80045805000000616263642e", "80048dffffffffffffffff612e", "80048c", "8004"])
      expect(() => readPickledText(hex(bytes))).toThrow("pickle: it breaks off");
  });

  it("any bytes give a string or RowError", () => {
    const start = hex("8004");
    assert(
      property(uint8Array({ maxLength: 60 }), integer({ min: 0, max: 1 }), (bytes, withStart) => {
        const input = Buffer.concat([withStart === 1 ? start : Buffer.alloc(0), bytes]);
        const read = (): string => {
          try {
            return typeof readPickledText(input);
          } catch (error) {
            return error instanceof RowError ? "string" : String(error);
          }
        };
        expect(read()).toBe("string");
      }),
      { numRuns: 2000 },
    );
  });
});
