/**
 * A stand-in for Stripe on this machine. It reads form-encoded requests and returns JSON as Stripe documents it
 * (https://docs.stripe.com/api/checkout/sessions/create, https://docs.stripe.com/api/errors), keeps idempotency keys, and signs events
 * (https://docs.stripe.com/webhooks#verify-manually).
 */
import { createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export const WEBHOOK_SECRET = 'whsec_of_the_stand_in';

export interface StandInRequest {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  /** Decoded form: `line_items[0][quantity]` is a name. */
  readonly form: Readonly<Record<string, string>>;
}

export interface StandInSession {
  readonly id: string;
  readonly payment_intent: string;
  readonly client_reference_id: string;
  readonly currency: string;
  readonly amount_total: number;
  readonly metadata: Readonly<Record<string, string>>;
  readonly success_url: string;
  readonly expires_at: number;
  readonly url: string;
}

/** What the next requests get instead of a session. */
export type StandInFault = { readonly status: number; readonly error?: object } | 'hang' | 'reset';

export interface StripeStandIn {
  readonly url: string;
  readonly requests: readonly StandInRequest[];
  readonly sessions: readonly StandInSession[];
  /** Faults of the next requests, one each. */
  readonly faults: StandInFault[];
  close(): Promise<void>;
}

const TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'invalid_request_error',
  402: 'card_error',
  429: 'invalid_request_error',
  500: 'api_error',
};

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request) body += String(chunk);
  return body;
}

export async function startStripe(): Promise<StripeStandIn> {
  const requests: StandInRequest[] = [];
  const sessions: StandInSession[] = [];
  const faults: StandInFault[] = [];
  const byKey = new Map<string, StandInSession>();

  function send(response: ServerResponse, status: number, body: object): void {
    response.writeHead(status, {
      'content-type': 'application/json',
      'request-id': `req_${requests.length}`,
    });
    response.end(JSON.stringify(body));
  }

  function sessionOf(form: Readonly<Record<string, string>>, key: string): StandInSession {
    const known = byKey.get(key);
    if (known !== undefined) return known;
    const number = sessions.length + 1;
    const metadata = Object.fromEntries(
      Object.entries(form).flatMap(([name, value]) => {
        const field = /^metadata\[(\w+)\]$/.exec(name)?.[1];
        return field === undefined ? [] : [[field, value]];
      }),
    );
    const session: StandInSession = {
      id: `cs_test_${number}`,
      payment_intent: `pi_${number}`,
      client_reference_id: form.client_reference_id ?? '',
      currency: form['line_items[0][price_data][currency]'] ?? '',
      amount_total:
        Number(form['line_items[0][price_data][unit_amount]']) * Number(form['line_items[0][quantity]']),
      metadata,
      success_url: form.success_url ?? '',
      expires_at: Number(form.expires_at),
      url: `https://checkout.stripe.test/c/pay/cs_test_${number}`,
    };
    byKey.set(key, session);
    sessions.push(session);
    return session;
  }

  const server = createServer((request, response) => {
    void (async () => {
      const form = Object.fromEntries(new URLSearchParams(await bodyOf(request)));
      const { headers, url = '' } = request;
      requests.push({ path: `${request.method} ${url}`, headers, form });
      const fault = faults.shift();
      if (fault === 'hang') return;
      if (fault === 'reset') return void request.socket.destroy();
      if (fault !== undefined) {
        const { status, error = {} } = fault;
        return send(response, status, {
          error: { type: TYPES[status] ?? 'api_error', message: 'No.', ...error },
        });
      }
      if (headers.authorization !== 'Bearer sk_test_0123456789')
        return send(response, 401, { error: { type: 'invalid_request_error', message: 'Invalid API Key' } });
      if (request.method !== 'POST' || url !== '/v1/checkout/sessions')
        return send(response, 404, { error: { type: 'invalid_request_error', message: 'Unknown path' } });
      const session = sessionOf(form, String(headers['idempotency-key']));
      send(response, 200, {
        object: 'checkout.session',
        ...session,
        payment_status: 'unpaid',
        status: 'open',
      });
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    sessions,
    faults,
    close: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

/** Returns the header with which Stripe signs a body. */
export const signatureOf = (body: string, atMs: number, secret = WEBHOOK_SECRET): string => {
  const seconds = Math.floor(atMs / 1000);
  return `t=${seconds},v1=${createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')}`;
};

let events = 0;

/** Returns the text of an event, as Stripe sends it. */
export const eventOf = (type: string, object: object): string =>
  JSON.stringify({ id: `evt_${++events}`, object: 'event', type, data: { object } });

/** Returns a session as the event of its payment has it. */
export const paid = (session: StandInSession, change: object = {}): object => ({
  ...session,
  object: 'checkout.session',
  payment_status: 'paid',
  status: 'complete',
  ...change,
});
