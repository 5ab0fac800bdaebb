/** Turns the response of an operation into the result of a tool: at most 8 KB, with notes, and with a cursor for what is left out. */

import { type Cut, shortenToFit, valueAt, withReadRows } from './fit.ts';
import { TEXT_HEAD } from './instructions.ts';
import { MCP_LIMITS } from './limits.ts';
import { notesOf } from './notes.ts';
import type { OperationResponse, ToolOperation } from './operations.ts';
import type { Tool, ToolCursor } from './tools.ts';
import { isList, isObject, type Json, type JsonObject, visible, visibleText } from './untrusted.ts';

export interface ToolResult {
  readonly content: readonly [{ readonly type: 'text'; readonly text: string }];
  readonly structuredContent: JsonObject;
  readonly isError?: true;
}

/** An error of a tool, with the code and the message of the API. */
export interface ToolFault {
  readonly code: string;
  readonly message: string;
  readonly field?: string;
  readonly retryAfterSeconds?: number;
  readonly requestId?: string;
}

/** Characters of the messages of errors: the longest list all chains. */
const MESSAGE_CHARS_MAX = 1_000;

/** Returns the result of a failed call. */
export function faultResult({ code, message, ...more }: ToolFault): ToolResult {
  const shown = visibleText(message).slice(0, MESSAGE_CHARS_MAX);
  const retry = more.retryAfterSeconds === undefined ? '' : ` Retry after ${more.retryAfterSeconds} s.`;
  return {
    content: [{ type: 'text', text: `${code}: ${shown}${retry}` }],
    structuredContent: { error: { code, message: shown, ...more } },
    isError: true,
  };
}

/** Parses the body of a response. Null if it is not a JSON object. */
function objectIn(body: Uint8Array): JsonObject | null {
  try {
    const value = JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString()) as Json;
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** Returns the error of a response, as problem details of the API; `INTERNAL` if it is something else. */
export function faultOf({ body, status, requestId, retryAfterSeconds }: OperationResponse): ToolFault {
  const problem = objectIn(body) ?? {};
  const { code, detail, field } = problem;
  return {
    code: typeof code === 'string' ? code : 'INTERNAL',
    message: typeof detail === 'string' ? detail : `The service answered with the status ${status}.`,
    ...(typeof field === 'string' ? { field } : {}),
    ...(retryAfterSeconds === null ? {} : { retryAfterSeconds }),
    ...(requestId === '' ? {} : { requestId }),
  };
}

const CURSOR = /^(.+?)(?::(\d{1,9}))?(?::(\d{1,15}))?$/;

/** Parses a cursor; null if it is none. */
export function cursorOf(text: string): ToolCursor | null {
  const [, field, offset, newest] = CURSOR.exec(text) ?? [];
  if (field === undefined) return null;
  return { field, offset: Number(offset ?? 0), newest: newest === undefined ? null : Number(newest) };
}

export const BAD_CURSOR: ToolFault = {
  code: 'INVALID_REQUEST',
  message: 'cursor: not a cursor returned by this tool for these arguments.',
  field: 'cursor',
};

/** What a result shows, before it is shortened. */
interface Selection {
  readonly data: JsonObject;
  readonly omitted: readonly string[];
  /** Path of the list that `data` contains a part of, and the rows before it; null without a cursor. */
  readonly part: { readonly field: string; readonly offset: number; readonly total: number } | null;
}

function selectionOf(tool: Tool, data: JsonObject, cursor: ToolCursor | null): Selection | null {
  if (tool.pagedBy !== undefined) {
    const rows = data[tool.pagedBy];
    if (rows === undefined || !isList(rows)) return null;
    const offset = cursor?.offset ?? 0;
    const total = typeof data.total === 'number' ? data.total : offset + rows.length;
    const { shown } = shownOf(tool, data);
    return { data: shown, omitted: [], part: { field: tool.pagedBy, offset, total } };
  }
  if (cursor === null) {
    const { shown, omitted } = shownOf(tool, data);
    return { data: shown, omitted, part: null };
  }
  const { field, offset } = cursor;
  const value = valueAt(data, field.split('.'));
  if (value === undefined) return null;
  if (!isList(value)) return offset === 0 ? { data: { [field]: value }, omitted: [], part: null } : null;
  const rows = value.slice(offset);
  return { data: { [field]: rows }, omitted: [], part: { field, offset, total: value.length } };
}

function shownOf(
  { shown, hidesOthers }: Tool,
  data: JsonObject,
): { shown: JsonObject; omitted: readonly string[] } {
  if (shown === null) return { shown: data, omitted: [] };
  const kept = Object.fromEntries(
    shown.flatMap((field) => (Object.hasOwn(data, field) ? [[field, data[field] ?? null]] : [])),
  );
  if (hidesOthers === true) return { shown: kept, omitted: [] };
  return { shown: kept, omitted: Object.keys(data).filter((field) => !shown.includes(field)) };
}

/** Rows of `truncated`: the cuts, with the cursor at which each list goes on. */
function truncatedOf(
  cuts: readonly Cut[],
  { part, data }: Selection,
  fitted: JsonObject,
  newest: number | null,
): readonly JsonObject[] {
  const rows: JsonObject[] = [];
  const cut = part === null ? undefined : cuts.find(({ field }) => field === part.field);
  if (part !== null) {
    const list = fitted[part.field];
    const shown = list !== undefined && isList(list) ? list.length : 0;
    const next = part.offset + shown;
    if (next < part.total) {
      const position = newest === null ? '' : `:${newest}`;
      // Without a row, the same cursor would lead to the same result for ever.
      const cursor = shown === 0 ? {} : { cursor: `${part.field}:${next}${position}` };
      rows.push({ field: part.field, shown, total: part.total, ...cursor });
    }
  }
  for (const one of cuts) {
    if (one === cut || rows.length >= MCP_LIMITS.cutsShownMax) continue;
    const value = valueAt(data, one.field.split('.'));
    // Rows of a page have other positions in the whole list, so a path through them would lead elsewhere.
    const canRead = value !== undefined && part === null;
    const cursor = isList(value ?? null) ? `${one.field}:${one.shown}` : one.field;
    rows.push({ ...one, ...(canRead && cursor.length <= MCP_LIMITS.toolCursorCharsMax ? { cursor } : {}) });
  }
  return rows;
}

function moreOf(tool: Tool, isCharged: boolean, hasKey: boolean): string {
  if (tool.pagedBy !== undefined)
    return 'Call again with the same arguments and the cursor for the next rows.';
  if (!isCharged) return 'Call again with the same arguments and a cursor to read on.';
  return hasKey
    ? 'Call again with the same arguments, the same idempotencyKey and a cursor to read on; nothing is charged again.'
    : 'Call again with the same arguments and a cursor to read on. It is charged again, because this call had no idempotencyKey.';
}

export interface ResultOptions {
  readonly cursor: ToolCursor | null;
  /** The call had an idempotency key. */
  readonly hasKey: boolean;
  /** A second response, of which one field is added to the data. */
  readonly more: { readonly field: string; readonly response: OperationResponse } | null;
}

/** Returns `data` of a response, or the whole response if it has no envelope; null if it is an error. */
function dataOf({ status, body }: OperationResponse, alsoAnswers: number | undefined): JsonObject | null {
  const whole = status === 200 || status === alsoAnswers ? objectIn(body) : null;
  const data = whole !== null && Object.hasOwn(whole, 'data') ? whole.data : whole;
  return isObject(data ?? undefined) ? (data as JsonObject) : null;
}

const textOf = (structured: JsonObject): string => `${TEXT_HEAD}\n${JSON.stringify(structured)}`;

/** Bytes of a result in its message: the text is JSON inside JSON. */
const bytesOf = (structured: JsonObject): number =>
  Buffer.byteLength(JSON.stringify(structured)) + Buffer.byteLength(JSON.stringify(textOf(structured)));

/** Returns the result of a tool for the response of its operation. */
export function resultOf(
  tool: Tool,
  operation: ToolOperation,
  response: OperationResponse,
  { cursor, hasKey, more }: ResultOptions,
): ToolResult {
  const first = dataOf(response, tool.alsoAnswers);
  if (first === null) return faultResult(faultOf(response));
  const second = more === null ? null : dataOf(more.response, undefined);
  if (more !== null && second === null) return faultResult(faultOf(more.response));
  const added = more === null ? {} : { [more.field]: second?.[more.field] ?? null };
  const data = { ...first, ...added };
  const selection = selectionOf(tool, data, cursor);
  if (selection === null) return faultResult(BAD_CURSOR);
  const { ignored: _ignored, ...selected } = selection.data;
  const notes = cursor === null || tool.pagedBy !== undefined ? notesOf(data) : [];
  const newest = tool.pagedBy !== undefined && typeof data.newest === 'number' ? data.newest : null;
  const isCharged = operation.credits > 0;
  const credits = isCharged ? objectIn(response.body)?.credits : undefined;
  const remaining = isObject(credits) ? credits.remaining : undefined;

  function structured(fitted: JsonObject, cuts: readonly Cut[]): JsonObject {
    const rows = truncatedOf(cuts, { ...selection, data: selected } as Selection, fitted, newest);
    const { omitted } = selection as Selection;
    const isWhole = rows.length === 0 && omitted.length === 0;
    return {
      data: fitted,
      notes,
      ...(rows.length === 0 ? {} : { truncated: rows }),
      ...(omitted.length === 0 ? {} : { omitted }),
      ...(isWhole ? {} : { more: moreOf(tool, isCharged, hasKey) }),
      ...(isCharged
        ? {
            charge: {
              ...(typeof remaining === 'number' ? { creditsRemaining: remaining } : {}),
              replayed: response.isReplayed,
            },
          }
        : {}),
    };
  }

  const bytesMax = MCP_LIMITS.toolResultBytesMax - MCP_LIMITS.toolResultFrameBytes;
  const read = withReadRows(selected);
  const fitted = shortenToFit(
    visible(read.data) as JsonObject,
    (less, cuts) => bytesOf(structured(less, cuts)),
    bytesMax,
    new Set(tool.essential),
    read.cuts,
  );
  const content = structured(fitted.data, fitted.cuts);
  return { content: [{ type: 'text', text: textOf(content) }], structuredContent: content };
}
