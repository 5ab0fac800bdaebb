/** Settings: payments by a signed authorization, which the operator sends and pays the gas for. */
import {
  chainList,
  optionalEvmAddress,
  optionalPath,
  optionalPrivateKey,
  positiveDecimal,
  positiveWhole,
} from './readers.ts';
import { setting } from './setting.ts';

export const x402Settings = {
  x402Chains: setting(
    'ASSAY_X402_CHAINS',
    '',
    chainList,
    'Chains on which a request without an API key can be paid with USDC (x402), separated by commas, such as BASE,POLYGON. Empty: off. Needs ASSAY_X402_ADDRESS, a key of the gas-paying account, and ASSAY_RPC_<CHAIN> for each.',
  ),
  x402Address: setting(
    'ASSAY_X402_ADDRESS',
    '',
    optionalEvmAddress,
    'Address that payments of single requests go to. It must belong to this installation alone, and not be the gas-paying account.',
  ),
  gaslessChains: setting(
    'ASSAY_GASLESS_CHAINS',
    '',
    chainList,
    'Chains on which invoices in USDC can be paid by a signature, so that the payer needs no gas, separated by commas, such as BASE. Empty: off. Needs ASSAY_PAYMENT_KEY_EVM, a key of the gas-paying account, and ASSAY_RPC_<CHAIN> for each.',
  ),
  relayKey: setting(
    'ASSAY_RELAY_KEY',
    '',
    optionalPrivateKey,
    'Private key of the account that sends authorized payments and pays their gas: 64 hexadecimal digits. It must hold coins for gas only, and nothing else may use it. A file is preferable: ASSAY_RELAY_KEY_FILE.',
  ),
  relayKeyFile: setting(
    'ASSAY_RELAY_KEY_FILE',
    '',
    optionalPath,
    'File with that key, readable by its owner only (mode 600).',
  ),
  relayBalanceMax: setting(
    'ASSAY_RELAY_BALANCE_MAX',
    '0.1',
    positiveDecimal,
    'Most coins of a chain that the gas-paying account may hold. With more, it sends nothing: a key on a server must be worth little.',
  ),
  relayMaxFeeGwei: setting(
    'ASSAY_RELAY_MAX_FEE_GWEI',
    '50',
    positiveDecimal,
    'Highest price of gas. Above it, payments are refused for the time.',
  ),
  relayConfirmations: setting(
    'ASSAY_RELAY_CONFIRMATIONS',
    '1',
    positiveWhole,
    'Blocks that must contain or follow a payment before its request is answered. More blocks make clients wait.',
  ),
} as const;
