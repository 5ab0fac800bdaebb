/**
 * `assay monitor add|list|alerts|tail`: watched wallets and their alerts, with or without a running server, or of a remote server.
 */

import type { Command } from 'commander';
import { LOCAL_ACCOUNT } from '../accounts/keys.ts';
import { AssayError } from '../base/errors.ts';
import { checkOutboundUrl, createOutboundAgent } from '../base/outbound.ts';
import { sleep } from '../base/retry.ts';
import { isUrl } from '../base/url.ts';
import { type AlertAnswer, alertAnswer, walletAnswer } from '../monitoring/answers.ts';
import { DELIVERY_LIMITS } from '../monitoring/delivery/limits.ts';
import { MONITORING_LIMITS } from '../monitoring/limits.ts';
import {
  ALERT_FREQUENCIES,
  ALERT_STATUSES,
  ALERT_THRESHOLDS,
  RULE_IDS,
  SEVERITIES,
} from '../monitoring/records.ts';
import { parseMonitoringChain } from '../monitoring/service.ts';
import { eventOf, type StreamEvent } from '../monitoring/stream.ts';
import { answer, printableLine, type Terminal, table, wholeNumber } from './context.ts';
import { refusedBy, sentenceOf } from './remote-error.ts';
import type { Services } from './services.ts';

interface Common {
  readonly account: string;
  readonly json?: boolean;
}

/** Interval between checks of the store for writes of another process. */
const LOOK_MS = 250;
/** Time without data after which the server is considered gone: it sends pings more often than that. */
const STREAM_SILENCE_MS = 3 * MONITORING_LIMITS.streamPingMs;
const RECONNECT_MS = 1_000;

function oneOf<T extends string>(
  option: string,
  text: string | undefined,
  values: readonly T[],
): T | undefined {
  if (text === undefined) return undefined;
  const found = values.find((value) => value.toLowerCase() === text.toLowerCase());
  if (found !== undefined) return found;
  throw new AssayError('INVALID_REQUEST', `${option}: must be one of ${values.join(', ')} (got '${text}').`);
}

/** Returns an object with the property, or an empty one if the value is undefined. */
const given = <K extends string, V>(key: K, value: V | undefined): Partial<Record<K, V>> =>
  value === undefined ? {} : ({ [key]: value } as Partial<Record<K, V>>);

const WALLET_HEAD = ['ID', 'STATUS', 'CHAIN', 'ADDRESS', 'RISK', 'ADDED', 'LABEL'];
const walletRow = (wallet: ReturnType<typeof walletAnswer>): readonly string[] => [
  wallet.id,
  wallet.status,
  wallet.chain,
  wallet.walletAddress,
  wallet.riskLevel ?? '-',
  wallet.createdAt,
  printableLine(wallet.label ?? ''),
];

const finalityOf = (alert: AlertAnswer): string =>
  alert.reorged ? 'reverted' : alert.final ? 'final' : 'not final';
const ALERT_HEAD = ['CREATED', 'SEVERITY', 'STATUS', 'RULE', 'FINALITY', 'CHAIN', 'WALLET', 'TITLE', 'ID'];
const alertRow = (alert: AlertAnswer): readonly string[] => [
  alert.createdAt,
  alert.severity,
  alert.status,
  alert.ruleId,
  finalityOf(alert),
  alert.wallet.chain,
  alert.wallet.walletAddress,
  printableLine(alert.title),
  alert.id,
];

/** Formats one event of `tail`, as JSON or as text. */
function lineOf({ id, event, data }: StreamEvent, json: boolean): string {
  if (json) return JSON.stringify({ id, event, data: JSON.parse(data) as unknown });
  const said = JSON.parse(data) as {
    alert?: AlertAnswer;
    wallet?: ReturnType<typeof walletAnswer>;
    from?: number;
    to?: number;
  };
  if (said.alert !== undefined) return printableLine(`${id}  ${event}  ${alertRow(said.alert).join('  ')}`);
  if (said.wallet !== undefined)
    return printableLine(`${id}  ${event}  ${walletRow(said.wallet).join('  ')}`);
  return `-  ${event}  ${said.from ?? '?'} to ${said.to ?? '?'} were already deleted`;
}

/**
 * Yields the changes of the store until the signal is aborted.
 *
 * @param from - number of the change to start after; null starts with the next change
 */
async function* changesOfStore(
  services: Services,
  account: string,
  from: number | null,
  signal: AbortSignal,
): AsyncGenerator<StreamEvent> {
  const { store } = services.monitoring().service;
  let after = from ?? store.changes(account, Number.MAX_SAFE_INTEGER - 1, 1).last;
  while (!signal.aborted) {
    const { changes, first, last } = store.changes(account, after, MONITORING_LIMITS.streamBacklogPage);
    if (last > after && first > after + 1) {
      yield { id: '', event: 'missed', data: JSON.stringify({ from: after + 1, to: first - 1 }) };
      after = first - 1;
      continue;
    }
    for (const change of changes) yield eventOf(change);
    const isWhole = changes.length < MONITORING_LIMITS.streamBacklogPage;
    after = isWhole ? Math.max(after, last) : (changes.at(-1)?.number ?? last);
    if (isWhole) await sleep(LOOK_MS, signal);
  }
}

/** Parses server-sent events as they arrive (https://html.spec.whatwg.org/#event-stream-interpretation). */
async function* readEvents(body: AsyncIterable<Buffer>): AsyncGenerator<StreamEvent> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > MONITORING_LIMITS.streamBufferBytesMax)
      throw new AssayError('SOURCE_UNAVAILABLE', 'The server sent an incomplete event.');
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const fields = new Map<string, string>();
      for (const line of text.slice(0, end).split('\n')) {
        const colon = line.indexOf(':');
        if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 1).replace(/^ /, ''));
      }
      text = text.slice(end + 2);
      const data = fields.get('data');
      if (data === undefined) continue;
      yield { id: fields.get('id') ?? '', event: (fields.get('event') ?? '') as StreamEvent['event'], data };
    }
  }
}

/** Yields the stream of a running server. If the connection ends, it resumes after the last event. */
async function* streamOf(
  url: string,
  key: string,
  from: number | null,
  terminal: Terminal,
): AsyncGenerator<StreamEvent> {
  if (!isUrl(url)) throw new AssayError('INVALID_REQUEST', `--url: '${url}' is not a URL.`);
  const target = new URL('/api/v1/monitoring/stream', url);
  // The user has named the server, so a private address is allowed.
  const policy = { trustedHosts: new Set([target.hostname]) };
  checkOutboundUrl(target, policy);
  const { deliveryTimeoutMs } = DELIVERY_LIMITS;
  const timeouts = { connectMs: deliveryTimeoutMs, headersMs: deliveryTimeoutMs, stallMs: STREAM_SILENCE_MS };
  const agent = createOutboundAgent({ policy, timeouts });
  let lastId = from === null ? '' : String(from);
  try {
    for (let isFirst = true; !terminal.signal.aborted; isFirst = false) {
      try {
        const response = await agent.request({
          origin: target.origin,
          path: target.pathname,
          method: 'GET',
          headers: {
            authorization: `Bearer ${key}`,
            accept: 'text/event-stream',
            ...(lastId === '' ? {} : { 'last-event-id': lastId }),
          },
          signal: terminal.signal,
        });
        if (response.statusCode !== 200) {
          const said = await sentenceOf(response);
          // A server that is starting or busy is retried; one that rejects the key is not.
          const isPassing = response.statusCode >= 500 || response.statusCode === 429;
          const sentence = `${target.origin} answered ${response.statusCode}: ${said}`;
          throw isPassing ? new AssayError('SOURCE_UNAVAILABLE', sentence) : refusedBy(sentence);
        }
        for await (const event of readEvents(response.body as AsyncIterable<Buffer>)) {
          if (event.id !== '') lastId = event.id;
          if ((event.event as string) === 'closed') break;
          yield event;
        }
      } catch (error) {
        if (terminal.signal.aborted) return;
        if (isFirst || (error instanceof AssayError && error.code === 'FORBIDDEN')) throw error;
      }
      await sleep(RECONNECT_MS, terminal.signal);
    }
  } finally {
    await agent.destroy();
  }
}

/** Returns the key of `--key`. `-` reads it from standard input, because the command line is visible in the list of processes. */
async function keyFrom(text: string | undefined): Promise<string> {
  if (text === undefined)
    throw new AssayError('INVALID_REQUEST', '--key: --url needs a key with the permission monitoring.');
  if (text !== '-') return text;
  let read = '';
  for await (const chunk of process.stdin) {
    read += String(chunk);
    if (read.includes('\n') || read.length > 1_000) break;
  }
  return read.split(/\r?\n/, 1)[0]?.trim() ?? '';
}

/** Adds `assay monitor`. */
export function addMonitorCommand(program: Command, terminal: Terminal, services: () => Services): void {
  const monitor = program
    .command('monitor')
    .description('manage watched wallets and their alerts; a running server watches them');
  const command = (name: string, description: string): Command =>
    monitor
      .command(name)
      .description(description)
      .option('--account <id>', 'account of the wallets', LOCAL_ACCOUNT)
      .option('--json', 'answer as JSON');

  command('add', 'screen an address and watch it from the newest block on; costs no credit')
    .argument('<chain>', 'a monitored chain, such as ETH')
    .argument('<address>', 'address in any valid form of the chain')
    .option('--label <text>', 'name of the wallet')
    .option('--notes <text>', 'notes about the wallet')
    .option('--webhook <url>', 'URL that receives alerts: https, on the public internet')
    .option('--threshold <level>', `least severity that is sent: ${ALERT_THRESHOLDS.join(', ')}`)
    .option('--frequency <frequency>', ALERT_FREQUENCIES.join(' or '))
    .option('--rules <list>', `some of ${RULE_IDS.join(',')} (default: all)`)
    .action(
      async (
        chain: string,
        walletAddress: string,
        options: Common & {
          label?: string;
          notes?: string;
          webhook?: string;
          threshold?: string;
          frequency?: string;
          rules?: string;
        },
      ) => {
        const { account, label, notes, webhook } = options;
        const bounded = (option: string, text: string | undefined, most: number): void => {
          if (text !== undefined && text.length > most)
            throw new AssayError('INVALID_REQUEST', `${option}: at most ${most} characters.`);
        };
        bounded('--label', label, MONITORING_LIMITS.walletLabelCharsMax);
        bounded('--notes', notes, MONITORING_LIMITS.walletNotesCharsMax);
        const rules = options.rules
          ?.split(',')
          .flatMap((text) => oneOf('--rules', text.trim(), RULE_IDS) ?? []);
        if (services().keys().planOf(account) === null)
          throw new AssayError('NOT_FOUND', `--account: there is no account '${account}'.`);
        const wallet = await services()
          .monitoring()
          .service.register(account, {
            chain,
            walletAddress,
            ...given('label', label),
            ...given('notes', notes),
            ...given('customWebhookUrl', webhook),
            ...given('alertThreshold', oneOf('--threshold', options.threshold, ALERT_THRESHOLDS)),
            ...given('alertFrequency', oneOf('--frequency', options.frequency, ALERT_FREQUENCIES)),
            ...given('enabledRules', rules),
          });
        const said = walletAnswer(wallet);
        answer(terminal, options.json ?? false, said, () => [
          `${said.walletAddress} on ${said.chain} is watched with the id ${said.id}; its risk is ${said.riskLevel ?? 'not known'}.`,
        ]);
      },
    );

  command('list', 'list watched wallets, oldest first')
    .option('--chain <chain>', 'only wallets of this chain')
    .option('--status <status>', 'ACTIVE, PAUSED or DELETED')
    .option('--search <text>', 'text in the label or the address')
    .option('--deleted', 'include deleted wallets')
    .action((options: Common & { chain?: string; status?: string; search?: string; deleted?: boolean }) => {
      const status = oneOf('--status', options.status, ['ACTIVE', 'PAUSED', 'DELETED'] as const);
      const { wallets } = services()
        .monitoring()
        .service.store.wallets(
          options.account,
          {
            includeDeleted: options.deleted === true || status === 'DELETED',
            ...given('status', status),
            ...given('chain', options.chain === undefined ? undefined : parseMonitoringChain(options.chain)),
            ...given('search', options.search),
          },
          { limit: Number.MAX_SAFE_INTEGER, offset: 0 },
        );
      const said = wallets.map(walletAnswer);
      answer(terminal, options.json ?? false, said, () => table([WALLET_HEAD, ...said.map(walletRow)]));
    });

  command('alerts', 'list alerts, newest first')
    .option('--wallet <id>', 'only alerts of this wallet')
    .option('--status <status>', ALERT_STATUSES.join(', '))
    .option('--severity <severity>', SEVERITIES.join(', '))
    .option('--limit <count>', 'maximum number', String(MONITORING_LIMITS.monitoringPageMax))
    .action((options: Common & { wallet?: string; status?: string; severity?: string; limit: string }) => {
      const { alerts, total } = services()
        .monitoring()
        .service.alerts(
          options.account,
          {
            ...given('walletId', options.wallet),
            ...given('status', oneOf('--status', options.status, ALERT_STATUSES)),
            ...given('severity', oneOf('--severity', options.severity, SEVERITIES)),
          },
          { limit: wholeNumber('--limit', options.limit, 1, 10_000), offset: 0 },
        );
      const said = alerts.map(alertAnswer);
      answer(terminal, options.json ?? false, { alerts: said, total }, () => [
        ...table([ALERT_HEAD, ...said.map(alertRow)]),
        ...(total > said.length ? [`${total - said.length} more`] : []),
      ]);
    });

  command('tail', 'print new alerts and changes of wallets, until Ctrl-C')
    .option('--from <id>', 'start after this change (default: with the next one)')
    .option('--count <n>', 'end after this number')
    .option('--url <url>', 'follow the stream of a server instead of the data folder')
    .option('--key <key>', 'API key for --url; - reads it from standard input')
    .action(async (options: Common & { from?: string; count?: string; url?: string; key?: string }) => {
      const most = Number.MAX_SAFE_INTEGER;
      const from = options.from === undefined ? null : wholeNumber('--from', options.from, 0, most);
      const count = options.count === undefined ? most : wholeNumber('--count', options.count, 1, most);
      const events =
        options.url === undefined
          ? changesOfStore(services(), options.account, from, terminal.signal)
          : streamOf(options.url, await keyFrom(options.key), from, terminal);
      let printed = 0;
      for await (const event of events) {
        terminal.out.write(`${lineOf(event, options.json ?? false)}\n`);
        if (++printed >= count) return;
      }
    });
}
