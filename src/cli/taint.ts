/** `assay taint <output…> --chain C`: follows the value of outputs, or of an address, forwards under one rule or all five. */

import type { Command } from 'commander';
import { AssayError } from '../base/errors.ts';
import { parseAddress } from '../chains/address/parse.ts';
import { nativeUnits } from '../chains/native-units.ts';
import { type ChainId, chainOf, parseChainId } from '../chains/registry.ts';
import {
  createTaintReader,
  type NamedTaintAnswer,
  type OutputName,
  type TaintReader,
} from '../graph/utxo/taint-reader.ts';
import { TAINT_METHODS, type TaintMethod } from '../graph/utxo/taint-rules.ts';
import { answer, type Terminal, table, wholeNumber } from './context.ts';
import type { Services } from './services.ts';

const HEIGHT_MAX = 0xffff_fffe;
const OUTPUT = /^([0-9a-fA-F]{64}):(\d{1,10})$/;
/** Number of outputs that the text output shows for each rule. */
const SHOWN = 10;

interface TaintArguments {
  readonly chain: string;
  readonly method: string;
  readonly until?: string;
  readonly at?: string;
  readonly json?: boolean;
}

function methodsFrom(text: string): readonly TaintMethod[] {
  if (text === 'all') return TAINT_METHODS;
  const method = TAINT_METHODS.find((known) => known === text);
  if (method) return [method];
  throw new AssayError(
    'INVALID_REQUEST',
    `--method: must be one of all, ${TAINT_METHODS.join(', ')} (got '${text}').`,
  );
}

/** Parses `txid:n`, or an address for all outputs that it received, or that it held after a block. */
function seedsFrom(
  reader: TaintReader,
  chain: ChainId,
  texts: readonly string[],
  at: number | undefined,
): OutputName[] {
  return texts.flatMap((text) => {
    const output = OUTPUT.exec(text);
    if (output) return [{ txid: (output[1] as string).toLowerCase(), n: Number(output[2]) }];
    const { key } = parseAddress(chain, text, 'output');
    const seeds = reader.outputsOf(chain, key, at);
    if (seeds.length === 0) throw new AssayError('NOT_FOUND', `output: no output of ${text} was paid.`);
    return [...seeds];
  });
}

/** Formats satoshi as a decimal number of coins. */
function coins(chain: ChainId, amount: bigint): string {
  const { decimals, symbol } = chainOf(chain);
  const digits = amount.toString().padStart(decimals + 1, '0');
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)} ${symbol}`;
}

function* linesOf(chain: ChainId, taint: NamedTaintAnswer): Generator<string> {
  yield `${taint.method}: ${coins(chain, taint.tainted)} on ${taint.outputCount} outputs ` +
    `(${coins(chain, taint.unspent)} unspent), ${coins(chain, taint.fee)} in fees, of ` +
    `${coins(chain, taint.seedValue)} in ${taint.seeds} outputs; ${taint.transactions} transactions read.`;
  if (taint.shielded > 0n) yield `  ${coins(chain, taint.shielded)} left into a shielded pool.`;
  if (taint.unresolved > 0)
    yield `  ${taint.unresolved} transactions have unknown inputs, which were treated as clean.`;
  if (taint.truncated)
    yield `  The budget of ${taint.truncated.toLowerCase()} was reached. The result is incomplete.`;
  const rows = taint.outputs
    .slice(0, SHOWN)
    .map(({ txid, n, address, tainted, end }) => [
      `  ${txid}:${n}`,
      coins(chain, tainted),
      end.toLowerCase(),
      address ?? 'no address',
    ]);
  yield* table(rows);
}

/** Converts amounts to text in native units, with the decimals of the chain beside them. */
function asJson(chain: ChainId, taint: NamedTaintAnswer): unknown {
  const { decimals } = chainOf(chain);
  const inUnits = (_: string, value: unknown): unknown =>
    typeof value === 'bigint' ? nativeUnits(value, decimals) : value;
  return { ...(JSON.parse(JSON.stringify(taint, inUnits)) as object), decimals };
}

/** Adds `assay taint`. */
export function addTaintCommand(program: Command, terminal: Terminal, services: () => Services): void {
  program
    .command('taint')
    .description('follow the value of outputs of a UTXO chain')
    .argument('<output...>', 'outputs as txid:n, or addresses for all of their outputs')
    .requiredOption('--chain <chain>', 'chain of the outputs')
    .option('--method <method>', `all, ${TAINT_METHODS.join(', ')}`, 'all')
    .option('--until <height>', 'follow spends up to this block')
    .option('--at <height>', 'for an address: only outputs that it held after this block')
    .option('--json', 'answer as JSON')
    .action((texts: string[], options: TaintArguments) => {
      const chain = parseChainId(options.chain, '--chain');
      const methods = methodsFrom(options.method);
      const height = (option: '--until' | '--at', text: string | undefined): number | undefined =>
        text === undefined ? undefined : wholeNumber(option, text, 0, HEIGHT_MAX);
      const until = height('--until', options.until);
      const reader = createTaintReader({ outputs: services().outputs('read') });
      const seeds = seedsFrom(reader, chain, texts, height('--at', options.at));
      const answers = methods.map((method) =>
        reader.taintOf(chain, seeds, method, until === undefined ? {} : { until }),
      );
      answer(
        terminal,
        options.json ?? false,
        answers.map((taint) => asJson(chain, taint)),
        () => answers.flatMap((taint) => [...linesOf(chain, taint)]),
      );
    });
}
