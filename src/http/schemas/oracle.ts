/** Schemas of the roots and proofs for contracts. */
import { Type } from 'typebox';
import { DataVersion } from './facts.ts';
import { ChainIdSchema, count, flag, listOf, text } from './fields.ts';

/** Bytes as `0x` and lower-case hexadecimal. */
const bytes = (description: string) => Type.String({ description, examples: [`0x${'0'.repeat(64)}`] });

const treeFields = {
  chain: ChainIdSchema,
  root: bytes('Root of the Merkle tree, 32 bytes.'),
  size: count('Number of sanctioned addresses.'),
  depth: count('Length of every path.'),
  dataVersion: DataVersion,
  snapshot: bytes('SHA-256 of `dataVersion`, 32 bytes.'),
};

export const OracleRootData = Type.Object(treeFields, {
  title: 'OracleRoot',
  description: 'Root of the sanctioned addresses of a chain, as the contract SanctionsRoot holds it.',
});

export const OracleProofData = Type.Object(
  {
    address: text(),
    sanctioned: flag(
      'Whether the proof shows that the address is in the tree; else it shows that it is not.',
    ),
    ...treeFields,
    low: bytes('Lower bound of the leaf, 21 bytes.'),
    high: bytes('Higher bound of the leaf, 21 bytes.'),
    index: count('Number of the leaf, from 0.'),
    path: listOf(bytes('A hash of 32 bytes.'), 'The sibling at each level, from the leaf upward.'),
  },
  { title: 'OracleProof', description: 'A proof as the contract SanctionsRoot takes it.' },
);

export const RootText = Type.String({
  minLength: 66,
  maxLength: 66,
  description:
    'Root that the contract has, if it is not the present one. The newest eight of each chain are kept.',
  examples: [`0x${'0'.repeat(64)}`],
});
