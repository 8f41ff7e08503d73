/** The environment variables that a sink's process gets: no key of any other service. */
import { redacting } from "../calls/secrets.ts";
import { keyValues } from "./otlp/environment.ts";

const common = [
  "PATH",
  "HOME",
  "USER",
  "LANG",
  "TMPDIR",
  "TZ",
  "SystemRoot",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  "NODE_EXTRA_CA_CERTS",
  "NODE_USE_ENV_PROXY",
  "REQUESTS_CA_BUNDLE",
];
const proxies = /^(https?|no|all)_proxy$/i;

/** @param prefixes of the variables of the sinks' own services */
export function sinkEnvironment(
  given: Readonly<Record<string, string | undefined>>,
  prefixes: readonly string[],
): Record<string, string> {
  const isPassed = (name: string) =>
    common.includes(name) || proxies.test(name) || prefixes.some((prefix) => name.startsWith(prefix));
  const entries = Object.entries(given);
  return Object.fromEntries(
    entries.filter((entry): entry is [string, string] => entry[1] !== undefined && isPassed(entry[0])),
  );
}

const secret = /KEY|TOKEN|SECRET|PASSWORD|HEADERS/;

/** The text without the values of variables that hold keys: a service may repeat them in its answer. */
export function withoutSecrets(text: string, given: Readonly<Record<string, string | undefined>>): string {
  const secrets = Object.entries(given).flatMap(([name, value = ""]) =>
    secret.test(name) ? partsOf(value).map((part) => ({ name, part })) : [],
  );
  return secrets
    .filter(({ part }) => part.length >= shortestPart)
    .toSorted((one, other) => other.part.length - one.part.length)
    .reduce((left, { name, part }) => redacting([name], { [name]: part })(left), text);
}

/** Words of headers, such as `Bearer`, are no secrets. In characters. */
const shortestPart = 8;

/** The whole, and the values in a list of headers, as they are written and as they are sent. */
function partsOf(value: string): readonly string[] {
  const values = Object.values(keyValues(value));
  return [value, ...value.split(/[=,\s]/), ...values, ...values.flatMap((one) => one.split(/\s/))];
}
