/** Transfers of TRON transactions: TRX, TRC-10, TRC-20 and TRC-721, and internal transfers of contracts. */
import { utils } from 'tronweb';
import {
  asAmount,
  asArray,
  asCount,
  asObject,
  asText,
  badAnswer,
  type Json,
  type JsonObject,
} from '../../endpoints/exact-json.ts';
import { CALL_DIGITS_READ, type TransactionCall } from '../../initiation.ts';
import { asAddressOf, asPattern, type transfersOf } from '../account-chain.ts';

/** keccak-256 of `Transfer(address,address,uint256)`, the event of TRC-20 and TRC-721 contracts. */
const TRANSFER_TOPIC = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
/** The address in token logs of tokens that are issued or destroyed. */
export const ZERO_ADDRESS = utils.address.fromHex(`41${'0'.repeat(40)}`);
/** Maximum logs or internal calls of one transaction: more than fit into its 80 ms. */
const LOGS_MAX = 200_000;
/**
 * Internal transactions that move value, by the hex of the note that the TVM adds: a call, a creation, a self-destruct. Others also
 * have an amount but move nothing to the account they name: delegated energy, stakes, votes, rewards.
 */
const MOVING_NOTES: ReadonlySet<string> = new Set(
  ['call', 'create', 'suicide'].map((note) => Buffer.from(note).toString('hex')),
);

/** Reads a hash in hex. */
export const asHash = (value: Json | undefined, field: string): string =>
  asPattern(value, /^[0-9a-f]{64}$/, field);

/** Accepts `41` and 20 bytes in hex, 20 bytes in hex (logs), or base58. */
export function asAddress(value: Json | undefined, field: string): string {
  const text = asText(value, field, 64);
  if (/^T/.test(text)) return asAddressOf('TRON', text, field);
  if (!/^(?:41)?[0-9a-fA-F]{40}$/.test(text)) throw badAnswer(field, 'an address');
  return utils.address.fromHex(text.length === 40 ? `41${text}` : text);
}

const partyOfTopic = (topic: string): string | null => {
  const address = utils.address.fromHex(`41${topic.slice(24)}`);
  return address === ZERO_ADDRESS ? null : address;
};

/** Reads the id of a TRC-10 token, a number that some fields carry as the hex of its digits. */
function tokenId(value: Json | undefined, field: string): string {
  const text = asText(value, field, 128);
  const decoded = /^(?:3[0-9]){1,20}$/.test(text) ? Buffer.from(text, 'hex').toString('latin1') : text;
  return asPattern(decoded, /^\w{1,64}$/, field);
}

type Add = ReturnType<typeof transfersOf>['add'];

/** Returns false if the transaction failed, and therefore moved nothing. */
export const succeeded = (tx: JsonObject): boolean => {
  if (tx.ret === undefined) return true;
  const [first] = asArray(tx.ret, 'ret', 16);
  const result = first === undefined ? undefined : asObject(first, 'ret').contractRet;
  return result === undefined || result === 'SUCCESS';
};

/** Returns the signer of a transaction and what it calls; null if the transaction does not contain them. */
export function callOf(tx: JsonObject): TransactionCall | null {
  const [contract] = asArray(asObject(tx.raw_data, 'raw_data').contract, 'contract', 16);
  const { type, parameter } = asObject(contract, 'contract');
  const value = asObject(asObject(parameter, 'parameter').value, 'parameter.value');
  if (typeof value.owner_address !== 'string') return null;
  const sender = asAddress(value.owner_address, 'owner_address');
  if (type !== 'TriggerSmartContract') return { sender };
  const data = typeof value.data === 'string' && /^[0-9a-fA-F]*$/.test(value.data) ? value.data : undefined;
  return {
    sender,
    called: asAddress(value.contract_address, 'contract_address'),
    input: data?.slice(0, CALL_DIGITS_READ).toLowerCase(),
  };
}

/** Returns the 20 bytes of an address in hex. */
export const hexOf = (address: string): string => utils.address.toHex(address).slice(2).toLowerCase();

/**
 * Adds the transfers of a transaction itself, with its result `info` if known.
 *
 * @returns whether it called a contract, which may have moved more
 */
export function addOwnMoves(tx: JsonObject, info: JsonObject | null, add: Add): boolean {
  const [contract] = asArray(asObject(tx.raw_data, 'raw_data').contract, 'contract', 16);
  const { type, parameter } = asObject(contract, 'contract');
  const value = asObject(asObject(parameter, 'parameter').value, 'parameter.value');
  const owner = (): string => asAddress(value.owner_address, 'owner_address');
  if (type === 'TransferContract')
    add({
      position: 'value',
      from: owner(),
      to: asAddress(value.to_address, 'to_address'),
      amount: asAmount(value.amount, 'amount'),
    });
  else if (type === 'TransferAssetContract')
    add({
      position: 'value',
      from: owner(),
      to: asAddress(value.to_address, 'to_address'),
      amount: asAmount(value.amount, 'amount'),
      asset: tokenId(value.asset_name, 'asset_name'),
    });
  else if (type === 'TriggerSmartContract') {
    const to = asAddress(value.contract_address, 'contract_address');
    add({ position: 'value', from: owner(), to, amount: asAmount(value.call_value ?? 0, 'call_value') });
    const tokens = asAmount(value.call_token_value ?? 0, 'call_token_value');
    if (tokens > 0n)
      add({
        position: 'token',
        from: owner(),
        to,
        amount: tokens,
        asset: String(asCount(value.token_id, 'token_id')),
      });
    return true;
  }
  if (type !== 'CreateSmartContract') return false;
  const amount = asAmount(asObject(value.new_contract, 'new_contract').call_value ?? 0, 'call_value');
  if (amount > 0n && info !== null)
    add({
      position: 'value',
      from: owner(),
      to: asAddress(info.contract_address, 'contract_address'),
      amount,
    });
  return true;
}

/**
 * Adds the transfers of contracts: token logs, and calls that carried value.
 *
 * @param decimals - decimals of tokens, if known
 */
export function addInnerMoves(info: JsonObject, add: Add, decimals: ReadonlyMap<string, number>): void {
  for (const [index, value] of asArray(info.log ?? [], 'log', LOGS_MAX).entries()) {
    const log = asObject(value, 'log');
    const topics = asArray(log.topics ?? [], 'topics', 4).map((topic) => asHash(topic, 'topic'));
    const [kind, from, to, piece] = topics;
    if (kind !== TRANSFER_TOPIC || from === undefined || to === undefined) continue;
    // A contract may log any bytes of any length: only data that is exactly one number is an amount.
    const data = typeof log.data === 'string' && /^[0-9a-fA-F]{64}$/.test(log.data) ? log.data : null;
    if (piece === undefined && data === null) continue;
    const asset = asAddress(log.address, 'address');
    add({
      position: `log:${index}`,
      from: partyOfTopic(from),
      to: partyOfTopic(to),
      amount: piece === undefined ? BigInt(`0x${data}`) : 1n,
      asset,
      decimals: piece === undefined ? (decimals.get(asset) ?? null) : 0,
    });
  }
  for (const [index, value] of asArray(
    info.internal_transactions ?? [],
    'internal_transactions',
    LOGS_MAX,
  ).entries()) {
    const inner = asObject(value, 'internal_transaction');
    if (inner.rejected === true) continue;
    if (inner.note !== undefined && !MOVING_NOTES.has(asText(inner.note, 'note', 1_000))) continue;
    for (const [place, each] of asArray(inner.callValueInfo ?? [], 'callValueInfo', 64).entries()) {
      const moved = asObject(each, 'callValueInfo');
      const amount = asAmount(moved.callValue ?? 0, 'callValue');
      if (amount === 0n) continue;
      add({
        position: `internal:${index}:${place}`,
        from: asAddress(inner.caller_address, 'caller_address'),
        to: asAddress(inner.transferTo_address, 'transferTo_address'),
        amount,
        ...(moved.tokenId === undefined || moved.tokenId === '' || moved.tokenId === '_'
          ? {}
          : { asset: tokenId(moved.tokenId, 'tokenId') }),
      });
    }
  }
}
