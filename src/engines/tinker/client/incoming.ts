/** An answer of the server. */
export interface Incoming {
  readonly status: number;
  readonly isProto: boolean;
  readonly body: Buffer;
  /** Where it is redirected to. */
  readonly location?: string | undefined;
}
