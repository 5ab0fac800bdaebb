/** JSON-RPC 2.0 as most nodes speak it, over the endpoints of a pool: one question, one result or the node's own refusal. */
import { AssayError } from '../../base/errors.ts';
import type { Answered, EndpointAnswer, EndpointPool, EndpointRequest } from './endpoint-pool.ts';
import { asObject, badAnswer, type Json } from './exact-json.ts';
import type { Call } from './port.ts';

/** The error object of a JSON-RPC answer. */
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
  /** By position, or by name where the node wants an object. */
  readonly params: Json;
  /** Default '2.0'; Bitcoin Core takes '1.0' too. */
  readonly version?: '1.0' | '2.0';
  readonly layouts?: readonly string[];
  /** Codes of errors that only say that this endpoint is not well now: others are asked, and it counts against it. */
  readonly unwellCodes?: readonly number[];
  /** Makes the result a value. Throws CHAIN_BAD_ANSWER. */
  readonly read: (result: Json) => T;
}

/** A request of the pool for one JSON-RPC call. Some nodes send errors with the statuses 400, 404 and 500: those are read too. */
export function rpcRequest<T>(options: RpcOptions<T>): EndpointRequest<T> {
  const { method, params, version = '2.0', layouts, unwellCodes = [], read } = options;
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
        if (unwellCodes.includes(code))
          throw new AssayError(
            'CHAIN_UNREACHABLE',
            `${source} is not ready: ${text.slice(0, 200)} (${code}).`,
          );
        throw new RpcRefusal(source, method, code, text, data ?? null);
      }
      if (message.id !== id) throw badAnswer('id', `that of the question (${id})`);
      if (message.result === undefined) throw badAnswer('result', 'there');
      return read(message.result);
    },
  };
}

/** A server's error that carries no JSON is its outage, not its answer. */
function jsonOf(answer: EndpointAnswer, source: string): Json {
  if (answer.status === 200) return answer.json();
  try {
    return answer.json();
  } catch (cause) {
    throw new AssayError('CHAIN_UNREACHABLE', `${source} answered the status ${answer.status}.`, { cause });
  }
}

/** Asks one JSON-RPC call of the pool. Throws what `EndpointPool.ask` throws; a node's own error is an RpcRefusal. */
export const rpcCall = <T>(pool: EndpointPool, options: RpcOptions<T>, call: Call): Promise<Answered<T>> =>
  pool.ask(rpcRequest(options), call);
