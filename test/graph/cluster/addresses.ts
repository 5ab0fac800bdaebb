/** Valid addresses of Bitcoin, one for each number: stores and labels must be able to parse them. */
import { formatAddressKey, parseAddress } from '../../../src/chains/address/parse.ts';

const MODEL = parseAddress('BTC', 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4').key;

/** Returns the P2WPKH address with the number as its hash. */
export function bech32Address(number: number): string {
  const key = Buffer.from(MODEL);
  key.fill(0, 2);
  key.writeUInt32BE((number * 2_654_435_761) >>> 0, 2);
  key.writeUInt32BE(number, key.length - 4);
  return formatAddressKey(key, 'BTC');
}
