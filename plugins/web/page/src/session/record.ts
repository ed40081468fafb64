// SPDX-License-Identifier: Apache-2.0
// One record of the event stream, as defined by abi/schemas/event-record-1.schema.json. Tools and narrators wrote the
// event, so every field of it is read through the functions below, which check its type.

export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [key: string]: Json;
}

export interface EventRecord {
  seq: number;
  time: string;
  sessionId: string;
  planId?: string | null;
  toolId?: string | null;
  attempt?: number | null;
  kind: string;
  event: JsonObject;
  // The state after a session_moved.
  state?: JsonObject;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isRecord(value: unknown): value is EventRecord {
  return (
    isObject(value) &&
    typeof value["seq"] === "number" &&
    typeof value["kind"] === "string" &&
    isObject(value["event"])
  );
}

// An own member of `object`, not an inherited one: a tool may name a key "constructor".
export function member(object: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

export function textOf(object: JsonObject, name: string): string | undefined {
  const value = member(object, name);
  return typeof value === "string" ? value : undefined;
}

export function numberOf(object: JsonObject, name: string): number | undefined {
  const value = member(object, name);
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

export function flagOf(object: JsonObject, name: string): boolean | undefined {
  const value = member(object, name);
  return typeof value === "boolean" ? value : undefined;
}

export function objectOf(object: JsonObject, name: string): JsonObject | undefined {
  const value = member(object, name);
  return isObject(value) ? value : undefined;
}

// The strings of an array; other elements are skipped.
export function textsOf(object: JsonObject, name: string): string[] {
  const value = member(object, name);
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === "string") : [];
}

// The elements of an array that are objects.
export function objectsOf(object: JsonObject, name: string): JsonObject[] {
  const value = member(object, name);
  return Array.isArray(value) ? value.filter(isObject) : [];
}

// Milliseconds since 1970; 0 for an invalid time.
export function timeOf(record: EventRecord): number {
  const time = Date.parse(record.time);
  return Number.isNaN(time) ? 0 : time;
}
