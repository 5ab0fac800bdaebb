import fc from 'fast-check';
import { pack, unpack } from 'msgpackr';
import { describe, expect, it } from 'vitest';
import { alertOf, type StoredAlert, storedAlert } from '../../src/monitoring/alert-record.ts';
import {
  ALERT_STATUSES,
  type Alert,
  MONITORING_CHAINS,
  RULE_IDS,
  SEVERITIES,
} from '../../src/monitoring/records.ts';

const text = fc.string({ unit: 'grapheme', maxLength: 40 });
const orNull = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: null });
const time = fc.integer({ min: 0, max: 4e12 });
const status = fc.constantFrom(...ALERT_STATUSES);

const entity = fc.record({ name: text, category: fc.constantFrom('MIXER', 'SCAM'), threatLevel: text });
const transaction = fc.record(
  {
    hash: text,
    blockNumber: fc.nat(),
    direction: fc.constantFrom('in', 'out'),
    counterparty: fc.record({ address: orNull(text), entity: orNull(entity) }),
    asset: text,
    amount: text,
    decimals: orNull(fc.nat(30)),
    amountUsd: orNull(fc.double({ min: 0, noNaN: true, noDefaultInfinity: true })),
    timestampMs: time,
  },
  {
    requiredKeys: [
      'hash',
      'blockNumber',
      'direction',
      'counterparty',
      'asset',
      'amount',
      'amountUsd',
      'timestampMs',
    ],
  },
);
const event = fc.record(
  {
    atMs: time,
    kind: fc.constantFrom('CREATED', 'STATUS', 'ASSIGNEE', 'NOTE', 'FINAL', 'REORGED'),
    status,
    by: orNull(text),
    note: text,
    assignee: orNull(text),
  },
  { requiredKeys: ['atMs', 'kind', 'status', 'by'] },
);
const fields = {
  id: text,
  accountId: text,
  walletId: text,
  sequence: fc.integer({ min: 1, max: 2 ** 32 - 1 }),
  ruleId: fc.constantFrom(...RULE_IDS),
  ruleName: text,
  severity: fc.constantFrom(...SEVERITIES),
  status,
  title: text,
  message: text,
  category: orNull(fc.constantFrom('MIXER', 'SCAM')),
  riskType: fc.constantFrom('COUNTERPARTY', 'INDIRECT', 'BEHAVIOUR', 'LIST_CHANGE'),
  final: fc.boolean(),
  reorged: fc.boolean(),
  transaction: orNull(transaction),
  wallet: fc.record({
    walletAddress: text,
    chain: fc.constantFrom(...MONITORING_CHAINS),
    label: orNull(text),
  }),
  createdAtMs: time,
  updatedAtMs: time,
  resolvedAtMs: orNull(time),
  history: fc.array(event, { maxLength: 5 }),
};
const alerts = fc
  .record(
    { ...fields, assignee: orNull(text) },
    { requiredKeys: Object.keys(fields) as (keyof typeof fields)[] },
  )
  // Its objects have no prototype, unlike those that are read.
  .map((alert) => structuredClone(alert) as unknown as Alert);

/** What the store returns for a value that was put. */
const kept = (value: StoredAlert): StoredAlert => unpack(pack(value)) as StoredAlert;

describe('stored alerts', () => {
  it('are read as they were, with the fields that are absent', () =>
    fc.assert(
      fc.property(alerts, (alert) => {
        const read = alertOf(alert.accountId, alert.sequence, kept(storedAlert(alert)));
        // Also distinguishes an absent field from an undefined one.
        expect(read).toStrictEqual(alert);
      }),
    ));

  it('of earlier versions, which are objects, are read as they are', () =>
    fc.assert(
      fc.property(alerts, (alert) => {
        expect(alertOf(alert.accountId, alert.sequence, kept(alert))).toStrictEqual(alert);
      }),
    ));

  it('of later versions are refused', () =>
    fc.assert(
      fc.property(alerts, fc.integer({ min: 2, max: 255 }), (alert, version) => {
        const [, ...fields] = kept(storedAlert(alert)) as readonly unknown[];
        const later = [version, ...fields] as unknown as StoredAlert;
        expect(() => alertOf(alert.accountId, alert.sequence, later)).toThrow(
          expect.objectContaining({ code: 'STORE_VERSION' }),
        );
      }),
    ));
});
