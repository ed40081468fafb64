// SPDX-License-Identifier: Apache-2.0
// The time axis of a plan, and times in human-readable form.

export interface Tick {
  // Milliseconds since the start.
  at: number;
  label: string;
}

const steps = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000,
  1_800_000, 3_600_000,
];

// Ticks no closer than `least` pixels on an axis `width` pixels long.
export function ticksFor(span: number, width: number, least: number): Tick[] {
  if (!(span > 0) || !(width > 0)) return [{ at: 0, label: "0" }];
  let step = steps.find((one) => (one / span) * width >= least) ?? 3_600_000;
  while ((step / span) * width < least) step *= 2;
  const ticks: Tick[] = [];
  for (let index = 0; index * step <= span; ++index) {
    const at = index * step;
    ticks.push({ at, label: at === 0 ? "0" : axisLabel(at, step) });
  }
  return ticks;
}

function axisLabel(at: number, step: number): string {
  if (step < 1000 && at < 1000) return `${at} ms`;
  if (at < 60_000) return `${(at / 1000).toFixed(step < 100 ? 2 : step < 1000 ? 1 : 0)} s`;
  return clock(at);
}

function clock(time: number): string {
  const seconds = Math.floor(time / 1000);
  const rest = String(seconds % 60).padStart(2, "0");
  if (seconds < 3600) return `${Math.floor(seconds / 60)}:${rest}`;
  return `${Math.floor(seconds / 3600)}:${String(Math.floor(seconds / 60) % 60).padStart(2, "0")}:${rest}`;
}

// "87 ms", "4.2 s", "1:05".
export function duration(time: number): string {
  const whole = Math.max(0, Math.round(time));
  if (whole < 1000) return `${whole} ms`;
  if (whole < 9_950) return `${(whole / 1000).toFixed(1)} s`;
  if (whole < 59_500) return `${Math.round(whole / 1000)} s`;
  return clock(whole + 500);
}

// The time of a log line in the reader's time zone: 14:03:07.250.
export function timeOfDay(time: number): string {
  const date = new Date(time);
  const two = (value: number): string => String(value).padStart(2, "0");
  return (
    `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}` +
    `.${String(date.getMilliseconds()).padStart(3, "0")}`
  );
}

export interface Bar {
  // Fractions of the axis, 0 to 1.
  from: number;
  to: number;
}

export function barOf(started: number, ended: number, origin: number, span: number): Bar {
  const from = clamped((started - origin) / span);
  return { from, to: Math.max(from, clamped((ended - origin) / span)) };
}

function clamped(value: number): number {
  return Number.isFinite(value) ? Math.min(1, Math.max(0, value)) : 0;
}
