/** `assay watch <chain>`: prints transfers as they arrive, and with `--ingest` adds them to the transfer store. */

import type { Command } from 'commander';
import { isoTime } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import { readyGroups } from '../base/ready-groups.ts';
import type { ChainEvent } from '../chains/families/port.ts';
import { nativeUnits } from '../chains/native-units.ts';
import { type ChainId, chainOf, parseChainId } from '../chains/registry.ts';
import type { Transfer } from '../chains/transfer.ts';
import { knownTransfers } from '../graph/utxo/project.ts';
import { type Terminal, wholeNumber } from './context.ts';
import type { Services } from './services.ts';

interface WatchOptions {
  readonly from?: string;
  readonly blocks?: string;
  readonly ingest?: boolean;
  readonly attribute?: boolean;
  readonly json?: boolean;
}

/** Maximum time of one request for a block and its traces; the next poll comes after it. */
const REQUEST_BUDGET_MS = 30_000;
/** Blocks that are stored together while catching up: an interrupt waits for them, and some MB of full blocks are held. */
const EVENTS_AT_ONCE = 16;
const HEIGHT_MAX = 4_294_967_294;

const line = ({ txHash, position, from, to, asset, amount, decimals, blockNumber }: Transfer): string =>
  `${blockNumber}  ${from ?? '-'} -> ${to ?? '-'}  ${nativeUnits(amount, decimals)} ${asset}  ${txHash} ${position}`;

const jsonLine = (transfer: Transfer): string =>
  JSON.stringify({
    ...transfer,
    amount: transfer.amount.toString(),
    timestamp: isoTime(transfer.timestampMs),
  });

function linesOf(chain: ChainId, event: ChainEvent, json: boolean): string[] {
  if (event.type === 'reorg') {
    const { ancestor, dropped } = event;
    return [
      json
        ? JSON.stringify({ reorg: { chain, ancestor, dropped } })
        : `reorg: ${dropped.length} blocks left the chain above ${ancestor?.height ?? 'the first ingested block'}`,
    ];
  }
  const { transfers, transactions = [] } = event.block;
  const moved = [...transfers, ...knownTransfers(transactions)];
  return moved.map(json ? jsonLine : line);
}

/**
 * Writes lines at the pace of the reader.
 *
 * @throws OUTPUT_CLOSED if the reader has closed the output
 */
async function print(terminal: Terminal, lines: readonly string[]): Promise<void> {
  if (lines.length === 0) return;
  const out = terminal.out as NodeJS.WritableStream & { readonly destroyed?: boolean };
  if (out.destroyed === true) throw new AssayError('OUTPUT_CLOSED', 'The reader has closed the output.');
  if (out.write(`${lines.join('\n')}\n`)) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      out.off('drain', done);
      out.off('close', done);
      terminal.signal.removeEventListener('abort', done);
      resolve();
    };
    out.once('drain', done);
    out.once('close', done);
    terminal.signal.addEventListener('abort', done, { once: true });
  });
}

/** Adds `assay watch`. */
export function addWatchCommand(program: Command, terminal: Terminal, services: () => Services): void {
  program
    .command('watch')
    .description('print the transfers of new blocks of a chain, until Ctrl-C')
    .argument('<chain>', 'chain id, such as ETH; ASSAY_RPC_<CHAIN> configures its node')
    .option(
      '--from <height>',
      'first block (default: the newest; with --ingest, the next one after the last ingest)',
    )
    .option('--blocks <count>', 'end after this number of blocks')
    .option('--ingest', 'add the transfers to the transfer store, and revert them after a reorg')
    .option(
      '--no-attribute',
      'with --ingest: do not follow the blocks with the rules of `assay attribute`, if it was run on the chain before',
    )
    .option('--json', 'one JSON object per line')
    .action(async (chainText: string, options: WatchOptions) => {
      const chain = parseChainId(chainText);
      const chains = services().chains();
      if (!chains.isConfigured(chain))
        throw new AssayError(
          'INVALID_CONFIG',
          `ASSAY_RPC_${chain}: is not set, so no node is configured for ${chainOf(chain).name}. Set it, or ASSAY_PUBLIC_ENDPOINTS=on.`,
        );
      const height = (text: string): number => wholeNumber('--from', text, 0, HEIGHT_MAX);
      const fromHeight = options.from === undefined ? null : height(options.from);
      const last =
        options.blocks === undefined ? null : wholeNumber('--blocks', options.blocks, 1, HEIGHT_MAX);
      const ingest = options.ingest === true ? services().liveIngest() : null;
      const from = ingest === null ? { fromHeight, known: [] } : ingest.from(chain, fromHeight);
      const adapter = await chains.of(chain);
      const { attribution } = services();
      const derived =
        ingest === null || options.attribute === false
          ? null
          : attribution.follower(chain, services().transfers('write'));
      let blocks = 0;
      const stopped = new AbortController();
      const signal = AbortSignal.any([terminal.signal, stopped.signal]);
      const events = adapter.subscribe(from, { signal, budgetMs: REQUEST_BUDGET_MS });
      const most = (): number => Math.min(EVENTS_AT_ONCE, last === null ? EVENTS_AT_ONCE : last - blocks);
      try {
        for await (const group of readyGroups(events, most)) {
          await ingest?.applyAll(chain, group);
          await derived?.follow();
          for (const event of group) await print(terminal, linesOf(chain, event, options.json ?? false));
          blocks += group.filter(({ type }) => type === 'block').length;
          if (blocks === last) break;
        }
      } finally {
        stopped.abort();
        await derived?.close();
      }
      if (derived !== null && !terminal.signal.aborted)
        await attribution.run(chain, {
          ...{ signal: terminal.signal, logs: 'known' },
          transfers: services().transfers('write'),
        });
    });
}
