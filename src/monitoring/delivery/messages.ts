/**
 * Message texts of each channel. Names of entities come from lists and third parties: they are escaped and cut, and never treated
 * as markup.
 */
import { isoTime } from '../../base/clock.ts';
import type { AlertAnswer } from '../answers.ts';
import type { ChannelKind, DeliveryEvent } from '../records.ts';

/** Maximum length of a chat message: Slack cuts a section at 3,000 characters, Telegram rejects more than 4,096. */
const CHAT_CHARS_MAX = 2_800;
const SUBJECT_CHARS_MAX = 200;

export interface Digest {
  /** ISO date (UTC) of the day that the digest covers. */
  readonly day: string;
  readonly alerts: readonly AlertAnswer[];
  /** Number of alerts that are not listed. */
  readonly more: number;
}

export interface TestMessage {
  readonly walletId: string;
  readonly walletAddress: string;
  readonly chain: string;
}

/** A message of billing, which other parts of the program make. */
export interface Notice {
  /** Type of the webhook, for example `invoice.settled`. */
  readonly type: string;
  readonly subject: string;
  readonly lines: readonly string[];
  readonly data: unknown;
}

export type Message =
  | { readonly event: Extract<DeliveryEvent, 'alert.created' | 'alert.updated'>; readonly alert: AlertAnswer }
  | { readonly event: 'digest'; readonly digest: Digest }
  | { readonly event: 'test'; readonly test: TestMessage }
  | { readonly event: 'billing'; readonly notice: Notice };

const cut = (text: string, max: number): string => (text.length <= max ? text : `${text.slice(0, max - 1)}…`);
/** Makes one line without characters that a terminal, a mail header or a chat could interpret as a command. */
const plain = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ');

const who = (alert: AlertAnswer): string =>
  `${alert.wallet.label === null ? '' : `${alert.wallet.label}, `}${alert.wallet.walletAddress} (${alert.wallet.chain})`;

function alertLines(alert: AlertAnswer): string[] {
  const { transaction } = alert;
  const usd = transaction?.amountUsd;
  return [
    `${alert.severity} · ${alert.ruleId} ${alert.ruleName}`,
    alert.title,
    alert.message,
    `Wallet: ${who(alert)}`,
    ...(transaction === null
      ? []
      : [
          `Transaction: ${transaction.hash}, block ${transaction.blockNumber}, ${transaction.direction}, ` +
            `${transaction.amount} ${transaction.asset}${usd === null || usd === undefined ? '' : ` (USD ${usd.toFixed(2)})`}`,
        ]),
    `State: ${alert.status}, ${alert.reorged ? 'its block was reverted' : alert.final ? 'final' : 'not final yet'}`,
    `Alert ${alert.id}, ${alert.createdAt}`,
  ].map(plain);
}

function subjectOf(message: Message): string {
  switch (message.event) {
    case 'digest':
      return `Assay: ${message.digest.alerts.length + message.digest.more} alerts on ${message.digest.day}`;
    case 'billing':
      return `Assay: ${message.notice.subject}`;
    case 'test':
      return `Assay: test message for ${message.test.walletAddress}`;
    default: {
      const prefix = message.event === 'alert.updated' ? 'update: ' : '';
      return `Assay: ${prefix}${message.alert.severity} alert ${message.alert.ruleId}, ${message.alert.title}`;
    }
  }
}

function linesOf(message: Message): string[] {
  switch (message.event) {
    case 'digest': {
      const { day, alerts, more } = message.digest;
      const rows = alerts.map((alert) =>
        plain(`${alert.severity} · ${alert.ruleId} · ${who(alert)}: ${alert.title} [${alert.id}]`),
      );
      return [
        `Alerts of ${day} (UTC): ${alerts.length + more}`,
        ...rows,
        ...(more === 0 ? [] : [`and ${more} more.`]),
      ];
    }
    case 'billing':
      return message.notice.lines.map(plain);
    case 'test':
      return [
        `This is a test of the alerts for ${plain(message.test.walletAddress)} (${message.test.chain}). Nothing happened to the wallet.`,
      ];
    default:
      return [
        ...(message.event === 'alert.updated' ? ['An alert has changed:'] : []),
        ...alertLines(message.alert),
      ];
  }
}

/** Escapes Slack's three control characters (https://api.slack.com/reference/surfaces/formatting#escaping). */
const escapeSlack = (text: string): string =>
  text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');

function webhookType(message: Message): string {
  switch (message.event) {
    case 'digest':
      return 'alert.digest';
    case 'test':
      return 'alert.test';
    case 'billing':
      return message.notice.type;
    default:
      return message.event;
  }
}

function webhookData(message: Message): unknown {
  switch (message.event) {
    case 'digest':
      return { digest: message.digest };
    case 'test':
      return { test: message.test };
    case 'billing':
      return message.notice.data;
    default:
      return { alert: message.alert };
  }
}

/** Renders the body as it is stored and sent: the channel's JSON; for email, `{subject, text}`. */
export function renderMessage(channel: ChannelKind, message: Message, nowMs: number): string {
  const text = linesOf(message).join('\n');
  switch (channel) {
    case 'webhook':
      return JSON.stringify({
        type: webhookType(message),
        timestamp: isoTime(nowMs),
        data: webhookData(message),
      });
    case 'slack': {
      const shown = escapeSlack(cut(text, CHAT_CHARS_MAX));
      return JSON.stringify({
        text: escapeSlack(cut(plain(subjectOf(message)), SUBJECT_CHARS_MAX)),
        blocks: [{ type: 'section', text: { type: 'mrkdwn', text: shown, verbatim: true } }],
      });
    }
    case 'telegram':
      // Without parse_mode, Telegram treats the text as plain text.
      return JSON.stringify({
        text: cut(text, CHAT_CHARS_MAX),
        link_preview_options: { is_disabled: true },
      });
    case 'email':
      return JSON.stringify({ subject: cut(plain(subjectOf(message)), SUBJECT_CHARS_MAX), text });
  }
}
