/**
 * Receivers of an account's alerts in addition to the webhook of each wallet, and the signing secrets of its webhooks. Credentials
 * (Slack URLs, bot tokens, signing secrets) are encrypted at rest and shown masked.
 */
import type { Clock } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import type { Random } from '../base/random.ts';
import type { Encryption } from '../state/encryption.ts';
import { KeyTrial, newTrial } from '../state/key-trial.ts';
import type { LiveDatabase, LiveRoot } from '../state/live-store.ts';
import { MONITORING_LIMITS } from './limits.ts';
import type { AccountChannels } from './records.ts';

const NO_CHANNELS: AccountChannels = { email: null, slackWebhookUrl: null, telegram: null };

/** Standard Webhooks: 24 to 64 random bytes, in base64 after `whsec_`. */
const SECRET_BYTES = 32;
const SECRET_PREFIX = 'whsec_';
/** Key of the only row of its database. */
const TRIAL = 'installation';

interface SecretRow {
  /** Encrypted. */
  readonly current: string;
  readonly previous: string | null;
  /** Until this time, the previous secret signs in addition to the current one. */
  readonly previousUntilMs: number;
}

export interface ChannelStore {
  /** Returns the channels in the clear: for sending, never for a response. */
  channels(accountId: string): AccountChannels;
  /**
   * Stores the channels; durable when it resolves.
   *
   * @throws NOT_READY if this node has another key than the nodes that send
   */
  setChannels(accountId: string, channels: AccountChannels): Promise<void>;
  /** Returns the secrets that sign now, the current one first; empty if the account never requested one. */
  signingSecrets(accountId: string): readonly string[];
  /**
   * Creates a secret and returns it; it cannot be read later. The previous secret stays valid beside it for 24 hours.
   *
   * @throws NOT_READY if this node has another key than the nodes that send
   */
  rotateSecret(
    accountId: string,
  ): Promise<{ readonly secret: string; readonly previousUntilMs: number | null }>;
  /** Whether the key of this installation decrypts the stored secrets. All nodes that share the store need the same key. */
  opensHere(): Promise<boolean>;
}

/** Opens the channels in the live state of monitoring. */
export function openChannels(
  root: LiveRoot,
  deps: { readonly encryption: Encryption; readonly clock: Clock; readonly random: Random },
): ChannelStore {
  const { encryption, clock, random } = deps;
  const channels: LiveDatabase<string, string> = root.openDB({ name: 'channels', encoding: 'string' });
  const secrets: LiveDatabase<SecretRow, string> = root.openDB({ name: 'webhookSecrets', encoding: 'json' });
  /** A value encrypted by the first node, to test whether the key of this node decrypts it. */
  const trials: LiveDatabase<string, string> = root.openDB({ name: 'sealTrial', encoding: 'string' });
  const channelContext = (accountId: string): string => `channels:${accountId}`;
  const secretContext = (accountId: string): string => `webhook:${accountId}`;
  /** Decrypted signing secrets by their encrypted text: each webhook needs one. Rotation changes the text. */
  const opened = new Map<string, { readonly accountId: string; readonly secret: string }>();

  const trial = new KeyTrial(() => encryption);
  /**
   * Rejects a write if no sending node could decrypt its secrets.
   *
   * @throws NOT_READY
   */
  function requireOpens(): void {
    const sealed = trials.get(TRIAL);
    if (sealed !== undefined && !trial.opens(sealed))
      throw new AssayError(
        'NOT_READY',
        'The installation.key of this node differs from the key of the other nodes, so it cannot store secrets. Send the request to another node.',
      );
  }

  return {
    channels(accountId) {
      const sealed = channels.get(accountId);
      if (sealed === undefined) return NO_CHANNELS;
      return JSON.parse(encryption.decrypt(sealed, channelContext(accountId))) as AccountChannels;
    },
    async setChannels(accountId, value) {
      requireOpens();
      await channels.put(accountId, encryption.encrypt(JSON.stringify(value), channelContext(accountId)));
    },
    signingSecrets(accountId) {
      const row = secrets.get(accountId);
      if (row === undefined) return [];
      const open = (sealed: string): string => {
        const known = opened.get(sealed);
        if (known?.accountId === accountId) return known.secret;
        const secret = encryption.decrypt(sealed, secretContext(accountId));
        if (opened.size >= MONITORING_LIMITS.openedSecretsKept)
          opened.delete(opened.keys().next().value as string);
        opened.set(sealed, { accountId, secret });
        return secret;
      };
      const previous = row.previous !== null && row.previousUntilMs > clock.now() ? [open(row.previous)] : [];
      return [open(row.current), ...previous];
    },
    async rotateSecret(accountId) {
      requireOpens();
      const secret = SECRET_PREFIX + Buffer.from(random.bytes(SECRET_BYTES)).toString('base64');
      const previousUntilMs = clock.now() + MONITORING_LIMITS.webhookSecretOverlapMs;
      const hadOne = await root.transaction(() => {
        const previous = secrets.get(accountId)?.current ?? null;
        secrets.putSync(accountId, {
          current: encryption.encrypt(secret, secretContext(accountId)),
          previous,
          previousUntilMs,
        });
        return previous !== null;
      });
      return { secret, previousUntilMs: hadOne ? previousUntilMs : null };
    },
    async opensHere() {
      const sealed =
        trials.get(TRIAL) ??
        (await root.transaction(() => {
          const known = trials.get(TRIAL);
          if (known !== undefined) return known;
          const first = newTrial(encryption);
          trials.putSync(TRIAL, first);
          return first;
        }));
      return trial.opens(sealed);
    },
  };
}

const LAST_SHOWN = 4;
/** A quarter of a secret may be shown. A shorter one is hidden as a whole. */
const SHOWN_FROM_CHARS = 4 * LAST_SHOWN;
const masked = (secret: string): string =>
  secret.length < SHOWN_FROM_CHARS ? '…' : `…${secret.slice(-LAST_SHOWN)}`;

/** Returns the URL of a Slack webhook as it may be shown: its path is the secret. */
export function maskedUrl(text: string): string {
  const { origin, pathname, search } = new URL(text);
  return `${origin}/${masked(`${pathname}${search}`.slice(1))}`;
}

/** Returns the channels with masked secrets, for a response. */
export const channelsAnswer = ({ email, slackWebhookUrl, telegram }: AccountChannels) => ({
  email,
  slackWebhookUrl: slackWebhookUrl === null ? null : maskedUrl(slackWebhookUrl),
  telegram: telegram === null ? null : { botToken: masked(telegram.botToken), chatId: telegram.chatId },
});
