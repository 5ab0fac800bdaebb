/** The MCP server: the tools over a port of operations. The protocol itself is that of the library, which is loaded at the first use. */
import type { McpServer } from '@modelcontextprotocol/server';
import type { TObject, TProperties } from 'typebox';
import { AssayError } from '../base/errors.ts';
import { INSTRUCTIONS } from './instructions.ts';
import type { CallOperation, OperationRequest, ToolOperation } from './operations.ts';
import { BAD_CURSOR, cursorOf, faultResult, resultOf, type ToolResult } from './result.ts';
import {
  checkOf,
  cursorField,
  idempotencyField,
  inputSchemaOf,
  isRepeatable,
  outputSchemaOf,
  propertiesOf,
} from './schemas.ts';
import { descriptionOf, TOOLS, type Tool, type ToolRequest } from './tools.ts';
import type { JsonObject } from './untrusted.ts';

/** A tool and its operation. */
export interface BoundTool {
  readonly tool: Tool;
  readonly operation: ToolOperation;
  /** The second operation of the tool; null if it has none, or the server does not have it. */
  readonly also: ToolOperation | null;
  readonly input: TObject;
  readonly output: TObject;
}

/** Returns the fields of `data` that come from the second operation of a tool. */
function fieldsOf({ also }: Tool, operation: ToolOperation | null): TProperties {
  const schema = operation === null ? undefined : propertiesOf(operation.data)[also?.field ?? ''];
  return also === undefined || schema === undefined ? {} : { [also.field]: schema };
}

/** Returns the tools with operations that the server has. */
export function boundTools(operations: readonly ToolOperation[]): readonly BoundTool[] {
  const byId = new Map(operations.map((one) => [one.id, one]));
  return TOOLS.flatMap((tool) => {
    const operation = byId.get(tool.operation);
    if (operation === undefined) return [];
    const fields = {
      ...tool.fields(operation),
      ...(tool.writes === true ? {} : cursorField),
      ...(isRepeatable(operation) ? idempotencyField : {}),
    };
    const also = byId.get(tool.also?.operation ?? '') ?? null;
    const output = outputSchemaOf(operation, fieldsOf(tool, also));
    return [{ tool, operation, also, input: inputSchemaOf(fields), output }];
  });
}

const encoded = (values: Readonly<Record<string, string>>): string =>
  Object.entries(values)
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .join('&');

function requestTo(
  { method, path: pattern }: ToolOperation,
  { path = {}, query = {}, body }: ToolRequest,
  idempotencyKey: string | null,
): OperationRequest {
  return {
    method,
    path: pattern.replace(/\{(\w+)\}/g, (_whole, name: string) => encodeURIComponent(path[name] ?? '')),
    query: encoded(query),
    body: body === undefined ? null : JSON.stringify(body),
    idempotencyKey,
  };
}

/**
 * Calls a tool.
 *
 * @param args - arguments that match the input schema of the tool
 * @returns the result, also of a failed call; it never rejects
 */
export async function callTool(
  { tool, operation, also, output }: BoundTool,
  args: JsonObject,
  call: CallOperation,
  onFault: (error: unknown) => void = () => {},
): Promise<ToolResult> {
  const text = typeof args.cursor === 'string' ? args.cursor : null;
  const cursor = text === null ? null : cursorOf(text);
  // Checked before the call, which may cost credits.
  const field = tool.pagedBy ?? cursor?.field.split('.')[0] ?? '';
  const fields = propertiesOf(propertiesOf(output).data ?? null);
  const isHidden = tool.hidesOthers === true && tool.shown?.includes(field) === false;
  const isPart = text === null || (cursor !== null && Object.hasOwn(fields, field) && !isHidden);
  if (!isPart || (cursor !== null && tool.pagedBy !== undefined && cursor.field !== tool.pagedBy))
    return faultResult(BAD_CURSOR);
  const key = typeof args.idempotencyKey === 'string' ? args.idempotencyKey : null;
  try {
    const response = await call(requestTo(operation, tool.request(args, cursor), key));
    const more =
      also === null || tool.also === undefined || response.status !== 200
        ? null
        : { field: tool.also.field, response: await call(requestTo(also, tool.also.request(args), null)) };
    return resultOf(tool, operation, response, { cursor, hasKey: key !== null, more });
  } catch (error) {
    onFault(error);
    if (error instanceof AssayError && error.code === 'SOURCE_UNAVAILABLE')
      return faultResult({ code: 'UNREACHABLE', message: error.message });
    return faultResult({ code: 'INTERNAL', message: 'Internal error.' });
  }
}

const jsonOf = (schema: TObject): Record<string, unknown> =>
  JSON.parse(JSON.stringify(schema)) as Record<string, unknown>;

export interface ToolServerOptions {
  readonly version: string;
  readonly operations: readonly ToolOperation[];
  /** Receives errors that are no response of an operation. */
  readonly onFault?: (error: unknown) => void;
}

/**
 * Creates the server of one request or connection, which calls operations by `call`.
 *
 * @param only - the tool of a request that calls one: the others are not registered, which takes most of the time. Default: all
 */
export type CreateToolServer = (call: CallOperation, only?: string) => McpServer;

/** Loads the library, and prepares the tools once for all servers. */
export async function loadToolServer({
  version,
  operations,
  onFault,
}: ToolServerOptions): Promise<CreateToolServer> {
  const { fromJsonSchema, McpServer: Server } = await import('@modelcontextprotocol/server');
  const schemaOf = (schema: TObject) => {
    const check = checkOf(schema);
    return fromJsonSchema<JsonObject>(jsonOf(schema), {
      getValidator:
        <T>() =>
        (value: unknown) => {
          const errorMessage = check(value);
          return errorMessage === null
            ? { valid: true as const, data: value as T, errorMessage: undefined }
            : { valid: false as const, data: undefined, errorMessage: `INVALID_REQUEST: ${errorMessage}` };
        },
    });
  };
  const tools = boundTools(operations).map((bound) => {
    const { tool, operation, input, output } = bound;
    const config = {
      title: tool.title,
      description: descriptionOf(tool, operation),
      inputSchema: schemaOf(input),
      outputSchema: schemaOf(output),
      annotations: {
        title: tool.title,
        readOnlyHint: tool.writes !== true,
        destructiveHint: false,
        // A second call is charged again, or adds a second note.
        idempotentHint: tool.writes !== true && operation.credits === 0,
        openWorldHint: tool.isOpenWorld === true,
      },
    };
    return { bound, config };
  });
  return (call, only) => {
    const server = new Server(
      { name: 'assay', title: 'Assay', version },
      { instructions: INSTRUCTIONS, capabilities: { tools: { listChanged: false } } },
    );
    const needed = only === undefined ? tools : tools.filter(({ bound }) => bound.tool.name === only);
    for (const { bound, config } of needed)
      server.registerTool(bound.tool.name, config, async (args) => {
        const { content, structuredContent, isError } = await callTool(bound, args, call, onFault);
        return {
          content: [...content],
          structuredContent: { ...structuredContent },
          ...(isError === true ? { isError } : {}),
        };
      });
    return server;
  };
}
