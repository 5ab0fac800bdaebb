/** The operations as the tools of the MCP server see them. */
import type { TSchema } from 'typebox';
import type { ToolOperation } from '../../mcp/operations.ts';
import { patternsOf, permissionsOf, type Route } from '../routes.ts';

/** Returns the schema of `data` in a response, or of the whole response if it has no envelope. */
function dataOf(response: TSchema): TSchema {
  const { properties } = response as { readonly properties?: Readonly<Record<string, TSchema>> };
  return properties?.success === undefined ? response : (properties.data ?? response);
}

/** Returns the operations that tools can call: those with a JSON response, and not the MCP endpoint itself. */
export const toolOperations = (routes: readonly Route[]): readonly ToolOperation[] =>
  routes.flatMap((route) => {
    const { id, method, parameters, body, response, credits, quota, isListed } = route;
    if (typeof response === 'string' || !isListed) return [];
    return [
      {
        id,
        method,
        path: patternsOf(route).at(-1) ?? route.path,
        parameters,
        body,
        data: dataOf(response),
        credits,
        quota: quota?.meter ?? null,
        permissions: permissionsOf(route),
      },
    ];
  });
