import { expect, it } from "vitest";
import { redirectTarget } from "./requests.ts";

function followed(endpoint: string, location: string, from = endpoint): Promise<URL | null> {
  const response = new Response(null, { status: 302, headers: { location } });
  return redirectTarget({ endpoint: new URL(endpoint) }, response, new URL(from));
}

const publicHub = "https://1.1.1.1/";

it.each([
  "https://127.0.0.1/",
  "https://2130706433/",
  "https://localhost:8443/",
  "https://10.1.2.3/",
  "https://172.31.0.1/",
  "https://192.168.0.1/",
  "https://100.64.0.1/",
  "https://0.0.0.0/",
  "https://[::1]/",
  "https://[::ffff:127.0.0.1]/",
  "https://[64:ff9b::a00:1]/",
  "https://[fd12::1]/",
])("a hub on the internet does not redirect to %s", async (location) => {
  await expect(followed(publicHub, location)).rejects.toMatchObject({
    code: "bad_data",
    message: /redirects to .*, an address of a private network/,
  });
});

it.each([
  ["https://[fd00:ec2::254]/"],
  ["https://169.254.169.254/latest/meta-data/"],
  ["https://[fe80::1]/"],
  ["https://[::ffff:169.254.169.254]/"],
])("no hub redirects to %s", async (location) => {
  for (const endpoint of [publicHub, "https://127.0.0.1/", "https://10.0.0.1/"])
    await expect(followed(endpoint, location)).rejects.toMatchObject({ code: "bad_data" });
});

it.each([
  [publicHub, "https://8.8.8.8/file"],
  [publicHub, "https://[2606:4700::1111]/file"],
  [publicHub, "/file"],
  ["http://10.0.0.1/", "http://192.168.0.1/file"],
  ["http://127.0.0.1/", "http://8.8.8.8/file"],
  ["http://169.254.1.1/", "http://169.254.1.1/file"],
])("%s redirects to %s", async (endpoint, location) => {
  expect(await followed(endpoint, location)).toEqual(new URL(location, endpoint));
});

it.each([
  [publicHub, "http://8.8.8.8/"],
  [publicHub, "file:///etc/passwd"],
  [publicHub, "https://user@8.8.8.8/"],
])("%s does not redirect to %s", async (endpoint, location) => {
  await expect(followed(endpoint, location)).rejects.toThrow(/redirects to a place that is not followed/);
});
