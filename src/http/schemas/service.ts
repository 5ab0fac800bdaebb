/** Schemas of the operations of the service itself. */
import { Type } from 'typebox';
import { Ignored, Problem } from './envelopes.ts';
import { count, flag, listOf, nullable, oneOf, text } from './fields.ts';

const RELEASE = {
  release: text('Names the content: labels, names, registers and the state of the lists.'),
  dataVersion: text(),
  publishedAt: text('ISO 8601 UTC.'),
};

export const ReadyData = Type.Object(
  {
    ready: flag(),
    reasons: listOf(Type.String(), 'Reasons why the service is not ready; empty if it is.'),
    snapshot: nullable(
      Type.Object({
        dataVersion: text(),
        builtAt: text(),
        addresses: count(),
        labels: count('Real labels.'),
        syntheticLabels: count('Made for load tests; never part of `labels`.'),
      }),
    ),
    lists: listOf(
      Type.Object({
        list: text(),
        publishedAt: nullable(Type.String()),
        checkedAt: nullable(Type.String()),
        checkedBy: nullable(
          oneOf(['DOWNLOAD', 'IMPORT', 'ATTESTATION']),
          'DOWNLOAD: fetched from the publisher. IMPORT: a file imported by hand, which proves its own publication only. ATTESTATION: an operator stated the date.',
        ),
        stale: flag('Never loaded, or last checked longer ago than the maximum age.'),
        publicationOld: flag(
          'The newest loaded file is unusually old for its publisher, whenever it was checked: a mirror or a cache may serve an old file. It changes no verdict.',
        ),
      }),
    ),
    pulledFrom: Type.Optional(
      Type.Object(
        {
          from: text('Publishing node or object store.'),
          published: nullable(Type.Object(RELEASE)),
          served: nullable(Type.Object({ ...RELEASE, installedAt: text('ISO 8601 UTC.') })),
          behindSince: nullable(Type.String()),
          lookedAt: nullable(Type.String()),
          error: nullable(Type.String()),
          errorSince: nullable(Type.String()),
        },
        {
          description:
            'Of a node that pulls its labels: the newest release that was seen at the publisher, the one that is served, since when they differ (null: they do not), when the publisher last answered, and what goes wrong since when.',
        },
      ),
    ),
    degraded: Type.Optional(
      listOf(
        Type.Object({
          kind: oneOf(
            [
              'STORAGE',
              'SECOND_FACTOR',
              'EMAIL_LINKS',
              'TRANSPARENCY_LOG',
              'GAS_ACCOUNT',
              'REDIS_WENT_BACK',
              'RESTORED_BACKUP',
            ],
            'STORAGE: a store refuses writes, for example because the disk is full; reads work, and writes respond with 500 and the code STORAGE_FULL. SECOND_FACTOR: this node accepts no codes of authenticator apps. EMAIL_LINKS: people cannot open the links in emails. TRANSPARENCY_LOG: the log of receipts appends and signs nothing. GAS_ACCOUNT: the account that pays gas for payments by a signature is empty, low, or holds more than its maximum. REDIS_WENT_BACK: the Redis of the nodes went back to an earlier state, and this node has kept later states of shared stores. RESTORED_BACKUP: the data folder was restored from a backup: what was stored later is lost, and the operator has not confirmed the steps after a restore.',
          ),
          path: nullable(Type.String(), 'Store or folder that cannot be written; null for the other kinds.'),
          reason: text(),
          since: text('ISO 8601 UTC.'),
        }),
        'What the service does not do although it is ready. Omitted if there is nothing.',
      ),
    ),
    monitoring: Type.Optional(
      listOf(
        Type.Object({
          chain: text(),
          state: text(
            'FOLLOWING; WAITING after a fault; STANDBY: another node follows it; UNREACHABLE: no node is configured.',
          ),
          following: flag('False if transfers on the chain are not seen at the moment, by any node.'),
          reason: nullable(Type.String(), 'Why `following` is false; null if it is true.'),
          height: nullable(Type.Integer()),
          blockTime: nullable(Type.String()),
        }),
        'Chains on which wallets are watched. Omitted if there are none. They do not affect readiness.',
      ),
    ),
    leases: Type.Optional(
      listOf(
        Type.Object({
          lease: text(
            'The work that one node does at a time: `delivery`, `scheduler`, `recheck`, `listener:<CHAIN>`, `refresh:<CHAIN>`.',
          ),
          holder: nullable(
            Type.String({ description: 'Name of the node, as in its log; null if no node holds it.' }),
          ),
          here: flag('Whether the node of this response holds it.'),
          since: nullable(Type.String()),
        }),
        'Holders of the work that one node at a time does. Omitted on a standalone node. Up to two seconds old.',
      ),
    ),
  },
  { title: 'ReadyData' },
);

export const Ready = Type.Object(
  { success: Type.Literal(true), data: ReadyData, ignored: Type.Optional(Ignored) },
  { title: 'Ready' },
);

export const NotReady = Type.Object(
  { error: text(), data: ReadyData, ignored: Type.Optional(Ignored) },
  { title: 'NotReady' },
);

export const NotReadyProblem = Type.Object(
  { ...Problem.properties, data: ReadyData, ignored: Type.Optional(Ignored) },
  { title: 'NotReadyProblem', description: 'Problem details with the state of the service.' },
);
