/** Schemas of POST /trace. */
import { Type } from 'typebox';
import { DIRECTION_CHOICES, DIRECTION_DEFAULT, PATH_DEPTH, TRACE_HOPS } from '../../screening/choices.ts';
import {
  Coverage,
  DataVersion,
  EntitySummary,
  ExposureCategorySchema,
  RiskLevelSchema,
  ThreatLevelSchema,
} from './facts.ts';
import {
  AddressText,
  amountFields,
  ChainIdSchema,
  ChainText,
  count,
  flag,
  listOf,
  nullable,
  oneOf,
  text,
} from './fields.ts';
import { money } from './screening.ts';

export const TraceBody = Type.Object(
  {
    address: AddressText,
    chain: ChainText,
    direction: Type.Optional(
      oneOf(DIRECTION_CHOICES, 'Origins of the funds (in), their destinations (out), or both.', {
        default: DIRECTION_DEFAULT,
      }),
    ),
    hops: Type.Optional(
      Type.Integer({ minimum: TRACE_HOPS.min, maximum: TRACE_HOPS.max, default: TRACE_HOPS.standard }),
    ),
    targetAddress: Type.Optional(AddressText),
    maxDepth: Type.Optional(
      Type.Integer({
        minimum: PATH_DEPTH.min,
        maximum: PATH_DEPTH.max,
        default: PATH_DEPTH.standard,
        description: 'Path mode: the most hops between the two addresses.',
      }),
    ),
    timeRespecting: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Path mode: only paths that funds can have taken in the order of time.',
      }),
    ),
    crossChain: Type.Optional(
      Type.Boolean({ default: false, description: 'Follow deposits to bridges on the chain they lead to.' }),
    ),
  },
  { title: 'TraceBody' },
);

export const TraceNode = Type.Object(
  {
    address: text(),
    label: nullable(Type.String(), 'Name of the entity; null if the address has no label.'),
    category: ExposureCategorySchema,
    riskLevel: RiskLevelSchema,
    entity: nullable(EntitySummary),
    threatLevel: nullable(ThreatLevelSchema),
    depth: count('Hops from the start.'),
    sanctioned: flag(),
  },
  { title: 'TraceNode' },
);

export const TraceEdge = Type.Object(
  {
    from: text(),
    to: text(),
    asset: text(),
    value: amountFields.amount,
    decimals: amountFields.decimals,
    valueUsd: money(),
    txCount: count(),
    firstSeen: text(),
    lastSeen: text(),
  },
  { title: 'TraceEdge', description: 'Transfers of one asset from one address to another.' },
);

const graphFields = {
  nodes: listOf(TraceNode),
  edges: listOf(TraceEdge),
  stats: Type.Object({ totalNodes: count(), totalEdges: count(), maxDepthReached: count() }),
  stoppedAt: listOf(
    Type.Object({ address: text(), reason: oneOf(['SERVICE', 'MAX_DEGREE', 'BUDGET', 'DEPTH']) }),
    'Addresses at which the trace ended, and the reasons.',
  ),
};

const Path = Type.Object(
  {
    addresses: listOf(Type.String()),
    edges: listOf(TraceEdge),
    hops: count(),
    bottleneckUsd: money('USD of the thinnest step; null if a step has no price.'),
  },
  { title: 'TracePath' },
);

const Crossing = Type.Object(
  {
    bridge: EntitySummary,
    bridgeAddress: text(),
    address: text('Address that used the bridge.'),
    direction: oneOf(['in', 'out']),
    valueUsd: money(),
    txCount: count(),
    fromChain: nullable(
      ChainIdSchema,
      'The chain that the value left; the traced chain if `direction` is out. Null if the other side is not known: the bridge leads to several chains, and the holder was found on none of them.',
    ),
    toChain: nullable(
      ChainIdSchema,
      'The chain that the value reached; the traced chain if `direction` is in. Null like `fromChain`.',
    ),
    connectedChains: listOf(ChainIdSchema, 'Chains that the bridge connects with the traced one.'),
    matchedBy: nullable(oneOf(['SAME_ADDRESS', 'SAME_ADDRESS_AND_BRIDGE'])),
    explanation: text(),
    graph: nullable(Type.Object(graphFields)),
  },
  {
    title: 'BridgeCrossing',
    description:
      'A bridge on the path, and the trace on the chain that it leads to if the holder is known there.',
  },
);

export const TraceResult = Type.Object(
  {
    address: text(),
    chain: ChainIdSchema,
    direction: oneOf(DIRECTION_CHOICES),
    ...graphFields,
    found: Type.Optional(flag('Path mode: the target was reached.')),
    target: Type.Optional(text()),
    paths: Type.Optional(listOf(Path, 'Path mode: fewest hops first, then the greatest bottleneck.')),
    truncated: Type.Optional(flag('Path mode: a limit was reached, and there may be more paths.')),
    crossChain: Type.Optional(listOf(Crossing)),
    coverage: Coverage,
    assessed: flag('False: no transfer of the start is known; nothing is charged then.'),
    dataVersion: DataVersion,
    tracedAt: text(),
  },
  { title: 'TraceResult', description: 'Origins and destinations of funds.' },
);
