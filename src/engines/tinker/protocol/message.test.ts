import * as fc from "fast-check";
import { expect, it } from "vitest";
import {
  callOfJson,
  decodeCall,
  decodeOutput,
  encodeCall,
  encodeOutput,
  jsonOfCall,
  type LossCall,
} from "./forward-backward.ts";
import {
  flag,
  integer,
  integers,
  mapOf,
  message,
  nested,
  number,
  optional,
  repeated,
  text,
} from "./message.ts";
import { forwardBackwardOutput } from "./schema.ts";
import { int64Bytes } from "./tensors.ts";

const inner = message({ name: [1, text], sizes: [2, integers] });
const outer = message({
  count: [1, integer],
  isSet: [2, flag],
  ratio: [3, number],
  parts: [4, repeated(nested(inner))],
  byName: [5, mapOf(number)],
  one: [6, optional(text)],
});

const parts = fc.array(fc.record({ name: fc.string(), sizes: fc.array(fc.integer()) }), { maxLength: 3 });
const values = fc.record({
  count: fc.maxSafeInteger(),
  isSet: fc.boolean(),
  ratio: fc.double({ noNaN: true }).map((value) => value + 0),
  parts,
  byName: fc.dictionary(fc.oneof(fc.string(), fc.constant("__proto__")), fc.double({ noNaN: true })),
  one: fc.option(fc.string(), { nil: undefined }),
});

it("a message that was encoded is the same decoded", () => {
  fc.assert(
    fc.property(values, (value) => {
      const found = outer.decode(outer.encode(value));
      expect({ ...found, byName: { ...found.byName } }).toEqual({ ...value, byName: { ...value.byName } });
    }),
  );
});

it("the encoding is that of protobuf", () => {
  // protobuf.dev, "Encoding": field 1 with 150 is 08 96 01; field 2 with "testing" is 12 07 …
  const example = message({ a: [1, integer], b: [2, text] });
  const encoded = Buffer.from("089601120774657374696e67", "hex");
  expect(example.encode({ a: 150, b: "testing" })).toEqual(encoded);
  expect(example.decode(encoded)).toEqual({ a: 150, b: "testing" });
});

it("packed and unpacked integers are read, and unknown fields skipped", () => {
  const packed = Buffer.from("0a030102031005", "hex");
  expect(message({ sizes: [1, integers] }).decode(packed)).toEqual({ sizes: [1, 2, 3] });
  expect(message({ sizes: [1, integers] }).decode(Buffer.from("08010802", "hex"))).toEqual({ sizes: [1, 2] });
});

it("what is no such message is rejected", () => {
  expect(() => outer.decode(Buffer.from([255]))).toThrow(RangeError);
  expect(() => outer.decode(Buffer.from("0a0161", "hex"))).toThrow(/expected a whole number/);
});

const floats = fc.float32Array({ minLength: 2, maxLength: 2, noNaN: true });
const call: fc.Arbitrary<LossCall> = fc.record({
  modelId: fc.uuid(),
  seqId: fc.integer({ min: 0, max: 2 ** 31 - 1 }),
  loss: fc.constantFrom("ppo", "cross_entropy"),
  config: fc.dictionary(
    fc.constantFrom("a", "b"),
    fc.oneof(fc.double({ noNaN: true }), fc.string({ minLength: 1 })),
  ),
  forwardOnly: fc.boolean(),
  data: fc.array(
    fc.record({
      tokens: fc.int32Array({ minLength: 2, maxLength: 2 }),
      inputs: fc.record({
        target_tokens: fc
          .int32Array({ minLength: 2, maxLength: 2 })
          .map((each) => ({ values: each, shape: [2] })),
        advantages: floats.map((each) => ({ values: each, shape: [2] })),
      }),
    }),
    { maxLength: 3 },
  ),
});

it("a call of forward_backward is the same after encoding", () => {
  fc.assert(
    fc.property(call, (value) => {
      const found = decodeCall(encodeCall(value));
      expect({ ...found, config: { ...found.config } }).toEqual({ ...value, config: { ...value.config } });
    }),
  );
});

it("its output is the same after encoding", () => {
  const output = {
    outputs: [{ logprobs: Float32Array.of(-1, -2) }, { logprobs: Float32Array.of(-3) }],
    metrics: { "loss:sum": 0.1 },
  };
  expect(decodeOutput(encodeOutput(output))).toEqual(output);
});

// As in the JSON of the official SDK up to 0.24, and of SkyRL, which requires the key.
it("JSON has the input of forward under forward_input", () => {
  const asked = { modelId: "m", seqId: 1, loss: "cross_entropy", config: {}, data: [] };
  const [forward, backward] = [true, false].map((forwardOnly) => jsonOfCall({ ...asked, forwardOnly }));
  expect(forward).toHaveProperty("forward_input.loss_fn", "cross_entropy");
  expect(backward).toHaveProperty("forward_backward_input.loss_fn", "cross_entropy");
  expect(callOfJson(forward, true)).toEqual({ ...asked, forwardOnly: true });
});

it("an output of a few bytes cannot claim to be a million", () => {
  const outputs = [{ tag: "ArrayRecord", fields: {}, count: 2 ** 28 }];
  const body = forwardBackwardOutput.encode({ type: "ArrayRecord", outputs, metrics: {} });
  expect(() => decodeOutput(body)).toThrow("268435456 outputs");

  // Nor many of them together, nor by their arrays.
  const record = { tag: "ArrayRecord", fields: {}, count: 2 ** 20 };
  const several = forwardBackwardOutput.encode({
    type: "ArrayRecord",
    outputs: [record, record],
    metrics: {},
  });
  expect(() => decodeOutput(several)).toThrow("2097152 outputs");
});

function outputWith(offsets: readonly number[]): Buffer {
  const field = { data: Buffer.alloc(8), offsets: int64Bytes(offsets), dtype: 1, trailingShape: [] };
  const outputs = [{ tag: "ArrayRecord", fields: { logprobs: field }, count: offsets.length - 1 }];
  return forwardBackwardOutput.encode({ type: "ArrayRecord", outputs, metrics: {} });
}

it("the parts of a batch do not overlap", () => {
  expect(decodeOutput(outputWith([0, 4, 8])).outputs).toHaveLength(2);
  for (const offsets of [
    [0, 8, 0, 8],
    [0, 4, 12],
    [-4, 4, 8],
  ])
    expect(() => decodeOutput(outputWith(offsets))).toThrow("offsets");
});
