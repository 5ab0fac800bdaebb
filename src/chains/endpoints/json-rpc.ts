/** JSON-RPC 2.0 as most nodes implement it, over the endpoints of a pool: one request, one result or an error of the node. */
import { AssayError } from '../../base/errors.ts';
import type { Call } from '../families/port.ts';
import type { Answered, EndpointAnswer, EndpointPool, EndpointRequest } from './endpoint-pool.ts';
import { asObject, badAnswer, type Json } from './exact-json.ts';

/** The error object of a JSON-RPC response. */
export class RpcRefusal extends AssayError {
  readonly rpcCode: number;
  readonly data: Json;

  constructor(source: string, method: string, rpcCode: number, message: string, data: Json) {
    super('CHAIN_REFUSED', `${source} refused ${method}: ${message.slice(0, 200)} (${rpcCode}).`);
    this.name = 'RpcRefusal';
    this.rpcCode = rpcCode;
    this.data = data;
  }
}

let lastId = 0;

export interface RpcOptions<T> {
  readonly method: string;
  /** By position, or by name if the node expects an object. */
  readonly params: Json;
  /** Default '2.0'; Bitcoin Core also accepts '1.0'. */
  readonly version?: '1.0' | '2.0';
  readonly layouts?: readonly string[];
  /** Error codes that mean the endpoint is temporarily unavailable: the pool asks others, and it counts as a failure of this one. */
  readonly unavailableCodes?: readonly number[];
  /** Converts the result to a value; throws CHAIN_BAD_ANSWER if it is invalid. */
  readonly read: (result: Json) => T;
}

/**
 * Builds the pool request for one JSON-RPC call. Some nodes send errors with the status 400, 404 or 500, so those bodies are read too.
 */
export function rpcRequest<T>(options: RpcOptions<T>): EndpointRequest<T> {
  const { method, params, version = '2.0', layouts, unavailableCodes = [], read } = options;
  lastId = lastId >= 2 ** 50 ? 1 : lastId + 1;
  const id = lastId;
  return {
    body: JSON.stringify({ jsonrpc: version, id, method, params }),
    rpcId: id,
    statuses: [400, 404, 500],
    ...(layouts === undefined ? {} : { layouts }),
    read(answer, { source }) {
      const message = asObject(jsonOf(answer, source), 'message');
      if (message.error !== undefined && message.error !== null) {
        const { code, message: text, data } = asObject(message.error, 'error');
        if (typeof code !== 'number' || typeof text !== 'string')
          throw badAnswer('error', 'a code and a message');
        if (unavailableCodes.includes(code))
          throw new AssayError('CHAIN_UNREACHABLE', `${source}: not ready: ${text.slice(0, 200)} (${code}).`);
        throw new RpcRefusal(source, method, code, text, data ?? null);
      }
      if (message.id !== id) throw badAnswer('id', `that of the request (${id})`);
      if (message.result === undefined) throw badAnswer('result', 'present');
      return read(message.result);
    },
  };
}

/** An error status without a JSON body is an outage of the server, not a response to the request. */
function jsonOf(answer: EndpointAnswer, source: string): Json {
  if (answer.status === 200) return answer.json();
  try {
    return answer.json();
  } catch (cause) {
    throw new AssayError('CHAIN_UNREACHABLE', `${source}: unexpected status ${answer.status}.`, { cause });
  }
}

/**
 * Sends one JSON-RPC call over the pool.
 *
 * @throws what `EndpointPool.ask` throws; an error of the node is an `RpcRefusal`
 */
export const rpcCall = <T>(pool: EndpointPool, options: RpcOptions<T>, call: Call): Promise<Answered<T>> =>
  pool.ask(rpcRequest(options), call);
