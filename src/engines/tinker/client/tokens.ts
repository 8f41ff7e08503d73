/**
 * Short-lived tokens (JWT) in exchange for a key, as the hosted service asks for: requests carry the token, which is
 * replaced before it expires, or when it is rejected.
 */
import { z } from "zod";

const claims = z.object({ exp: z.number(), iat: z.number().optional() });
/** Seconds before the end when a token is replaced, unless it lives for less than twice that. */
const lead = 300;

export class Tokens {
  readonly #exchange: () => Promise<string>;
  #current: { readonly token: string; readonly until: number; readonly from: number } | null = null;
  #replacing: Promise<string> | null = null;

  /** @param exchange asks the server for a token */
  constructor(exchange: () => Promise<string>) {
    this.#exchange = exchange;
  }

  /** Of all who ask at once, one exchanges. A token that still lives is used if its replacement fails. */
  async current(): Promise<string> {
    const now = Date.now() / 1000;
    if (this.#current !== null && now < this.#current.from) return this.#current.token;
    this.#replacing ??= this.#replace().finally(() => (this.#replacing = null));
    const known = this.#current;
    return this.#replacing.catch((error: unknown) => {
      if (known !== null && now < known.until) return known.token;
      throw error;
    });
  }

  /** The server does not accept it any more. */
  reject(token: string): void {
    if (this.#current?.token === token) this.#current = null;
  }

  async #replace(): Promise<string> {
    const token = await this.#exchange();
    const now = Date.now() / 1000;
    const until = expiryOf(token) ?? now + 2 * lead;
    this.#current = { token, until, from: until - Math.min(lead, (until - now) / 2) };
    return token;
  }
}

/** In seconds since 1970; null: it says none. The server checks its signature, not its bearer. */
function expiryOf(token: string): number | null {
  try {
    const text = Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8");
    return claims.parse(JSON.parse(text)).exp;
  } catch {
    return null;
  }
}
