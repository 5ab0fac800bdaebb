/** `assay oracle push|status|signer`: the sanctions lists in contracts, and the key that signs verdicts for contracts. */
import { readFileSync, statSync } from 'node:fs';
import type { Command } from 'commander';
import { isoTime } from '../base/clock.ts';
import { AssayError, messageOf } from '../base/errors.ts';
import { parseEvmChain } from '../receipts/oracle/accounts.ts';
import { ORACLE_LIMITS } from '../receipts/oracle/limits.ts';
import type { PushedBatch, PushReport } from '../receipts/oracle/push.ts';
import type { VerdictKeyFacts } from '../receipts/verdict-key.ts';
import { answer, type Terminal, table, wholeNumber } from './context.ts';
import type { OracleStatus, Services } from './services.ts';

const CONTRACT = /^0x[0-9a-fA-F]{40}$/;
const PRIVATE_KEY = /^(?:0x)?([0-9a-fA-F]{64})$/;
const OTHERS = 0o077;
const WEI_PER_GWEI = 1_000_000_000n;
/** Above the price of gas of Ethereum in all but some hours of its history. */
const FEE_GWEI = '200';
const CONFIRMATIONS = '2';
const CONFIRMATIONS_MAX = 1_000;
const FEE_GWEI_MAX = 1_000_000;

interface TargetOptions {
  readonly rpc: string;
  readonly contract: string;
  readonly chain?: string;
  readonly root?: boolean;
  readonly json?: boolean;
}

interface PushOptions extends TargetOptions {
  readonly keyFile?: string;
  readonly confirmations: string;
  readonly maxFeeGwei: string;
  readonly batch: string;
  readonly hours: string;
  readonly dryRun?: boolean;
  readonly force?: boolean;
}

const refuse = (sentence: string): AssayError => new AssayError('INVALID_REQUEST', sentence);

/**
 * Reads a private key from a file that only its owner can read.
 *
 * @throws INVALID_REQUEST, which never repeats the content
 */
function privateKeyOf(path: string): string {
  let text: string;
  try {
    const { mode } = statSync(path);
    if (process.platform !== 'win32' && (mode & OTHERS) !== 0)
      throw refuse(`--key-file: '${path}' must be readable by its owner only (chmod 600).`);
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof AssayError) throw error;
    throw refuse(`--key-file: cannot be read (${messageOf(error)}).`);
  }
  const digits = PRIVATE_KEY.exec(text.trim())?.[1];
  if (digits === undefined) throw refuse(`--key-file: '${path}' must have 64 hexadecimal digits.`);
  return `0x${digits}`;
}

function contractOf(text: string): string {
  if (CONTRACT.test(text)) return text;
  throw refuse(`--contract: must be 0x and 40 hexadecimal digits (got '${text.slice(0, 60)}').`);
}

const targetOf = (options: TargetOptions, terminal: Terminal) => ({
  rpc: options.rpc,
  contract: contractOf(options.contract),
  isRoot: options.root ?? false,
  signal: terminal.signal,
  ...(options.chain === undefined ? {} : { chain: parseEvmChain(options.chain, '--chain') }),
});

/** Formats wei as coins with their decimals, without rounding. */
function coins(wei: string): string {
  const digits = wei.padStart(19, '0');
  const decimals = digits.slice(-18).replace(/0+$/, '');
  return `${digits.slice(0, -18)}${decimals === '' ? '' : `.${decimals}`}`;
}

const batchLine = ({ change, addresses, hash, gasUsed, fee }: PushedBatch): string =>
  change === 'EARLIER_RUN'
    ? `finished the transaction of an earlier run: ${gasUsed} gas  ${hash ?? ''}`
    : `${change.toLowerCase()} ${addresses} addresses: ${gasUsed} gas${fee === null ? ' (estimated)' : `, fee ${coins(fee)}`}  ${hash ?? ''}`.trimEnd();

const pushLines = (report: PushReport): readonly string[] => [
  `${report.chain}: ${report.addresses} addresses, ${report.before} on chain before; ${report.isDryRun ? 'to add' : 'added'} ${report.added}, ${report.isDryRun ? 'to remove' : 'removed'} ${report.removed}`,
  ...(report.root === undefined
    ? []
    : [
        `root ${report.root}, epoch ${report.epoch}, valid until ${isoTime((report.expiresAt ?? 0) * 1_000)}`,
      ]),
  report.batches.length === 0
    ? 'nothing to send'
    : `${report.batches.length} transactions, ${report.gasUsed} gas${report.isDryRun ? ' (estimated); nothing was sent' : `, fee ${coins(report.fee)}`}`,
  `data version ${report.dataVersion}`,
];

const statusLines = (state: OracleStatus): readonly string[] => [
  `${state.contract} at block ${state.block}: ${state.isCurrent ? 'current' : 'NOT current'}`,
  `${state.chain}: ${state.addresses} addresses, ${state.onChain} on chain`,
  ...(state.missing === undefined ? [] : [`missing on chain ${state.missing}, surplus ${state.surplus}`]),
  ...(state.root === undefined
    ? []
    : [
        `root ${state.root}, present ${state.presentRoot}`,
        state.epoch === 0
          ? 'no root was published'
          : `epoch ${state.epoch}, valid until ${isoTime((state.expiresAt ?? 0) * 1_000)}`,
      ]),
  `owner ${state.owner}, pusher ${state.pusher}`,
  `data version ${state.dataVersion}`,
];

const dayOf = (seconds: number): string => isoTime(seconds * 1_000).slice(0, 10);

const signerLines = (keys: readonly VerdictKeyFacts[]): readonly string[] =>
  keys.length === 0
    ? ['There is no key. Create one with --new.']
    : table([
        ['SIGNER', 'CREATED', 'ENDS', 'SECONDS'],
        ...keys.map(({ address, createdAt, endsAt }) => [
          address,
          dayOf(createdAt),
          dayOf(endsAt),
          String(endsAt),
        ]),
      ]);

/** Adds `assay oracle`. */
export function addOracleCommand(program: Command, terminal: Terminal, services: () => Services): void {
  const oracle = program.command('oracle').description('keep contracts equal to the sanctions lists');

  oracle
    .command('push')
    .description(
      'send the difference between the sanctions lists and a contract; an interrupted run is continued',
    )
    .requiredOption('--rpc <url>', 'node of the chain')
    .requiredOption('--contract <address>', 'SanctionsOracle, or with --root SanctionsRoot')
    .option('--root', 'publish the Merkle root of all addresses, not the addresses')
    .option('--chain <chain>', 'chain of the list (default: that of the node)')
    .option('--key-file <file>', 'private key of the pusher, mode 600 (default: ASSAY_ORACLE_KEY)')
    .option('--batch <n>', 'addresses per transaction', String(ORACLE_LIMITS.batchAddresses))
    .option('--hours <n>', 'with --root: how long the root is valid', String(ORACLE_LIMITS.rootHours))
    .option('--confirmations <n>', 'blocks to wait for', CONFIRMATIONS)
    .option('--max-fee-gwei <n>', 'highest price of gas', FEE_GWEI)
    .option('--dry-run', 'estimate the gas, send nothing; needs no key')
    .option('--force', 'push although lists are old, or more than half of the addresses would be removed')
    .option('--json', 'answer as JSON')
    .action(async (options: PushOptions) => {
      const target = targetOf(options, terminal);
      const numbers = {
        batch: wholeNumber('--batch', options.batch, 1, ORACLE_LIMITS.batchAddressesMax),
        confirmations: wholeNumber('--confirmations', options.confirmations, 1, CONFIRMATIONS_MAX),
        feeMax: BigInt(wholeNumber('--max-fee-gwei', options.maxFeeGwei, 1, FEE_GWEI_MAX)) * WEI_PER_GWEI,
      };
      const hours = wholeNumber('--hours', options.hours, 1, ORACLE_LIMITS.rootHoursMax);
      const { oracle: service } = services();
      const privateKey = options.dryRun
        ? null
        : options.keyFile === undefined
          ? service().pushKey
          : privateKeyOf(options.keyFile);
      if (privateKey === null && !options.dryRun)
        throw refuse('--key-file: is missing. Name a file, or set ASSAY_ORACLE_KEY; --dry-run needs no key.');
      const report = await service().push({
        ...target,
        ...numbers,
        privateKey,
        rootSeconds: target.isRoot ? hours * 3_600 : null,
        force: options.force ?? false,
        onBatch: (batch) => void terminal.err.write(`${batchLine(batch)}\n`),
      });
      answer(terminal, options.json ?? false, report, pushLines);
    });

  oracle
    .command('status')
    .description('compare a contract with the sanctions lists')
    .requiredOption('--rpc <url>', 'node of the chain')
    .requiredOption('--contract <address>', 'SanctionsOracle, or with --root SanctionsRoot')
    .option('--root', 'the contract is a SanctionsRoot')
    .option('--chain <chain>', 'chain of the list (default: that of the node)')
    .option('--json', 'answer as JSON')
    .action(async (options: TargetOptions) => {
      const target = targetOf(options, terminal);
      answer(terminal, options.json ?? false, await services().oracle().status(target), statusLines);
    });

  oracle
    .command('signer')
    .description('show the keys that sign verdicts for contracts, newest first')
    .option('--new', 'replace the key; add the new signer to the contracts')
    .option('--days <n>', 'with --new: days until its end', '90')
    .option('--json', 'answer as JSON')
    .action(async (options: { new?: boolean; days: string; json?: boolean }) => {
      const days = wholeNumber('--days', options.days, 1, ORACLE_LIMITS.signerDaysMax);
      const { verdictKeys } = services().oracle();
      if (options.new) await verdictKeys.create(days);
      answer(terminal, options.json ?? false, verdictKeys.list(), signerLines);
    });
}
