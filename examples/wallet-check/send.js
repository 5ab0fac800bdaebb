/**
 * Sends a transaction if every recipient is accepted: native coins, or a token with --token.
 *
 *   node send.js --to 0x… --value 0.01 [--token 0x… --decimals 6] [--accept-warning]
 *
 * Prints the hash. Exit codes: 0 sent, 1 failed, 2 invalid settings, 3 blocked, 4 needs --accept-warning.
 */
import { parseArgs } from 'node:util';
import { getAddress, Interface, JsonRpcProvider, parseUnits, Wallet } from 'ethers';
import { createAssayClient } from '../shared/assay-client.js';
import { log, onOff, required, wholeNumber } from '../shared/settings.js';
import { createPreTransactionCheck } from './pre-transaction.js';
import { recipientsOf } from './recipients.js';

/** Chain ids of Assay by those of EIP-155. */
const CHAINS = { 1: 'ETH', 10: 'OPTIMISM', 56: 'BSC', 137: 'POLYGON', 8453: 'BASE', 42161: 'ARBITRUM' };

const EXIT = { blocked: 3, warned: 4 };
/** Order of decisions, from the mildest to the strictest. */
const STRICTNESS = ['allow', 'confirm', 'block'];

function readTransaction() {
  const { values } = parseArgs({
    options: {
      to: { type: 'string' },
      value: { type: 'string' },
      token: { type: 'string' },
      decimals: { type: 'string', default: '18' },
      'accept-warning': { type: 'boolean', default: false },
    },
  });
  const to = getAddress(values.to ?? '');
  const amount = parseUnits(values.value ?? '', Number(values.decimals));
  const data = new Interface(['function transfer(address to, uint256 value)']).encodeFunctionData(
    'transfer',
    [to, amount],
  );
  return {
    transaction: values.token ? { to: getAddress(values.token), data } : { to, value: amount },
    acceptWarning: values['accept-warning'],
  };
}

async function main() {
  const { transaction, acceptWarning } = readTransaction();
  const provider = new JsonRpcProvider(required('RPC_URL'));
  const signer = new Wallet(required('PRIVATE_KEY'), provider);
  const check = createPreTransactionCheck({
    client: createAssayClient({
      url: required('ASSAY_BASE_URL'),
      apiKey: required('ASSAY_API_KEY'),
      timeoutMs: wholeNumber('TIMEOUT_MS', 2_000, 1, 60_000),
    }),
    failOpen: onOff('FAIL_OPEN', 'off'),
    log,
  });
  try {
    const { chainId } = await provider.getNetwork();
    const chain = CHAINS[Number(chainId)];
    if (chain === undefined) throw new Error(`RPC_URL: no chain of Assay has the chain id ${chainId}.`);
    const results = await Promise.all(recipientsOf(transaction).map((address) => check(chain, address)));
    for (const { decision, source, screening } of results)
      log('info', 'recipient checked', {
        decision,
        source,
        address: screening?.address,
        reasons: screening?.reasons,
      });
    const strictest = Math.max(...results.map(({ decision }) => STRICTNESS.indexOf(decision)));
    if (STRICTNESS[strictest] === 'block') return EXIT.blocked;
    if (STRICTNESS[strictest] === 'confirm' && !acceptWarning) return EXIT.warned;
    const { hash } = await signer.sendTransaction(transaction);
    console.log(hash);
    return 0;
  } finally {
    provider.destroy();
  }
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (error) => {
    console.error(error.message);
    process.exitCode = 1;
  },
);
