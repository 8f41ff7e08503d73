/**
 * Which redirects of the hub are followed. A hub, or who controls it, must not make this machine send requests to
 * services of its own network, such as the metadata service of a cloud.
 */
import { lookup } from "node:dns/promises";
import { BlockList, isIP } from "node:net";
import { TroupeError } from "../../errors.ts";
import { showUrl, type HubAccess } from "./access.ts";

/**
 * The target of a redirect; null: the answer is none. A name is resolved here and again by the request, so a name server
 * that gives a different answer then is not noticed.
 * @throws TroupeError `bad_data` for a place that is not followed
 */
export async function redirectTarget(
  { endpoint }: Pick<HubAccess, "endpoint">,
  response: Response,
  from: URL,
): Promise<URL | null> {
  const location = response.headers.get("location");
  if (![301, 302, 303, 307, 308].includes(response.status) || location === null) return null;
  const target = URL.parse(location, from);
  if (target === null || !hasSafeForm(target, from))
    throw new TroupeError("bad_data", `${showUrl(from)} redirects to a place that is not followed`);
  await checkPlace(endpoint, target, from);
  return target;
}

function hasSafeForm(target: URL, from: URL): boolean {
  const isPlain = /^https?:$/.test(target.protocol) && target.username === "";
  return isPlain && (from.protocol === "http:" || target.protocol === "https:");
}

async function checkPlace(endpoint: URL, target: URL, from: URL): Promise<void> {
  if (target.hostname === endpoint.hostname) return;
  const zones = await zonesOf(target);
  const isInside = zones.includes("private") && !(await zonesOf(endpoint)).includes("private");
  if (!isInside && !zones.includes("link-local")) return;
  throw new TroupeError(
    "bad_data",
    `${showUrl(from)} redirects to ${target.host}, an address of a private network, which is only followed from a hub in one`,
  );
}

type Zone = "public" | "private" | "link-local";

/** Of all addresses of the host. A name that cannot be resolved here may be resolved by a proxy, outside. */
async function zonesOf({ hostname }: URL): Promise<readonly Zone[]> {
  const host = hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) !== 0) return [zoneOf(host)];
  const found = await lookup(host, { all: true }).catch(() => []);
  return found.map(({ address }) => zoneOf(address));
}

function zoneOf(address: string): Zone {
  const family = isIP(address) === 6 ? "ipv6" : "ipv4";
  if (linkLocal.check(address, family)) return "link-local";
  return inside.check(address, family) ? "private" : "public";
}

/** With the addresses of cloud metadata services. */
const linkLocal = blockList("169.254.0.0/16", "100.100.100.200/32", "fe80::/10", "fd00:ec2::254/128");

/** Loopback, private, shared, reserved and multicast addresses, and translations of IPv4 (RFC 6890, RFC 6052). */
const inside = blockList(
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "224.0.0.0/3",
  "::/128",
  "::1/128",
  "64:ff9b::/96",
  "64:ff9b:1::/48",
  "fc00::/7",
  "fec0::/10",
  "ff00::/8",
);

function blockList(...subnets: readonly string[]): BlockList {
  const list = new BlockList();
  for (const subnet of subnets) {
    const [address = "", prefix = "0"] = subnet.split("/");
    list.addSubnet(address, Number(prefix), isIP(address) === 6 ? "ipv6" : "ipv4");
  }
  return list;
}
