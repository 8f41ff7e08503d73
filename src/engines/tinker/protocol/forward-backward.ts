/** `forward_backward`: a call and its result, in protobuf and JSON. */
import { TroupeError } from "../../../errors.ts";
import type { MessageValue } from "./message.ts";
import {
  dataType,
  forwardBackwardJson,
  forwardJson,
  forwardBackwardOutput,
  forwardBackwardRequest,
  type forwardBackwardResult,
  type modelInput,
  turn,
} from "./schema.ts";
import { asInt32, bytesOfArray, int32sOf, int64Bytes, int64sOf, valuesOf, type Tensor } from "./tensors.ts";
import type { z } from "zod";

export interface LossCall {
  readonly modelId: string;
  readonly seqId: number;
  readonly loss: string;
  readonly config: Readonly<Record<string, number | string>>;
  readonly forwardOnly: boolean;
  readonly data: readonly WireDatum[];
}

/** One sequence; the inputs of the loss have a row per token. */
export interface WireDatum {
  readonly tokens: Int32Array;
  readonly inputs: Readonly<Record<string, Tensor>>;
}

export interface LossOutput {
  /** float32 arrays of each datum, by name. */
  readonly outputs: readonly Readonly<Record<string, Float32Array>>[];
  /** By `name:reduction`. */
  readonly metrics: Readonly<Record<string, number>>;
}

// --- Protobuf ---

export function encodeCall(call: LossCall): Buffer {
  const numbers = Object.entries(call.config).filter(([, value]) => typeof value === "number");
  return forwardBackwardRequest.encode({
    modelId: call.modelId,
    seqId: call.seqId,
    loss: call.loss,
    lossConfig: Object.fromEntries(numbers) as Record<string, number>,
    lossConfigValues: Object.fromEntries(
      Object.entries(call.config).map(([key, value]) => [key, configValue(value)]),
    ),
    forwardOnly: call.forwardOnly,
    data: call.data.map(({ tokens, inputs }) => ({
      modelInput: [{ encodedText: { tokens: bytesOfArray(tokens) } }],
      lossInputs: Object.fromEntries(
        Object.entries(inputs).map(([key, tensor]) => [key, encodeTensor(tensor)]),
      ),
    })),
  });
}

/** @throws RangeError if it is no such message, TroupeError `bad_arguments` for what is not supported */
export function decodeCall(body: Buffer): LossCall {
  const { modelId, seqId, loss, lossConfig, lossConfigValues, forwardOnly, data } =
    forwardBackwardRequest.decode(body);
  const values = Object.entries(lossConfigValues).map(([key, value]) => [
    key,
    value.number ?? value.text ?? 0,
  ]);
  const config = { ...lossConfig, ...(Object.fromEntries(values) as Record<string, number | string>) };
  return { modelId, seqId, loss, config, forwardOnly, data: data.map(decodeDatum) };
}

/** A request's model and number, whatever else is in it. @throws RangeError */
export function turnOf(body: Buffer): MessageValue<typeof turn> {
  return turn.decode(body);
}

/** Of a body's beginning, where encoders write them; null: there is nothing of the kind. */
export function turnOfBeginning(body: Buffer): MessageValue<typeof turn> | null {
  const [tag, length = 128] = body;
  const end = body.findIndex((byte, at) => at > length + 2 && byte < 128) + 1;
  return tag === 10 && length < 128 && end > 0 && body[length + 2] === 16
    ? turnOf(body.subarray(0, end))
    : null;
}

type EncodedDatum = MessageValue<typeof forwardBackwardRequest>["data"][number];

function decodeDatum({ modelInput: chunks, lossInputs }: EncodedDatum): WireDatum {
  const tokens = chunks.map(({ encodedText }) => {
    if (encodedText === undefined) throw onlyText();
    return int32sOf(encodedText.tokens);
  });
  const inputs = Object.entries(lossInputs).map(
    ([key, { dense, sparse, dtype, shape }]): [string, Tensor] => {
      if (sparse !== undefined) throw noSparse(key);
      const values = valuesOf(dense ?? Buffer.alloc(0), dtype);
      return [key, { values, shape: shape.length > 0 ? shape : [values.length] }];
    },
  );
  return { tokens: joined(tokens), inputs: Object.fromEntries(inputs) };
}

function encodeTensor({ values, shape }: Tensor) {
  return values instanceof Float32Array
    ? { dense: bytesOfArray(values), sparse: undefined, dtype: dataType.float32, shape }
    : { dense: int64Bytes(values), sparse: undefined, dtype: dataType.int64, shape };
}

function configValue(value: number | string) {
  return typeof value === "number" ? { number: value, text: undefined } : { number: undefined, text: value };
}

export function encodeOutput({ outputs, metrics }: LossOutput): Buffer {
  const names = Object.keys(outputs[0] ?? {});
  const fields = names.map((name) => [
    name,
    batched(outputs.map((output) => output[name] ?? new Float32Array())),
  ]);
  return forwardBackwardOutput.encode({
    type: "ArrayRecord",
    outputs: [{ tag: "ArrayRecord", fields: Object.fromEntries(fields), count: outputs.length }],
    metrics,
  });
}

function batched(arrays: readonly Float32Array[]) {
  const offsets = [0];
  for (const array of arrays) offsets.push((offsets.at(-1) ?? 0) + array.byteLength);
  return {
    data: Buffer.concat(arrays.map(bytesOfArray)),
    offsets: int64Bytes(offsets),
    dtype: dataType.float32,
    trailingShape: [],
  };
}

/** Of one answer, each with at least one array. A number of a few bytes must not take gigabytes. */
const mostOutputs = 2 ** 20;

/** @throws RangeError, TroupeError if it is no such message */
export function decodeOutput(body: Buffer): LossOutput {
  const { outputs: records, metrics } = forwardBackwardOutput.decode(body);
  let arrays = 0;
  const outputs = records.flatMap(({ fields, count }) => {
    arrays += count * Math.max(1, Object.keys(fields).length);
    if (!(count >= 0 && arrays <= mostOutputs)) throw new RangeError(`It has ${arrays} outputs.`);
    const parts = Object.entries(fields).map(([name, field]) => [name, unbatched(field)] as const);
    return Array.from({ length: count }, (_, index) =>
      Object.fromEntries(parts.map(([name, values]) => [name, values[index] ?? new Float32Array()])),
    );
  });
  return { outputs, metrics };
}

function unbatched({
  data,
  offsets,
  dtype,
}: {
  data: Buffer;
  offsets: Buffer;
  dtype: number;
}): Float32Array[] {
  const ends = int64sOf(offsets);
  // Parts that overlap could take any multiple of the bytes.
  if (ends.some((end, index) => end < (ends[index - 1] ?? 0) || end > data.length))
    throw new RangeError("The offsets of a batch do not ascend, or lead beyond its data.");
  return ends.slice(1).map((end, index) => {
    const values = valuesOf(data.subarray(ends[index], end), dtype);
    return values instanceof Float32Array ? values : Float32Array.from(values);
  });
}

// --- JSON ---

export function jsonOfCall(
  asked: LossCall,
): z.input<typeof forwardJson> | z.input<typeof forwardBackwardJson> {
  const { modelId, seqId, loss, config, data, forwardOnly } = asked;
  const input = {
    loss_fn: loss,
    loss_fn_config: Object.keys(config).length === 0 ? null : config,
    data: data.map(({ tokens, inputs }) => ({
      model_input: jsonOfTokens(tokens),
      loss_fn_inputs: Object.fromEntries(
        Object.entries(inputs).map(([key, tensor]) => [key, jsonOfTensor(tensor)]),
      ),
    })),
  };
  const call = { model_id: modelId, seq_id: seqId };
  return forwardOnly ? { ...call, forward_input: input } : { ...call, forward_backward_input: input };
}

function jsonOfTensor({ values, shape }: Tensor) {
  const dtype = values instanceof Float32Array ? ("float32" as const) : ("int64" as const);
  return { data: [...values], dtype, shape: [...shape] };
}

export function callOfJson(body: unknown, forwardOnly: boolean): LossCall {
  const call = forwardOnly ? forwardJson.parse(body) : forwardBackwardJson.parse(body);
  const input = "forward_input" in call ? call.forward_input : call.forward_backward_input;
  return {
    modelId: call.model_id,
    seqId: call.seq_id,
    loss: input.loss_fn,
    config: input.loss_fn_config ?? {},
    forwardOnly,
    data: input.data.map(({ model_input, loss_fn_inputs }) => ({
      tokens: tokensOfJson(model_input),
      inputs: Object.fromEntries(
        Object.entries(loss_fn_inputs).map(([key, { data, dtype, shape, sparse_crow_indices: sparse }]) => {
          if (sparse !== undefined && sparse !== null) throw noSparse(key);
          const values = dtype === "float32" ? Float32Array.from(data) : asInt32(data);
          return [key, { values, shape: shape ?? [values.length] }];
        }),
      ),
    })),
  };
}

export function jsonOfOutput({ outputs, metrics }: LossOutput): z.input<typeof forwardBackwardResult> {
  return {
    loss_fn_output_type: "ArrayRecord",
    loss_fn_outputs: outputs.map((output) =>
      Object.fromEntries(
        Object.entries(output).map(([key, values]) => [
          key,
          { data: [...values], dtype: "float32", shape: [values.length] },
        ]),
      ),
    ),
    metrics: { ...metrics },
  };
}

export function jsonOfTokens(tokens: Int32Array): z.input<typeof modelInput> {
  return { chunks: [{ type: "encoded_text", tokens: [...tokens] }] };
}

/** @throws TroupeError `bad_arguments` for pictures and sounds, `bad_token` */
export function tokensOfJson({ chunks }: z.output<typeof modelInput>): Int32Array {
  return asInt32(
    chunks.flatMap(({ tokens }) => {
      if (tokens === undefined) throw onlyText();
      return tokens;
    }),
  );
}

function joined(parts: readonly Int32Array[]): Int32Array {
  const [first] = parts;
  return parts.length === 1 && first !== undefined
    ? first
    : Int32Array.from(parts.flatMap((part) => [...part]));
}

function onlyText(): TroupeError {
  return new TroupeError(
    "bad_arguments",
    "A model input holds something other than tokens; only tokens are supported.",
  );
}

function noSparse(name: string): TroupeError {
  return new TroupeError("bad_arguments", `The tensor ${name} is sparse; send it dense.`);
}

/** Reads an output in JSON. */
export function outputOfJson(body: z.output<typeof forwardBackwardResult>): LossOutput {
  return {
    outputs: body.loss_fn_outputs.map((output) =>
      Object.fromEntries(Object.entries(output).map(([key, { data }]) => [key, Float32Array.from(data)])),
    ),
    metrics: body.metrics,
  };
}
