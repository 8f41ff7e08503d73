/** A tensor as files name it. */
export interface TensorInfo {
  /** As in Hugging Face's files (for adapters, PEFT's). */
  readonly name: string;
  readonly shape: readonly number[];
}
