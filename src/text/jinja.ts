/**
 * Runs chat templates, which come with models from anywhere, under limits: without them nested loops never end and long
 * strings take all memory. The limits count work, not time, so a template renders everywhere or nowhere.
 */
import * as jinja from "@huggingface/jinja";

/** The library's own declarations import without extensions, which Node's resolution rejects. */
interface Library {
  readonly tokenize: (source: string, options: { lstrip_blocks: boolean; trim_blocks: boolean }) => unknown;
  readonly parse: (tokens: unknown) => Program;
  readonly Environment: new () => { set(name: string, value: unknown): unknown };
  readonly Interpreter: new (environment: unknown) => Interpreter;
}

interface Interpreter {
  run(program: Program): Value;
  evaluate(statement: unknown, environment: unknown): Value;
  evaluateBlock(statements: unknown, environment: unknown): Value;
}

interface Value {
  readonly value: unknown;
}

export interface Program {
  readonly type: "Program";
}

const library = jinja as unknown as Library;

/** A template of a real model needs some hundred operations per message. */
const mostOperations = 1_000_000;
/** Characters, or items of a list, that count like an operation. */
const lengthPerOperation = 256;
/** Longer than any context. */
const longestText = 2 ** 24;
const longestList = 2 ** 20;
const longestRange = 10_000;

/** The template does too much. */
export class TemplateLimit extends Error {}

/** Line ends are \n, and blocks trim their lines, as in transformers. @throws Error if it is not Jinja */
export function parseTemplate(source: string): Program {
  const options = { lstrip_blocks: true, trim_blocks: true };
  return library.parse(library.tokenize(source.replaceAll(/\r\n?/g, "\n"), options));
}

/** @throws TemplateLimit, and Error for what the template rejects */
export function renderTemplate(program: Program, variables: Readonly<Record<string, unknown>>): string {
  const environment = new library.Environment();
  for (const [name, value] of Object.entries({ ...globals, ...variables })) environment.set(name, value);
  return String(new LimitedInterpreter(environment).run(program).value);
}

class LimitedInterpreter extends library.Interpreter {
  #operations = 0;

  override evaluate(statement: unknown, environment: unknown): Value {
    const result = super.evaluate(statement, environment);
    const { value } = result;
    const length = typeof value === "string" || Array.isArray(value) ? value.length : 0;
    if (length > (typeof value === "string" ? longestText : longestList))
      throw new TemplateLimit(`makes a text or a list of length ${length}`);
    this.#count(1 + length / lengthPerOperation);
    return result;
  }

  /** The body of a loop may be empty. */
  override evaluateBlock(statements: unknown, environment: unknown): Value {
    this.#count(1);
    return super.evaluateBlock(statements, environment);
  }

  #count(operations: number): void {
    this.#operations += operations;
    if (this.#operations > mostOperations)
      throw new TemplateLimit(`does not end within ${mostOperations} operations`);
  }
}

/** What Jinja defines. */
const globals: Readonly<Record<string, unknown>> = {
  true: true,
  false: false,
  none: null,
  True: true,
  False: false,
  None: null,
  range,
  raise_exception: (message: unknown) => {
    throw new Error(String(message));
  },
};

function range(first: number, last?: number, step = 1): number[] {
  const [start, end] = last === undefined ? [0, first] : [first, last];
  const length = Math.max(0, Math.ceil((end - start) / step));
  if (!(length <= longestRange))
    throw new TemplateLimit(`asks for a range of ${length} numbers; the most is ${longestRange}`);
  return Array.from({ length }, (_, index) => start + index * step);
}
