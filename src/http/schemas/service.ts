/** Schemas of the operations about the service itself. */
import { Type } from 'typebox';
import { count, flag, listOf, nullable, text } from './common.ts';

export const Health = Type.Object({
  success: Type.Literal(true),
  status: Type.Literal('ok'),
  ts: text('ISO 8601 UTC.'),
});

export const ReadyData = Type.Object({
  ready: flag(),
  reasons: listOf(Type.String(), 'Why not; empty where ready.'),
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
      stale: flag(),
    }),
  ),
  monitoring: Type.Optional(
    listOf(
      Type.Object({
        chain: text(),
        state: text(
          'FOLLOWING; WAITING after a fault; STANDBY: another node follows it; UNREACHABLE: no node is configured.',
        ),
        height: nullable(Type.Integer()),
        blockTime: nullable(Type.String()),
      }),
      'Chains on which a wallet is watched; left out where nothing is. Does not make the server unready.',
    ),
  ),
});

export const Ready = Type.Object({ success: Type.Literal(true), data: ReadyData });

export const NotReady = Type.Object({ error: text(), data: ReadyData });
