/** Builds the tree of the sanctioned addresses of a chain. It reads the whole snapshot. */
import type { ChainId } from '../../chains/registry.ts';
import { sanctionedAddresses } from '../../receipts/oracle/accounts.ts';
import { type TreeFacts, writeTree } from '../../receipts/oracle/tree-file.ts';
import { task } from '../task.ts';

export const oracleTreeTask = task({
  name: 'oracle-tree',
  run:
    ({ labels }) =>
    ({ folder, chain }: { readonly folder: string; readonly chain: ChainId }): TreeFacts => {
      const reader = labels.current;
      const facts = { chain, dataVersion: reader.meta.dataVersion };
      return writeTree(folder, facts, sanctionedAddresses(reader, chain));
    },
});
