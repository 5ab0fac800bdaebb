/** `assay kyt` and `assay trace`: one check of a transfer, one trace. */
import type { Command } from 'commander';
import type { KytAnswer, KytParty } from '../screening/kyt-answers.ts';
import type { TraceAnswer, TraceEdge } from '../screening/trace-answers.ts';
import { answer, type Terminal, table, wholeNumber } from './context.ts';
import type { Services } from './services.ts';
import { staleAdviceLines } from './stale-advice.ts';

const partyLine = (name: string, party: KytParty | undefined): readonly string[] =>
  party === undefined
    ? []
    : [
        `${name} ${party.address}: ${party.entity ? `${party.entity.name} (${party.entity.category})` : 'not known'}` +
          `${party.sanctioned ? ', SANCTIONED' : ''}`,
      ];

const kytLines = (kyt: KytAnswer, advice: readonly string[]): readonly string[] => [
  `${kyt.decision}: ${kyt.riskLevel}, score ${kyt.riskScore} of 100`,
  ...partyLine('from', kyt.from),
  ...partyLine('to', kyt.to),
  ...partyLine('address', kyt.address),
  ...kyt.flags.map(({ severity, code, party, message }) => `  ${severity} ${code} (${party}): ${message}`),
  ...kyt.reasons.map(({ severity, code, message }) => `  ${severity} ${code}: ${message}`),
  ...advice,
  `data version ${kyt.dataVersion}, policy ${kyt.policyVersion}`,
];

const edgeCells = ({ from, to, value, asset, valueUsd, txCount }: TraceEdge): readonly string[] => [
  from,
  to,
  value,
  asset,
  valueUsd === null ? '-' : String(valueUsd),
  String(txCount),
];

function traceLines(trace: TraceAnswer): readonly string[] {
  const { totalNodes, totalEdges, maxDepthReached } = trace.stats;
  const named = trace.nodes.filter((node) => node.label !== null);
  return [
    `${trace.address} on ${trace.chain}, ${trace.direction}: ${totalNodes} addresses, ${totalEdges} edges, depth ${maxDepthReached}`,
    ...(trace.edges.length === 0
      ? ['no transfers known']
      : table([['FROM', 'TO', 'VALUE', 'ASSET', 'USD', 'TRANSFERS'], ...trace.edges.map(edgeCells)])),
    ...named.map((node) => `  ${node.address}: ${node.label} (${node.category}), depth ${node.depth}`),
    ...(trace.paths ?? []).map(
      (path) =>
        `  path of ${path.hops} hops, bottleneck ${path.bottleneckUsd ?? '-'} USD: ${path.addresses.join(' > ')}`,
    ),
    ...(trace.found === false ? [`no path to ${trace.target}`] : []),
    ...trace.stoppedAt.map((stop) => `  stopped at ${stop.address}: ${stop.reason}`),
    ...(trace.crossChain ?? []).map(
      (crossing) => `  ${crossing.bridge.name}, ${crossing.address}: ${crossing.explanation}`,
    ),
    `data version ${trace.dataVersion}`,
  ];
}

/** Adds `assay kyt`. */
export function addKytCommand(program: Command, terminal: Terminal, services: () => Services): void {
  program
    .command('kyt')
    .description('check a transfer: the sender and the receiver, or one address')
    .argument('<chain>', 'chain id, such as ETH')
    .argument('<address>', 'sender, or the only address')
    .argument('[to]', 'receiver')
    .option('--direction <direction>', 'for one address: in, out or both')
    .option('--json', 'answer as JSON')
    .action(
      (
        chain: string,
        address: string,
        to: string | undefined,
        options: { direction?: string; json?: boolean },
      ) => {
        const parties = to === undefined ? { address } : { from: address, to };
        const checked = services().kyt()({
          chain,
          ...parties,
          ...(options.direction === undefined ? {} : { direction: options.direction }),
        });
        answer(terminal, options.json ?? false, checked, (kyt) =>
          kytLines(kyt, staleAdviceLines(kyt.reasons, services)),
        );
      },
    );
}

/** Adds `assay trace`. */
export function addTraceCommand(program: Command, terminal: Terminal, services: () => Services): void {
  program
    .command('trace')
    .description('trace where money came from and where it went, or find the paths to another address')
    .argument('<chain>', 'chain id, such as ETH')
    .argument('<address>', 'address in any valid form of the chain')
    .option('--direction <direction>', 'in, out or both', 'both')
    .option('--hops <n>', '1 to 3', '1')
    .option('--target <address>', 'find the paths to this address')
    .option('--max-depth <n>', 'maximum hops of a path, 1 to 7', '3')
    .option('--time-respecting', 'only paths whose transfers are in chronological order')
    .option('--cross-chain', 'follow deposits to bridges onto their target chains')
    .option('--json', 'answer as JSON')
    .action(
      (
        chain: string,
        address: string,
        options: {
          direction: string;
          hops: string;
          target?: string;
          maxDepth: string;
          timeRespecting?: boolean;
          crossChain?: boolean;
          json?: boolean;
        },
      ) => {
        const traced = services().trace()({
          chain,
          address,
          direction: options.direction,
          hops: wholeNumber('--hops', options.hops, 1, 3),
          maxDepth: wholeNumber('--max-depth', options.maxDepth, 1, 7),
          timeRespecting: options.timeRespecting ?? false,
          crossChain: options.crossChain ?? false,
          ...(options.target === undefined ? {} : { targetAddress: options.target }),
        });
        answer(terminal, options.json ?? false, traced.answer, traceLines);
      },
    );
}
