/** The check that readers make while snapshots are swapped: every answer names the generation of its own snapshot. */
import type { LabelReader } from '../../../src/labels/index/reader.ts';
import { key } from './world.ts';

export const SWAP_ADDRESSES = 3000;
/** Pads the values beyond 16 MB, above which they are views of the memory map: the case that can crash. */
export const PADDING_RECORDS = 450_000;

const out = new Uint8Array(10_000);
let turn = 0;

/** Looks up 200 addresses in three ways. Returns a sentence if an answer is wrong, or null. */
export function checkReader(reader: LabelReader): string | null {
  const generation = reader.meta.sources[0]?.dataset ?? '';
  for (let index = 0; index < 200; index++) {
    const number = (turn++ * 7) % SWAP_ADDRESSES;
    const address = key(number);
    const handle = reader.find(address, 0, address.length);
    const [label] = reader.labels(handle, 'ETH');
    if (label?.entity.name !== `${generation} ${number % 50}`) {
      return `${generation}: address ${number} is labelled '${label?.entity.name}'.`;
    }
    const end = reader.writeLabelsJson(handle, 'ETH', out, 0);
    const written = JSON.parse(Buffer.from(out.subarray(0, end)).toString()) as { name: string }[];
    if (written[0]?.name !== label.entity.name) return `${generation}: JSON says '${written[0]?.name}'.`;
    if (!reader.isSanctioned(handle, 'ETH')) return `${generation}: address ${number} is not sanctioned.`;
    const absent = key(SWAP_ADDRESSES + PADDING_RECORDS + number);
    if (reader.find(absent, 0, absent.length) >= 0) return `${generation}: an unlabelled address was found.`;
  }
  return null;
}
