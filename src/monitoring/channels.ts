/**
 * Where an account's alerts go beside the webhook of each wallet, and what its webhooks are signed with. Whatever opens a door
 * elsewhere (Slack URLs, bot tokens, signing secrets) is sealed at rest and shown masked.
 */
import type { Clock } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import type { LiveDatabase, LiveRoot } from '../base/live-store.ts';
import type { Random } from '../base/random.ts';
import type { Seal } from '../base/seal.ts';
import type { AccountChannels } from './records.ts';

const NO_CHANNELS: AccountChannels = { email: null, slackWebhookUrl: null, telegram: null };

/** Standard Webhooks: 24 to 64 random bytes, in base64 behind `whsec_`. */
const SECRET_BYTES = 32;
const SECRET_PREFIX = 'whsec_';
const TRIAL = 'installation';

interface SecretRow {
  /** Sealed. */
  readonly current: string;
  readonly previous: string | null;
  /** The previous secret signs beside the current one until then. */
  readonly previousUntilMs: number;
}

export interface ChannelStore {
  /** In the clear: for sending, never for an answer. */
  channels(accountId: string): AccountChannels;
  /** Durable when it resolves. */
  setChannels(accountId: string, channels: AccountChannels): Promise<void>;
  /** What signs now: the current secret first. Empty where the account never asked for one. */
  signingSecrets(accountId: string): readonly string[];
  /** Makes a secret and returns it, for the only time. The one before signs beside it for 24 hours. */
  rotateSecret(
    accountId: string,
  ): Promise<{ readonly secret: string; readonly previousUntilMs: number | null }>;
  /** Whether what is sealed here opens with the key of this installation: nodes that share the store need the same. */
  opensHere(): Promise<boolean>;
}

/** Opens the channels inside the live state of monitoring. */
export function openChannels(
  root: LiveRoot,
  deps: { readonly seal: Seal; readonly clock: Clock; readonly random: Random },
): ChannelStore {
  const { seal, clock, random } = deps;
  const channels: LiveDatabase<string, string> = root.openDB({ name: 'channels', encoding: 'string' });
  const secrets: LiveDatabase<SecretRow, string> = root.openDB({ name: 'webhookSecrets', encoding: 'json' });
  /** Something sealed by whoever was first, to try a key on. */
  const trials: LiveDatabase<string, string> = root.openDB({ name: 'sealTrial', encoding: 'string' });
  const channelContext = (accountId: string): string => `channels:${accountId}`;
  const secretContext = (accountId: string): string => `webhook:${accountId}`;

  /** The last trial, and whether it opened: asked several times a second by a node that sends. */
  let tried: { readonly sealed: string; readonly opened: boolean } | null = null;
  function opens(sealed: string): boolean {
    if (tried?.sealed === sealed) return tried.opened;
    let opened = false;
    try {
      opened = seal.open(sealed, TRIAL) === TRIAL;
    } catch (error) {
      if (!(error instanceof AssayError) || error.code !== 'STORE_CORRUPT') throw error;
    }
    tried = { sealed, opened };
    return opened;
  }
  /** Throws NOT_READY if what is sealed here could be opened by no node that sends. */
  function requireOpens(): void {
    const sealed = trials.get(TRIAL);
    if (sealed !== undefined && !opens(sealed))
      throw new AssayError(
        'NOT_READY',
        'This node has another installation.key than the others, and stores no secret that they could not open. Ask another node.',
      );
  }

  return {
    channels(accountId) {
      const sealed = channels.get(accountId);
      if (sealed === undefined) return NO_CHANNELS;
      return JSON.parse(seal.open(sealed, channelContext(accountId))) as AccountChannels;
    },
    async setChannels(accountId, value) {
      requireOpens();
      await channels.put(accountId, seal.seal(JSON.stringify(value), channelContext(accountId)));
    },
    signingSecrets(accountId) {
      const row = secrets.get(accountId);
      if (row === undefined) return [];
      const open = (sealed: string): string => seal.open(sealed, secretContext(accountId));
      const previous = row.previous !== null && row.previousUntilMs > clock.now() ? [open(row.previous)] : [];
      return [open(row.current), ...previous];
    },
    async rotateSecret(accountId) {
      requireOpens();
      const secret = SECRET_PREFIX + Buffer.from(random.bytes(SECRET_BYTES)).toString('base64');
      const previousUntilMs = clock.now() + LIMITS.webhookSecretOverlapMs;
      const hadOne = await root.transaction(() => {
        const previous = secrets.get(accountId)?.current ?? null;
        secrets.putSync(accountId, {
          current: seal.seal(secret, secretContext(accountId)),
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
          const first = seal.seal(TRIAL, TRIAL);
          trials.putSync(TRIAL, first);
          return first;
        }));
      return opens(sealed);
    },
  };
}

const LAST_SHOWN = 4;
const masked = (secret: string): string => `…${secret.slice(-LAST_SHOWN)}`;

/** Channels as an answer shows them. */
export const channelsAnswer = ({ email, slackWebhookUrl, telegram }: AccountChannels) => ({
  email,
  slackWebhookUrl:
    slackWebhookUrl === null ? null : `${new URL(slackWebhookUrl).origin}/${masked(slackWebhookUrl)}`,
  telegram: telegram === null ? null : { botToken: masked(telegram.botToken), chatId: telegram.chatId },
});
