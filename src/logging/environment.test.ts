import { expect, it } from "vitest";
import { withoutSecrets } from "./settings.ts";

const environment = {
  OTEL_EXPORTER_OTLP_HEADERS: "authorization=Basic%20dXNlcjpwYXNz%3D,x-team=a",
  WANDB_API_KEY: "0123456789abcdef",
  WANDB_PROJECT: "a-project-of-mine",
};

it.each([
  "the key 0123456789abcdef is wrong",
  "the key \\u0030123456789abcdef is wrong",
  "no such user: Basic dXNlcjpwYXNz=",
  "no such user: dXNlcjpwYXNz=",
  `no such header: ${environment.OTEL_EXPORTER_OTLP_HEADERS}`,
])("what a service says is shown without keys: %s", (said) => {
  const shown = withoutSecrets(said, environment);
  expect(shown).toMatch(/\[(WANDB_API_KEY|OTEL_EXPORTER_OTLP_HEADERS)\]/);
  expect(shown).not.toMatch(/123456789abcdef|dXNlcjpwYXNz/);
});

it("other variables are no secrets", () => {
  const said = "there is no a-project-of-mine of team a";
  expect(withoutSecrets(said, environment)).toBe(said);
});
