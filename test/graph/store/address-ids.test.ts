/** The table of address ids: whatever the order and size of writes, each address has its own id, and others have none. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { endReading } from '../../../src/base/reading.ts';
import { AddressIds, addressReader } from '../../../src/graph/store/address-ids.ts';
import { type ChainStore, openChainStore, packId } from '../../../src/graph/store/chain-store.ts';
import { Fingerprinter } from '../../../src/graph/store/fingerprint.ts';

let folder = '';
let store: ChainStore;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-ids-'));
  store = openChainStore(join(folder, 'eth.mdb'), 'ETH', false) as ChainStore;
});
afterEach(async () => {
  await store.root.close();
  rmSync(folder, { recursive: true });
});

/** A fingerprint that is the same for all keys. */
class Equal extends Fingerprinter {
  override hash(): void {
    this.high = 7;
    this.low = 7;
  }
}

const keyOf = (number: number): Buffer => Buffer.from(`address ${number}`);

function add(first: number, end: number, fingerprint = new Fingerprinter(store.salt)): void {
  store.root.transactionSync(() => {
    const ids = new AddressIds(store, fingerprint);
    ids.expect(end - first);
    for (let id = first; id < end; id++) {
      expect(ids.find(keyOf(id))).toBe(0);
      ids.add(keyOf(id), id);
      store.keys.putSync(id, keyOf(id));
      expect(ids.find(keyOf(id))).toBe(id);
    }
    ids.finish();
  });
  endReading();
}

describe('ids of addresses', () => {
  it('are found while the table grows, and for no other address', () => {
    let end = 1;
    for (const more of [1, 3, 200, 5_000, 40, 9_000]) {
      add(end, end + more);
      end += more;
      const find = addressReader(store);
      for (let id = 1; id < end; id++) expect(find(keyOf(id))).toBe(id);
      for (let id = end; id < end + 500; id++) expect(find(keyOf(id))).toBe(0);
    }
  });

  it('are told apart by their keys if their hashes are equal', () => {
    const equal = new Equal(store.salt);
    add(1, 30, equal);
    const ids = new AddressIds(store, equal);
    for (let id = 1; id < 30; id++) expect(ids.find(keyOf(id))).toBe(id);
    expect(ids.find(keyOf(30))).toBe(0);
    expect(ids.find(Buffer.from('address'))).toBe(0);
  });

  it('are still those of the former index, if it has an address', () => {
    store.root.transactionSync(() => store.ids.putSync(keyOf(3), packId(3)));
    expect(addressReader(store)(keyOf(3))).toBe(3);
    expect(addressReader(store)(keyOf(4))).toBe(0);
  });
});
