import { describe, expect, it } from "vitest";
import { showBytes, showDuration, showLarge, showNumber, showShare } from "./format.ts";

describe("numbers for people", () => {
  it.each([
    [showLarge(950), "950"],
    [showLarge(999.6), "1.0 k"],
    [showLarge(12_345), "12.3 k"],
    [showLarge(645_000), "645 k"],
    [showLarge(4_500_000), "4.5 M"],
    [showDuration(0.42), "0.4 s"],
    [showDuration(59.4), "59 s"],
    [showDuration(185), "3:05 min"],
    [showDuration(8100), "2:15 h"],
    [showDuration(71.5 * 3600), "71:30 h"],
    [showDuration(84 * 3600), "3.5 days"],
    [showDuration(16_607.33 * 3600), "692 days"],
    [showDuration(Infinity), "unknown"],
    [showBytes(419_500_000), "420 MB"],
    [showBytes(2_340_000_000), "2.3 GB"],
    [showShare(0.7123), "71.2 %"],
    [showNumber(0), "0"],
    [showNumber(0.0012345), "0.00123"],
    [showNumber(-1.2345), "-1.23"],
    [showNumber(123.4), "123"],
    [showNumber(0.0000123), "1.2e-5"],
  ])("%s is %s", (shown, expected) => {
    expect(shown).toBe(expected);
  });
});
