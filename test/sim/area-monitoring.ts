/** Wallets and alerts: an acknowledged wallet is watched, and each flagged transfer of the chain alerts once. */
import { silentLogger } from '../../src/base/log.ts';
import type { Block } from '../../src/chains/block.ts';
import type { BlockRef, ChainEvent } from '../../src/chains/families/port.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import type { AlertAnswer } from '../../src/monitoring/answers.ts';
import { DELIVERY_LIMITS } from '../../src/monitoring/delivery/limits.ts';
import type { Outcome, Send } from '../../src/monitoring/delivery/senders.ts';
import { takeEvent } from '../../src/monitoring/listener.ts';
import type { OutgoingDelivery } from '../../src/monitoring/records.ts';
import { buildWatchTable } from '../../src/monitoring/watch-table.ts';
import { ACCOUNTS } from './area-accounts.ts';
import { type Area, must, type Schedule, type Standing } from './schedule.ts';

const WALLETS_MAX = 50;

export const addressOf = (n: number): string => `0x${n.toString(16).padStart(40, '0')}`;
export const MIXER = addressOf(0xabc1);
const POOL = Array.from({ length: 3 }, (_, n) => addressOf(0x100 + n));
const STRANGERS = Array.from({ length: 3 }, (_, n) => addressOf(0x900 + n));

interface ModelWallet {
  readonly account: string;
  readonly address: string;
  standing: Standing;
  id: string | null;
  /** Number of the first block that was made after the wallet was acknowledged. */
  fromBlock: number;
  /** Reading begins after the newest block of that moment: a block that replaces that one is not read. */
  fromHeight: number;
  notes: string | null;
  /** The notes of changes that got no response. */
  readonly maybeNotes: Set<string | null>;
}

/** A note that was added to an alert. */
interface ModelNote {
  readonly account: string;
  readonly alertId: string;
  readonly text: string;
  standing: Standing;
}

type ModelBlock = Block & { readonly number: number };

export function monitoringArea(schedule: Schedule): Area & {
  readonly send: Send;
  readonly alerts: number;
  /** Acknowledged notes of alerts. */
  readonly notes: number;
} {
  const { below, chance, pick } = schedule;
  const wallets: ModelWallet[] = [];
  const chain: ModelBlock[] = [];
  const notes: ModelNote[] = [];
  /** Assignees of alerts: the last acknowledged one, and those of changes that got no response. */
  const assignees = new Map<string, { last: string | null; readonly maybe: (string | null)[] }>();
  const received = new Map<string, number>();
  /** Alerts that listeners received, by id. */
  const told = new Map<string, string>();
  let made = 0;
  let hashes = 0;
  let reorgs = 0;
  let isGood = false;
  let following = false;
  /** Alerts that receivers got, by cause, with the id of the first message. */
  const firstMessages = new Map<string, string>();
  /** Messages sent to receivers, with their accounts and times. */
  const sent = new Map<string, { readonly accountId: string; readonly createdAtMs: number }>();

  const makeTransfer = (height: number, again?: Transfer): Transfer => ({
    chain: 'ETH',
    txHash: again?.txHash ?? `0x${(++hashes).toString(16).padStart(64, '0')}`,
    position: 'value',
    blockNumber: height,
    timestampMs: 0,
    from: again?.from ?? (chance(50) ? MIXER : pick([...POOL, ...STRANGERS])),
    to: again?.to ?? pick(POOL),
    asset: 'ETH',
    amount: again?.amount ?? BigInt(1 + below(1_000)),
    decimals: 18,
    valueUsd: again?.valueUsd ?? 1_000 + below(5_000),
  });

  function extend(reuse: Transfer[] = []): void {
    const height = chain.length;
    const transfers = Array.from({ length: below(3) }, () => makeTransfer(height));
    while (reuse.length > 0 && chance(70)) transfers.push(makeTransfer(height, reuse.shift()));
    const number = made++;
    chain.push({
      number,
      chain: 'ETH',
      height,
      hash: `h${height}.${number}`,
      parentHash: chain.at(-1)?.hash ?? null,
      timestampMs: schedule.now(),
      transfers,
    });
  }
  extend();

  function reorg(): void {
    reorgs++;
    const dropped = chain.splice(Math.max(1, chain.length - 1 - below(2)));
    const reuse = dropped.flatMap(({ transfers }) => [...transfers]).filter(() => chance(60));
    for (let i = 0; i <= dropped.length; i++) extend(reuse);
  }

  /** The events of a node for a process that has read as far as `known`. */
  function* events(known: readonly BlockRef[], first: number | null): Generator<ChainEvent> {
    const last = known.at(-1);
    let from = last === undefined ? (first ?? chain.length - 1) : last.height + 1;
    if (last !== undefined && chain[last.height]?.hash !== last.hash) {
      const ancestor = known.findLast(({ height, hash }) => chain[height]?.hash === hash) ?? null;
      const dropped = known.filter(({ height }) => height > (ancestor?.height ?? -1)).reverse();
      yield { type: 'reorg', ancestor, dropped };
      from = (ancestor?.height ?? -1) + 1;
    }
    for (let height = from; height < chain.length; height++)
      yield { type: 'block', block: chain[height] as Block, completeness: 'COMPLETE' };
  }

  async function* asTheyAre(transfers: Iterable<Transfer>): AsyncIterable<Transfer> {
    yield* transfers;
  }

  function follow(budget: number): void {
    if (following) return;
    following = true;
    const reorgsBefore = reorgs;
    const { monitoring: store, processor } = schedule.process;
    schedule.ask(
      'follow the chain',
      async () => {
        let left = budget;
        for (const event of events(store.blocks('ETH'), store.firstHeight('ETH'))) {
          // After a reorg, a node reports it before it sends further blocks.
          if (left-- === 0 || reorgs !== reorgsBefore) return;
          const table = buildWatchTable(store.watched());
          await takeEvent('ETH', event, table, {
            processor,
            ingest: null,
            price: asTheyAre,
            log: silentLogger,
          });
        }
      },
      () => {
        following = false;
        // A person looks at what it found.
        if (chance(60)) noteAlert();
      },
    );
  }

  /** Receivers recognise a repeated message only by its id. */
  function noteSent({ id, accountId, walletId, event, createdAtMs, body }: OutgoingDelivery): void {
    sent.set(id, { accountId, createdAtMs });
    if (event !== 'alert.created') return;
    const { alert } = (JSON.parse(body) as { data: { alert: AlertAnswer } }).data;
    const cause = `${walletId} ${alert.ruleId} ${alert.transaction?.hash}`;
    const first = firstMessages.get(cause) ?? id;
    firstMessages.set(cause, first);
    must(first === id, `receivers were told of ${cause} under the ids ${first} and ${id}`);
  }

  const send: Send = async (delivery): Promise<Outcome> => {
    const { life } = schedule;
    if (life.isDead) return new Promise(() => {});
    const { id } = delivery;
    schedule.require(() => noteSent(delivery));
    const luck = isGood ? 0 : below(100);
    if (luck < 80) received.set(id, (received.get(id) ?? 0) + 1);
    if (luck < 60) return { kind: 'DELIVERED', responseStatus: 204 };
    return { kind: 'RETRY', responseStatus: null, error: 'cut', retryAfterMs: null };
  };

  function addWallet(): void {
    const account = pick(ACCOUNTS);
    const address = pick(POOL);
    const known = wallets.find((one) => one.account === account && one.address === address);
    const one: ModelWallet = known ?? {
      account,
      address,
      standing: 'unknown',
      id: null,
      fromBlock: Number.POSITIVE_INFINITY,
      fromHeight: 0,
      notes: null,
      maybeNotes: new Set(),
    };
    if (known === undefined) wallets.push(one);
    const wasDone = one.standing === 'done';
    const head = chain.length - 1;
    schedule.ask(
      `watch ${account} ${address.slice(-3)}`,
      () =>
        schedule.process.monitoring.addWallet(
          {
            accountId: account,
            chain: 'ETH',
            walletAddress: address,
            label: null,
            riskScore: null,
            riskLevel: null,
            enabledRules: ['MIXING-001'],
            customWebhookUrl: 'https://hooks.example.org/x',
            alertThreshold: 'all',
            alertFrequency: 'realtime',
            notes: null,
            watchFromHeight: null,
          },
          WALLETS_MAX,
          head,
        ),
      ({ value }) => {
        if (value === null) return;
        must(!wasDone, `the wallet ${account} ${address} was added twice`);
        one.standing = 'done';
        one.id = value.id;
        one.fromBlock = made;
        one.fromHeight = chain.length;
      },
      // The address is watched already.
      ['INVALID_REQUEST'],
    );
  }

  function changeNotes(): void {
    const known = wallets.filter(({ id }) => id !== null);
    if (known.length === 0) return;
    const one = pick(known);
    const notes = `note ${made++}`;
    one.maybeNotes.add(notes);
    schedule.ask(
      `change ${one.account} ${one.address.slice(-3)}`,
      () =>
        schedule.process.monitoring.changeWallet(one.account, one.id as string, (wallet) => ({
          ...wallet,
          notes,
        })),
      ({ value, error }) => {
        if (error !== null) {
          one.maybeNotes.delete(notes);
          return;
        }
        one.notes = value.notes;
        one.maybeNotes.delete(notes);
      },
    );
  }

  /** Adds a note to an alert, and assigns it. */
  function noteAlert(): void {
    if (told.size === 0) return;
    const [alertId, account] = pick([...told]);
    const one: ModelNote = { account, alertId, text: `alert note ${made++}`, standing: 'unknown' };
    notes.push(one);
    const assignee = `person ${below(3)}`;
    const known = assignees.get(alertId) ?? { last: null, maybe: [] };
    assignees.set(alertId, known);
    known.maybe.push(assignee);
    schedule.ask(
      one.text,
      () => schedule.process.monitoring.changeAlert(account, alertId, { note: one.text, assignee }, 'key'),
      ({ value, error }) => {
        one.standing = error === null ? 'done' : 'refused';
        known.maybe.splice(known.maybe.indexOf(assignee), 1);
        if (value === null) return;
        known.last = value.assignee ?? null;
        const alert = schedule.process.monitoring.alert(account, alertId);
        must(
          alert?.history.some(({ note }) => note === one.text) === true,
          `${one.text} was acknowledged and cannot be read`,
        );
      },
    );
  }

  function checkNotes(): void {
    for (const [alertId, known] of assignees) {
      const account = told.get(alertId) ?? '';
      const alert = schedule.process.monitoring.alert(account, alertId);
      must(alert !== null, `the alert ${alertId} with notes is lost`);
      for (const { text, standing } of notes.filter((one) => one.alertId === alertId)) {
        const times = alert.history.filter(({ note }) => note === text).length;
        if (standing === 'done') must(times === 1, `${text} was acknowledged and is there ${times} times`);
        else
          must(times <= (standing === 'unknown' ? 1 : 0), `${text} is ${standing} and there ${times} times`);
      }
      const { assignee = null } = alert;
      must(
        assignee === known.last || known.maybe.includes(assignee),
        `the alert ${alertId} is assigned to ${assignee}, not to ${known.last}`,
      );
      known.last = assignee;
      known.maybe.splice(0);
      const assigned = alert.history.filter(({ assignee: to }) => to !== undefined).at(-1)?.assignee ?? null;
      must(assigned === assignee, `the history of ${alertId} ends with ${assigned}, not with ${assignee}`);
    }
  }

  function checkWallets(): void {
    const { monitoring } = schedule.process;
    for (const account of ACCOUNTS) {
      const { wallets: found } = monitoring.wallets(
        account,
        { includeDeleted: true },
        { limit: 1_000, offset: 0 },
      );
      const addresses = found.map(({ walletAddress }) => walletAddress);
      must(new Set(addresses).size === addresses.length, 'a wallet is there twice');
      for (const { walletAddress } of found)
        must(
          wallets.some((one) => one.account === account && one.address === walletAddress),
          `a wallet ${walletAddress} nobody added`,
        );
      for (const one of wallets.filter((each) => each.account === account)) {
        const wallet = found.find(({ walletAddress }) => walletAddress === one.address);
        if (one.standing === 'done') {
          must(wallet?.id === one.id, `the wallet ${account} ${one.address} is lost`);
          must(
            wallet.notes === one.notes || one.maybeNotes.has(wallet.notes),
            `the wallet ${one.address} has the notes ${wallet.notes}, not ${one.notes}`,
          );
          one.notes = wallet.notes;
          one.maybeNotes.clear();
        } else if (wallet !== undefined) {
          // Its request got no response; from here on the wallet is known.
          one.standing = 'done';
          one.id = wallet.id;
          one.fromBlock = made;
          one.fromHeight = chain.length;
        }
      }
    }
  }

  /** A sent message must have been stored before: if not, a start would send it again under another id. */
  function checkSent(): void {
    for (const [id, { accountId, createdAtMs }] of sent) {
      if (peak - createdAtMs >= DELIVERY_LIMITS.deliveriesKeptMs) continue;
      const delivery = schedule.process.monitoring.outbox.delivery(accountId, id);
      must(delivery !== null, `the message ${id} was sent, and nothing is known of it`);
    }
  }

  const alertsOf = (account: string) =>
    schedule.process.monitoring.alerts(account, {}, { limit: 10_000, offset: 0 }).alerts;

  function checkAlerts(): void {
    for (const account of ACCOUNTS) {
      const alerts = alertsOf(account);
      const causes = new Set<string>();
      for (const { walletId, ruleId, transaction } of alerts) {
        const cause = `${walletId} ${ruleId} ${transaction?.hash}`;
        must(!causes.has(cause), `two alerts of one cause: ${cause}`);
        causes.add(cause);
      }
      const ids = new Set(alerts.map(({ id }) => id));
      for (const [id, of] of told)
        if (of === account) must(ids.has(id), `the alert ${id}, of which listeners were told, is lost`);
      const sequences = alerts.map(({ sequence }) => sequence).sort((a, b) => a - b);
      must(
        sequences.every((sequence, at) => sequence === at + 1),
        'the numbers of alerts have a gap',
      );
    }
  }

  /** At the end, every flagged transfer since a wallet was acknowledged has its alert, and each alert was stored for delivery once. */
  function checkComplete(): void {
    for (const { account, address, id, fromBlock, fromHeight, standing } of wallets) {
      if (standing !== 'done') continue;
      const alerts = alertsOf(account).filter(({ walletId }) => walletId === id);
      for (const { number, height, transfers } of chain)
        for (const { txHash, from, to } of transfers) {
          if (number < fromBlock || height < fromHeight || from !== MIXER || to !== address) continue;
          const own = alerts.filter(({ transaction, reorged }) => transaction?.hash === txHash && !reorged);
          must(own.length === 1, `${own.length} alerts for ${txHash} to ${address} of ${account}`);
        }
    }
    for (const account of ACCOUNTS) {
      const { deliveries } = schedule.process.monitoring.outbox.list(account, {}, { limit: 10_000 });
      for (const { id, sequence, createdAtMs } of alertsOf(account)) {
        const created = deliveries.filter(
          ({ alertId, event }) => alertId === id && event === 'alert.created',
        );
        // The log of deliveries is kept for a month.
        const mayBeGone = peak - createdAtMs >= DELIVERY_LIMITS.deliveriesKeptMs;
        must(
          created.length === 1 || (created.length === 0 && mayBeGone),
          `alert ${sequence} was stored for delivery ${created.length} times`,
        );
      }
      for (const { id, status } of deliveries)
        if (status === 'DELIVERED')
          must((received.get(id) ?? 0) > 0, `delivery ${id} says it arrived, and did not`);
    }
  }

  let rounds = 0;
  /** The latest time of the clock. */
  let peak = schedule.now();
  return {
    send,
    get alerts() {
      return told.size;
    },
    get notes() {
      return notes.filter(({ standing }) => standing === 'done').length;
    },
    acts: [
      [3, addWallet],
      [2, changeNotes],
      [6, () => extend()],
      [2, reorg],
      [7, () => follow(1 + below(4))],
      [3, noteAlert],
    ],
    onStart() {
      following = false;
      const { life } = schedule;
      schedule.process.monitoring.onChange((change) => {
        if (!life.isDead && change.kind === 'alert.created') told.set(change.alert.id, change.accountId);
      });
    },
    onClock() {
      peak = Math.max(peak, schedule.now());
    },
    check() {
      checkWallets();
      checkAlerts();
      checkNotes();
      checkSent();
    },
    settle() {
      if (!isGood) {
        isGood = true;
        for (let i = 0; i < 4; i++) extend();
      }
      peak = Math.max(peak, schedule.now());
      const { monitoring } = schedule.process;
      const last = monitoring.blocks('ETH').at(-1);
      const isRead = monitoring.isWatched('ETH') ? last?.hash === chain.at(-1)?.hash : true;
      if (isRead && monitoring.outbox.waitingCount() === 0) {
        checkComplete();
        return true;
      }
      must(rounds++ < 40, 'the chain is not read, or messages wait for ever');
      follow(Number.MAX_SAFE_INTEGER);
      return false;
    },
  };
}
