/** The types of requests to endpoints and of their responses. */
import type { EndpointSpec } from './endpoints.ts';
import type { Json } from './exact-json.ts';

/** The response of an endpoint: its status, and its body as text. */
export interface EndpointAnswer {
  readonly status: number;
  readonly text: string;
  /**
   * Parses the body as JSON without loss of digits.
   *
   * @throws CHAIN_BAD_ANSWER if the body is not JSON
   */
  json(): Json;
}

export interface EndpointRequest<T> {
  /** Default GET, or POST if there is a body. */
  readonly method?: 'GET' | 'POST';
  /** Default: the URL of the endpoint. See `endpointUrl`. */
  readonly url?: (endpoint: EndpointSpec) => string;
  /** Over a WebSocket: the JSON-RPC message; its `id` must be `rpcId`. */
  readonly body?: string;
  readonly rpcId?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Headers that depend on the endpoint, for APIs that expect their key in a header other than `authorization`. */
  readonly headersFor?: (endpoint: EndpointSpec) => Readonly<Record<string, string>>;
  /** Whether the request is safe to repeat; true for every request that only reads. Default true. */
  readonly repeatable?: boolean;
  /** Status codes other than 200 that `read` accepts. */
  readonly statuses?: readonly number[];
  /** Only endpoints with one of these layouts are asked. Default: all. */
  readonly layouts?: readonly string[];
  /**
   * Converts the response to a value.
   *
   * @throws CHAIN_BAD_ANSWER for a response that no honest endpoint sends; it counts as a failure of the endpoint, and the next
   *   endpoint is asked
   * @throws CHAIN_REFUSED if a sound endpoint does not answer this request; the next endpoint is asked
   */
  readonly read: (answer: EndpointAnswer, endpoint: EndpointSpec) => T;
}

export interface Answered<T> {
  readonly value: T;
  readonly endpoint: EndpointSpec;
}
