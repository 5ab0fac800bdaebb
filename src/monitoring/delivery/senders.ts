/**
 * Makes one attempt at one receiver: webhook, Slack, Telegram, email. Responses and failures become an outcome; senders do not
 * throw.
 */
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import type { Dispatcher } from 'undici';
import type { Clock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import type { Mailer } from '../../base/mail.ts';
import type { OutboundPolicy } from '../../base/outbound.ts';
import type { ChannelStore } from '../channels.ts';
import type { ChannelKind, OutgoingDelivery } from '../records.ts';
import { DELIVERY_LIMITS } from './limits.ts';
import { createReceiverTargets, type ReceiverTarget, requestTarget } from './receiver-url.ts';
import { readRetryAfter } from './schedule.ts';

export type Outcome =
  | { readonly kind: 'DELIVERED'; readonly responseStatus: number | null }
  /** The attempt may succeed later. */
  | {
      readonly kind: 'RETRY';
      readonly responseStatus: number | null;
      readonly error: string;
      readonly retryAfterMs: number | null;
    }
  /**
   * The attempt will never succeed. `GONE`: the receiver reports that the URL does not exist any more, so nothing more is sent
   * there.
   */
  | { readonly kind: 'REFUSED' | 'GONE'; readonly responseStatus: number | null; readonly error: string };

export type Send = (delivery: OutgoingDelivery) => Promise<Outcome>;

export interface SenderDeps {
  readonly channels: ChannelStore;
  /** Returns the agent of createOutboundAgent, which refuses non-public addresses at each connection. Called for each delivery. */
  readonly agent: () => Dispatcher;
  readonly policy: OutboundPolicy;
  /** Null if no mail server is configured. */
  readonly mailer: Mailer | null;
  readonly clock: Clock;
  /** `https://api.telegram.org`, except in tests. */
  readonly telegramApi: string;
}

const refused = (error: string): Outcome => ({ kind: 'REFUSED', responseStatus: null, error });

/** Keys of signing secrets: making one takes a third of the time of a signature. */
const signingKeys = new Map<string, KeyObject>();

function signingKey(secret: string): KeyObject {
  const known = signingKeys.get(secret);
  if (known !== undefined) return known;
  const key = createSecretKey(secret.slice(secret.indexOf('_') + 1), 'base64');
  if (signingKeys.size >= DELIVERY_LIMITS.signingKeysKept)
    signingKeys.delete(signingKeys.keys().next().value as string);
  signingKeys.set(secret, key);
  return key;
}

/**
 * Returns the signature of Standard Webhooks
 * (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md): base64 of HMAC-SHA256 over
 * `id.timestamp.body`, one for each secret, separated by spaces.
 *
 * @param message - `timestamp` in seconds since the epoch
 */
export function signWebhook(
  secrets: readonly string[],
  message: { readonly id: string; readonly timestamp: number; readonly body: string },
): string {
  const signed = `${message.id}.${message.timestamp}.${message.body}`;
  return secrets
    .map((secret) => `v1,${createHmac('sha256', signingKey(secret)).update(signed).digest('base64')}`)
    .join(' ');
}

/** Describes a failed connection for the log: by a code, never by an address, which could reveal a private network. */
function faultOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code === 'string') {
    if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT' || code === 'ABORT_ERR')
      return 'No answer in time.';
    if (code === 'UND_ERR_CONNECT_TIMEOUT') return 'No connection in time.';
    return `The connection failed (${code}).`;
  }
  if (error instanceof Error && (error.name === 'TimeoutError' || error.name === 'AbortError'))
    return 'No answer in time.';
  return /not public/.test(messageOf(error))
    ? 'The host resolves to an address that is not public.'
    : 'The connection failed.';
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/**
 * Collects the response to a post. Only a limited part of it is read, and the attempt as a whole has one timeout, also before it has a
 * connection.
 */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #resolve: (answer: Answer) => void;
  readonly #reject: (error: unknown) => void;
  readonly #timeout: NodeJS.Timeout;
  #controller: Dispatcher.DispatchController | null = null;
  /** The reason to end the request before its response has ended. */
  #ended: Error | null = null;
  #status = 0;
  #headers: Answer['headers'] = {};
  readonly #parts: Buffer[] = [];
  #size = 0;

  constructor(resolve: (answer: Answer) => void, reject: (error: unknown) => void) {
    this.#resolve = resolve;
    this.#reject = reject;
    this.#timeout = setTimeout(timeOut, DELIVERY_LIMITS.deliveryTimeoutMs, this);
  }

  timeOut(): void {
    const late = new DOMException('The delivery timed out.', 'TimeoutError');
    this.#reject(late);
    this.#end(late);
  }

  #end(reason: Error): void {
    this.#ended = reason;
    this.#controller?.abort(reason);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // The timeout was over before there was a connection: nothing is sent for an attempt that counts as failed.
    if (this.#ended !== null) controller.abort(this.#ended);
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: Answer['headers']): void {
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(_: Dispatcher.DispatchController, part: Buffer): void {
    this.#parts.push(part);
    this.#size += part.length;
    if (this.#size < DELIVERY_LIMITS.deliveryAnswerBytesMax) return;
    this.onResponseEnd();
    this.#end(new Error('The response is longer than what is read.'));
  }

  onResponseEnd(): void {
    clearTimeout(this.#timeout);
    const text =
      this.#parts.length === 0
        ? ''
        : Buffer.concat(this.#parts).toString('utf8', 0, DELIVERY_LIMITS.deliveryAnswerBytesMax);
    this.#resolve({ status: this.#status, headers: this.#headers, text });
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    clearTimeout(this.#timeout);
    this.#reject(error);
  }
}

const timeOut = (exchange: Exchange): void => exchange.timeOut();

/**
 * Posts JSON without following redirects. It uses `dispatch`, because `request` creates a stream for each response, and takes a signal with
 * listeners for a timeout.
 */
const post = (
  { origin, path }: ReceiverTarget,
  body: string,
  headers: readonly string[],
  agent: Dispatcher,
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const all = ['content-type', 'application/json; charset=utf-8', 'user-agent', 'Assay', ...headers];
    agent.dispatch({ origin, path, method: 'POST', headers: all, body }, new Exchange(resolve, reject));
  });

const isSuccess = (status: number): boolean => status >= 200 && status < 300;
const header = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value[0] : value;

/** Makes a request. If it fails, the outcome is a retry; `judge` decides which responses are final. */
async function attempt(send: () => Promise<Answer>, judge: (answer: Answer) => Outcome): Promise<Outcome> {
  try {
    return judge(await send());
  } catch (error) {
    return { kind: 'RETRY', responseStatus: null, error: faultOf(error), retryAfterMs: null };
  }
}

/** Creates the senders of all channels. */
export function createSenders(deps: SenderDeps): Readonly<Record<ChannelKind, Send>> {
  const { channels, agent, policy, mailer, clock } = deps;

  const again = (answer: Answer, error = `The receiver answered ${answer.status}.`): Outcome => ({
    kind: 'RETRY',
    responseStatus: answer.status,
    error,
    retryAfterMs: readRetryAfter(header(answer.headers['retry-after']), clock.now()),
  });
  const done = (answer: Answer): Outcome => ({ kind: 'DELIVERED', responseStatus: answer.status });

  const targetOf = createReceiverTargets(policy);
  const telegramTarget = (botToken: string): ReceiverTarget =>
    requestTarget(new URL(`${deps.telegramApi}/bot${botToken}/sendMessage`));

  return {
    webhook(delivery) {
      const { id, body, accountId } = delivery;
      const target = targetOf(delivery.target);
      if (target === null) return Promise.resolve(refused('The URL is not allowed any more.'));
      const timestamp = Math.floor(clock.now() / 1_000);
      const secrets = channels.signingSecrets(accountId);
      const headers = ['webhook-id', id, 'webhook-timestamp', String(timestamp)];
      if (secrets.length > 0)
        headers.push('webhook-signature', signWebhook(secrets, { id, timestamp, body }));
      return attempt(
        () => post(target, body, headers, agent()),
        (answer) => {
          if (isSuccess(answer.status)) return done(answer);
          if (answer.status === 410)
            return {
              kind: 'GONE',
              responseStatus: 410,
              error: 'The receiver answered 410: the URL is disabled.',
            };
          if (answer.status >= 300 && answer.status < 400)
            return again(answer, `The receiver answered ${answer.status}: redirects are not followed.`);
          return again(answer);
        },
      );
    },
    slack(delivery) {
      const url = channels.channels(delivery.accountId).slackWebhookUrl;
      if (url === null) return Promise.resolve(refused('The channel was removed.'));
      const target = targetOf(url);
      if (target === null) return Promise.resolve(refused('The URL is not allowed any more.'));
      return attempt(
        () => post(target, delivery.body, [], agent()),
        (answer) => {
          if (isSuccess(answer.status)) return done(answer);
          // https://api.slack.com/messaging/webhooks#handling_errors: 403, 404 and 410 are about the hook itself.
          if ([403, 404, 410].includes(answer.status))
            return {
              kind: 'REFUSED',
              responseStatus: answer.status,
              error: `Slack answered ${answer.status}: the hook does not exist any more.`,
            };
          return again(answer);
        },
      );
    },
    telegram(delivery) {
      const { telegram } = channels.channels(delivery.accountId);
      if (telegram === null) return Promise.resolve(refused('The channel was removed.'));
      const body = JSON.stringify({
        chat_id: telegram.chatId,
        ...(JSON.parse(delivery.body) as Record<string, unknown>),
      });
      return attempt(
        () => post(telegramTarget(telegram.botToken), body, [], agent()),
        (answer) => {
          if (isSuccess(answer.status)) return done(answer);
          // https://core.telegram.org/bots/api#making-requests: a wrong token, a blocked bot, or a chat that does not exist.
          if ([400, 401, 403, 404].includes(answer.status))
            return {
              kind: 'REFUSED',
              responseStatus: answer.status,
              error: `Telegram answered ${answer.status}: the bot may not write to the chat.`,
            };
          const asked = /"retry_after"\s*:\s*(\d{1,9})/.exec(answer.text)?.[1];
          const outcome = again(answer);
          return asked === undefined || outcome.kind !== 'RETRY'
            ? outcome
            : { ...outcome, retryAfterMs: Number(asked) * 1_000 };
        },
      );
    },
    async email(delivery) {
      if (mailer === null) return refused('No mail server is configured.');
      const { subject, text } = JSON.parse(delivery.body) as { subject: string; text: string };
      try {
        await mailer.send({ to: delivery.target, subject, text });
        return { kind: 'DELIVERED', responseStatus: null };
      } catch (error) {
        const cause =
          error instanceof Error ? (error.cause as { responseCode?: unknown } | undefined) : undefined;
        const code = typeof cause?.responseCode === 'number' ? cause.responseCode : null;
        const said =
          code === null ? 'The mail server rejected the email.' : `The mail server answered ${code}.`;
        // RFC 5321 § 4.2.1: 5yz is permanent.
        if (code !== null && code >= 500) return { kind: 'REFUSED', responseStatus: code, error: said };
        return { kind: 'RETRY', responseStatus: code, error: said, retryAfterMs: null };
      }
    },
  };
}
