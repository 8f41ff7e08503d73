/**
 * A language model small enough to differentiate by hand: one hidden layer over the bag of all tokens before a position
 * and the last one of them. In float64; tensors of shape [rows, columns] are stored row by row.
 *
 *   x = Σ context[token] / √n + last[token n]        over the n tokens before the position
 *   h = tanh((mix + scale·up·down) x)                up and down: an adapter's
 *   logits = head h + bias                           of a critic: value = score·h + score's last number
 */
import { TroupeError } from "../../errors.ts";
import { drawFloat, generatorOf, keyAt, type Key } from "../../random.ts";
import type { AdamOptions, PolicyInfo } from "../engine.ts";

export interface TinyModel {
  readonly vocabularySize: number;
  readonly hidden: number;
  /** Of the adapter; 0 without one. */
  readonly rank: number;
  readonly scale: number;
  readonly tensors: Readonly<Record<string, Float64Array>>;
}

/** Activations of a sequence at the positions before a continuation's tokens. */
export interface Pass {
  readonly tokens: readonly number[];
  /** The first of these positions: the length of the prompt. */
  readonly start: number;
  readonly inputs: readonly Float64Array[];
  readonly hidden: readonly Float64Array[];
}

export function freshModel(vocabularySize: number, hidden: number, key: Key): TinyModel {
  const random = (name: string, rows: number, columns: number, deviation: number): Float64Array =>
    randomNumbers(rows * columns, keyAt(key, name), deviation);
  const tensors = {
    context: random("context", vocabularySize, hidden, 1),
    last: random("last", vocabularySize, hidden, 0.5),
    mix: random("mix", hidden, hidden, 1 / Math.sqrt(hidden)),
    head: random("head", vocabularySize, hidden, 0.1),
    bias: new Float64Array(vocabularySize),
  };
  return { vocabularySize, hidden, rank: 0, scale: 0, tensors };
}

export function withAdapter(model: TinyModel, rank: number, alpha: number, key: Key): TinyModel {
  const { hidden, tensors } = model;
  const down = randomNumbers(rank * hidden, keyAt(key, "down"), 1 / Math.sqrt(hidden));
  const adapter = { down, up: new Float64Array(hidden * rank) };
  return { ...model, rank, scale: alpha / rank, tensors: { ...tensors, ...adapter } };
}

/** The model's trunk with a head of zeros. */
export function asCritic(model: TinyModel): TinyModel {
  const { head: _, bias: __, ...trunk } = model.tensors;
  return { ...model, tensors: { ...trunk, score: trunk["score"] ?? new Float64Array(model.hidden + 1) } };
}

export function isCritic({ tensors }: TinyModel): boolean {
  return tensors["score"] !== undefined;
}

/** Names of the trainable tensors. */
function trainable({ rank, tensors }: TinyModel): readonly string[] {
  return rank === 0 ? Object.keys(tensors) : Object.keys(tensors).filter((name) => adapterTensors.has(name));
}

const adapterTensors = new Set(["up", "down", "score"]);

export function forwardPass(model: TinyModel, prompt: Int32Array, continuation: Int32Array): Pass {
  const tokens = [...prompt, ...continuation];
  const bag = new Float64Array(model.hidden);
  const inputs: Float64Array[] = [];
  tokens.slice(0, -1).forEach((token, index) => {
    addRow(bag, tensor(model, "context"), token);
    if (index + 1 < prompt.length) return;
    const input = bag.map((sum) => sum / Math.sqrt(index + 1));
    addRow(input, tensor(model, "last"), token);
    inputs.push(input);
  });
  return { tokens, start: prompt.length, inputs, hidden: inputs.map((input) => hiddenOf(model, input)) };
}

/** Log-probabilities of the next token. */
export function logProbabilities(model: TinyModel, hidden: Float64Array): Float64Array {
  const scores = times(tensor(model, "head"), hidden).map(
    (score, id) => score + (tensor(model, "bias")[id] ?? 0),
  );
  const largest = scores.reduce((most, score) => Math.max(most, score), -Infinity);
  const sum = scores.reduce((total, score) => total + Math.exp(score - largest), 0);
  return scores.map((score) => score - largest - Math.log(sum));
}

export function valueOf(model: TinyModel, hidden: Float64Array): number {
  const score = tensor(model, "score");
  return hidden.reduce((sum, value, i) => sum + value * (score[i] ?? 0), score[model.hidden] ?? 0);
}

/** Derivatives of the loss by logits, from those by the token's log-probability: slope · (one-hot − softmax). */
export function logitSlopes(logprobs: Float64Array, token: number, slope: number, bonus = 0): Float64Array {
  const entropy = logprobs.reduce((sum, logprob) => sum - Math.exp(logprob) * logprob, 0);
  return logprobs.map(
    (logprob, id) =>
      slope * ((id === token ? 1 : 0) - Math.exp(logprob)) + bonus * Math.exp(logprob) * (logprob + entropy),
  );
}

/**
 * Adds the gradient of a loss to `gradients`.
 * @param slopes its derivatives by the logits of each position, or by a critic's value (one number each)
 */
export function backwardPass(
  model: TinyModel,
  gradients: Readonly<Record<string, Float64Array>>,
  { tokens, start, inputs, hidden }: Pass,
  slopes: readonly Float64Array[],
): void {
  const bag = new Float64Array(model.hidden);
  for (let position = inputs.length - 1; position >= 0; position--) {
    const [input, state] = [inputs[position] as Float64Array, hidden[position] as Float64Array];
    const inputSlope = layerSlopes(model, gradients, input, state, slopes[position] as Float64Array);
    const count = start + position;
    addTo(gradients["last"], inputSlope, tokens[count - 1] as number);
    for (let i = 0; i < bag.length; i++) bag[i] = (bag[i] ?? 0) + (inputSlope[i] ?? 0) / Math.sqrt(count);
    // Tokens that are only in the bags of this and later positions.
    const first = position === 0 ? 0 : count - 1;
    for (let at = first; at < count; at++) addTo(gradients["context"], bag, tokens[at] as number);
  }
}

/** @returns derivatives by the layer's input */
function layerSlopes(
  model: TinyModel,
  gradients: Readonly<Record<string, Float64Array>>,
  input: Float64Array,
  state: Float64Array,
  slopes: Float64Array,
): Float64Array {
  const stateSlopes = isCritic(model)
    ? valueSlopes(model, gradients, state, slopes[0] ?? 0)
    : headSlopes(model, gradients, state, slopes);
  const mixed = stateSlopes.map((slope, i) => slope * (1 - (state[i] ?? 0) ** 2));
  addProduct(gradients["mix"], mixed, input);
  const result = timesTransposed(tensor(model, "mix"), mixed);
  if (model.rank === 0) return result;
  const scaled = mixed.map((slope) => slope * model.scale);
  addProduct(gradients["up"], scaled, times(tensor(model, "down"), input));
  const inner = timesTransposed(tensor(model, "up"), scaled);
  addProduct(gradients["down"], inner, input);
  const outer = timesTransposed(tensor(model, "down"), inner);
  return result.map((slope, i) => slope + (outer[i] ?? 0));
}

function headSlopes(
  model: TinyModel,
  gradients: Readonly<Record<string, Float64Array>>,
  state: Float64Array,
  slopes: Float64Array,
): Float64Array {
  addProduct(gradients["head"], slopes, state);
  addTo(gradients["bias"], slopes, 0);
  return timesTransposed(tensor(model, "head"), slopes);
}

function valueSlopes(
  model: TinyModel,
  gradients: Readonly<Record<string, Float64Array>>,
  state: Float64Array,
  slope: number,
): Float64Array {
  addProduct(gradients["score"], Float64Array.of(slope), Float64Array.of(...state, 1));
  return tensor(model, "score")
    .slice(0, -1)
    .map((weight) => weight * slope);
}

function hiddenOf(model: TinyModel, input: Float64Array): Float64Array {
  const mixed = times(tensor(model, "mix"), input);
  if (model.rank === 0) return mixed.map(Math.tanh);
  const added = times(tensor(model, "up"), times(tensor(model, "down"), input));
  return mixed.map((value, i) => Math.tanh(value + model.scale * (added[i] ?? 0)));
}

function tensor({ tensors }: TinyModel, name: string): Float64Array {
  const found = tensors[name];
  if (found === undefined) throw new Error(`unreachable: the model has no ${name}`);
  return found;
}

/** matrix · vector */
function times(matrix: Float64Array, vector: Float64Array): Float64Array {
  const columns = vector.length;
  const result = new Float64Array(matrix.length / columns);
  for (let row = 0; row < result.length; row++) {
    let sum = 0;
    for (let i = 0; i < columns; i++) sum += (matrix[row * columns + i] as number) * (vector[i] as number);
    result[row] = sum;
  }
  return result;
}

/** matrixᵀ · vector */
function timesTransposed(matrix: Float64Array, vector: Float64Array): Float64Array {
  const columns = matrix.length / vector.length;
  const result = new Float64Array(columns);
  for (let row = 0; row < vector.length; row++) {
    const weight = vector[row] as number;
    for (let i = 0; i < columns; i++)
      result[i] = (result[i] as number) + weight * (matrix[row * columns + i] as number);
  }
  return result;
}

/** gradient += left · rightᵀ; frozen tensors have no gradient. */
function addProduct(gradient: Float64Array | undefined, left: Float64Array, right: Float64Array): void {
  if (gradient !== undefined) left.forEach((weight, row) => addTo(gradient, right, row, weight));
}

/** Adds to one row of the gradient. */
function addTo(gradient: Float64Array | undefined, values: Float64Array, row: number, weight = 1): void {
  if (gradient === undefined) return;
  const start = row * values.length;
  for (let i = 0; i < values.length; i++)
    gradient[start + i] = (gradient[start + i] as number) + weight * (values[i] as number);
}

function addRow(sum: Float64Array, matrix: Float64Array, row: number): void {
  const start = row * sum.length;
  for (let i = 0; i < sum.length; i++) sum[i] = (sum[i] as number) + (matrix[start + i] as number);
}

/** Uniform, with the given standard deviation. */
function randomNumbers(count: number, key: Key, deviation: number): Float64Array {
  const generator = generatorOf(key);
  return Float64Array.from(
    { length: count },
    () => (2 * drawFloat(generator) - 1) * Math.sqrt(3) * deviation,
  );
}

export type Tensors = Readonly<Record<string, Float64Array>>;

export interface TinyPolicy {
  readonly info: PolicyInfo;
  model: TinyModel;
  readonly gradients: Tensors;
  optimizer: Optimizer;
  /** Optimizer steps of the weights. */
  version: number;
  /** The model directory with the tokenizer. */
  readonly text: string;
}

export interface Optimizer {
  readonly steps: number;
  readonly moments1: Tensors;
  readonly moments2: Tensors;
}

export function newPolicy(
  name: string,
  model: TinyModel,
  {
    text,
    maxLength,
    version,
  }: { readonly text: string; readonly maxLength: number; readonly version: number },
): TinyPolicy {
  const gradients = zeros(model);
  const { vocabularySize, tensors } = model;
  const info = {
    name,
    parameters: numbersIn(tensors),
    trainableParameters: numbersIn(gradients),
    maxLength,
    vocabularySize,
  };
  const optimizer = { steps: 0, moments1: zeros(model), moments2: zeros(model) };
  return { info, model, gradients, optimizer, version, text };
}

/** AdamW; a non-finite gradient is discarded without effect. @returns the gradient's norm */
export function step(policy: TinyPolicy, adam: AdamOptions): number {
  checkAdam(adam);
  const all = Object.values(policy.gradients).flatMap((gradient) => [...gradient]);
  const norm = Math.sqrt(all.reduce((sum, value) => sum + value ** 2, 0));
  if (!Number.isFinite(norm)) {
    zeroGradients(policy);
    throw new TroupeError(
      "bad_model",
      `The gradient of ${policy.info.name} is not finite; the weights are unchanged.`,
    );
  }
  const clip = adam.clipNorm > 0 && norm > adam.clipNorm ? adam.clipNorm / norm : 1;
  const { steps, moments1, moments2 } = policy.optimizer;
  const next: Optimizer = { steps: steps + 1, moments1: {}, moments2: {} };
  const tensors = { ...policy.model.tensors };
  for (const [name, gradient] of Object.entries(policy.gradients)) {
    const first = moving(moments1[name], gradient, adam.beta1, (value) => value * clip);
    const second = moving(moments2[name], gradient, adam.beta2, (value) => (value * clip) ** 2);
    Object.assign(next.moments1, { [name]: first });
    Object.assign(next.moments2, { [name]: second });
    tensors[name] = updated(tensors[name] as Float64Array, first, second, next.steps, adam);
  }
  policy.model = { ...policy.model, tensors };
  policy.optimizer = next;
  policy.version += 1;
  zeroGradients(policy);
  return norm;
}

function moving(
  before: Float64Array | undefined,
  gradient: Float64Array,
  beta: number,
  of: (gradient: number) => number,
): Float64Array {
  return gradient.map((value, i) => beta * (before?.[i] ?? 0) + (1 - beta) * of(value));
}

function updated(
  weights: Float64Array,
  first: Float64Array,
  second: Float64Array,
  steps: number,
  { learningRate, beta1, beta2, epsilon, weightDecay }: AdamOptions,
): Float64Array {
  return weights.map((weight, i) => {
    const mean = (first[i] ?? 0) / (1 - beta1 ** steps);
    const square = (second[i] ?? 0) / (1 - beta2 ** steps);
    return weight - learningRate * (mean / (Math.sqrt(square) + epsilon) + weightDecay * weight);
  });
}

function checkAdam({ learningRate, beta1, beta2, epsilon, weightDecay, clipNorm }: AdamOptions): void {
  const isRight =
    [learningRate, weightDecay, clipNorm].every((value) => Number.isFinite(value) && value >= 0) &&
    [beta1, beta2].every((beta) => beta >= 0 && beta < 1) &&
    epsilon > 0;
  if (!isRight) throw new TroupeError("bad_arguments", "An option of Adam is out of its range.");
}

export function zeroGradients({ gradients }: TinyPolicy): void {
  for (const gradient of Object.values(gradients)) gradient.fill(0);
}

function numbersIn(tensors: Tensors): number {
  return Object.values(tensors).reduce((sum, { length }) => sum + length, 0);
}

function zeros(model: TinyModel): Tensors {
  const names = trainable(model).map(
    (name) => [name, new Float64Array(model.tensors[name]?.length ?? 0)] as const,
  );
  return Object.fromEntries(names);
}
