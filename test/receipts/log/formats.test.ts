import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { combine, inclusionParts, leafHash, MerkleFrontier, subtreesOf } from '../../../src/base/merkle.ts';
import { systemRandom } from '../../../src/base/random.ts';
import { checkpointText, parseCheckpoint, verifyCheckpoint } from '../../../src/receipts/log/checkpoint.ts';
import { LOG_LIMITS } from '../../../src/receipts/log/limits.ts';
import {
  cosigner,
  formatNote,
  newNoteKey,
  noteSigner,
  parseNote,
  parseVkey,
  verifiedSignatures,
} from '../../../src/receipts/log/note.ts';
import { formatProof, parseProof, verifyProof } from '../../../src/receipts/log/proof.ts';
import {
  bundleOf,
  leavesOfBundle,
  parseTilePath,
  type TileName,
  TileTree,
  tilePath,
  tilesBetween,
} from '../../../src/receipts/log/tiles.ts';

/** The example of golang.org/x/mod/sumdb/note, the origin of the format. */
const NEUMANN = 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW';
const NOTE =
  "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n\n" +
  '— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n';

/** The examples of C2SP tlog-checkpoint and tlog-cosignature. Their keys are not published. */
const SOFA =
  'example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n' +
  '— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n' +
  '— witness.example.com/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==\n';

const LOG = noteSigner('log.example/assay', newNoteKey(systemRandom));
const WITNESS = cosigner('witness.example/w1', newNoteKey(systemRandom), () => 1_679_315_147);

describe('signed notes', () => {
  it('verify the example of the format', () => {
    const verifier = parseVkey(NEUMANN, 'key', 'log');
    expect(verifier.vkey).toBe(NEUMANN);
    const note = parseNote(NOTE);
    expect(verifiedSignatures(note, [verifier])).toHaveLength(1);
    expect(formatNote(note)).toBe(NOTE);
    const changed = parseNote(NOTE.replace('cryptography', 'Cryptography'));
    expect(() => verifiedSignatures(changed, [verifier])).toThrow(
      'the signature of PeterNeumann is not valid',
    );
  });

  it('know the key of a log by its name and id, as the Go checksum database has it', () => {
    const text = 'sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8';
    expect(parseVkey(text, 'key', 'log').keyId.toString('hex')).toBe('033de0ae');
    for (const wrong of [
      text.replace('033de0ae', '033de0af'),
      text.replace('sum.', ''),
      text.replace('Ac4', 'Bc4'),
      text.slice(0, -4),
      'a b+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8',
      WITNESS.verifier.vkey,
      '',
    ])
      expect(() => parseVkey(wrong, 'key', 'log')).toThrow('key: must be the verifier key of a log');
  });

  it('carry several signatures, and ignore those of unknown keys', () => {
    const text = 'a\n\nb\n';
    const other = noteSigner('log.example/assay', newNoteKey(systemRandom));
    const signatures = [LOG.sign(text), other.sign(text), WITNESS.sign(text)];
    const note = parseNote(formatNote({ text, signatures }));
    expect(note.text).toBe(text);
    expect(verifiedSignatures(note, [LOG.verifier, WITNESS.verifier]).map(({ seconds }) => seconds)).toEqual([
      0, 1_679_315_147,
    ]);
    expect(verifiedSignatures(note, [noteSigner('x', newNoteKey(systemRandom)).verifier])).toEqual([]);
  });

  it('bind a cosignature to its time', () => {
    const text = 'a\n';
    const signed = WITNESS.sign(text);
    const moved = Buffer.from(signed.signature);
    moved.writeBigUInt64BE(1_679_315_148n, 0);
    expect(WITNESS.verifier.verify(text, signed.signature)).toBe(1_679_315_147);
    expect(WITNESS.verifier.verify(text, moved)).toBeNull();
    expect(WITNESS.verifier.verify(text, signed.signature.subarray(1))).toBeNull();
    expect(parseVkey(WITNESS.verifier.vkey, 'key', 'witness').verify(text, signed.signature)).toBe(
      1_679_315_147,
    );
  });

  it('bind no cosignature to a time that is not an exact number', () => {
    const signedAt = (seconds: number) => {
      const { sign, verifier } = cosigner('witness.example/w1', newNoteKey(systemRandom), () => seconds);
      return verifier.verify('a\n', sign('a\n').signature);
    };
    expect([0, 2 ** 53 - 1, 2 ** 53, 2 ** 60].map(signedAt)).toEqual([0, 2 ** 53 - 1, null, null]);
  });

  it.each([
    ['no signature', 'a\n'],
    ['an empty list of signatures', 'a\n\n'],
    ['a line that is no signature', 'a\n\n- x AAAAAAA=\n'],
    ['a control character', 'a\tb\n\n— x AAAAAAAA\n'],
    ['no newline at the end', NOTE.slice(0, -1)],
    ['base64 without padding', NOTE.replace('AM=\n', 'AM\n')],
    ['bits beyond the base64 text', NOTE.replace('AM=\n', 'AN=\n')],
    ['a signature of four bytes', 'a\n\n— x AAAAAA==\n'],
    ['a third field', 'a\n\n— x AAAAAAAA y\n'],
    ['a name with a plus', 'a\n\n— x+y AAAAAAAA\n'],
    ['too many signatures', `a\n\n${'— x AAAAAAAA\n'.repeat(33)}`],
    ['too many characters', `${'a'.repeat(100_001)}\n\n— x AAAAAAAA\n`],
  ])('reject a note with %s', (_, text) => {
    expect(() => parseNote(text)).toThrow('note: ');
  });
});

describe('checkpoints', () => {
  it('are read as the specification writes them', () => {
    const { origin, size, root, note } = parseCheckpoint(SOFA);
    expect({ origin, size }).toEqual({ origin: 'example.com/behind-the-sofa', size: 20_852_163 });
    expect(checkpointText(origin, { size, root })).toBe(note.text);
    expect(note.signatures.map(({ name }) => name)).toEqual([
      'example.com/behind-the-sofa',
      'witness.example.com/w1',
    ]);
    // The time in the cosignature of the example, as the specification names it.
    expect(note.signatures[1]?.signature.readBigUInt64BE(0)).toBe(1_679_315_147n);
  });

  it('are verified with the key of their log and those of witnesses', () => {
    const text = checkpointText(LOG.name, { size: 0, root: new MerkleFrontier().root() });
    const signed = formatNote({ text, signatures: [LOG.sign(text), WITNESS.sign(text)] });
    expect(verifyCheckpoint(signed, LOG.verifier, [WITNESS.verifier]).cosignatures).toHaveLength(1);
    expect(verifyCheckpoint(signed, LOG.verifier).cosignatures).toHaveLength(0);
    const unsigned = formatNote({ text, signatures: [WITNESS.sign(text)] });
    expect(() => verifyCheckpoint(unsigned, LOG.verifier)).toThrow('has no signature of the key');
    expect(() => verifyCheckpoint(signed.replace('assay\n0', 'assay\n1'), LOG.verifier)).toThrow('not valid');
    expect(() => verifyCheckpoint(signed, noteSigner('other', newNoteKey(systemRandom)).verifier)).toThrow(
      'is of the log log.example/assay; expected other',
    );
  });

  it('are read with further lines, which say nothing about the log', () => {
    const { size, note } = parseCheckpoint(SOFA.replace('jxq2I=\n', 'jxq2I=\nmore\nand more\n'));
    expect(size).toBe(20_852_163);
    expect(note.text.endsWith('jxq2I=\nmore\nand more\n')).toBe(true);
  });

  it.each([
    ['a size with a leading zero', SOFA.replace('\n2085', '\n02085')],
    ['a negative size', SOFA.replace('\n2085', '\n-2085')],
    ['a size beyond 2^48', SOFA.replace('\n20852163', '\n281474976710657')],
    ['a short root', SOFA.replace('CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=', 'CsUYag==')],
    ['no origin', SOFA.replace('example.com/behind-the-sofa\n', '\n')],
    ['an empty line behind the root', SOFA.replace('jxq2I=\n', 'jxq2I=\n\nmore\n')],
    ['no root', SOFA.replace('\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=', '')],
  ])('reject %s', (_, text) => {
    expect(() => parseCheckpoint(text)).toThrow('checkpoint: ');
  });
});

describe('tiles', () => {
  it('have the paths of the specification', () => {
    expect(tilePath({ level: 0, index: 1_234_067, width: 256 })).toBe('tile/0/x001/x234/067');
    expect(tilePath({ level: 'entries', index: 0, width: 7 })).toBe('tile/entries/000.p/7');
    fc.assert(
      fc.property(
        fc.constantFrom('entries' as const, 0, 1, 6, 63),
        fc.nat(2 ** 40),
        fc.integer({ min: 1, max: 256 }),
        (level, index, width) => {
          expect(parseTilePath(tilePath({ level, index, width }))).toEqual({ level, index, width });
        },
      ),
    );
  });

  it.each([
    'tile/0/0',
    'tile/0/1234',
    'tile/0/x000/001',
    'tile/00/000',
    'tile/64/000',
    'tile/-1/000',
    'tile/0/000.p/0',
    'tile/0/000.p/256',
    'tile/0/000.p/01',
    'tile/0/000.p/',
    'tile/0/x001',
    'tile/0/001/002',
    'tile/0/../000',
    'tile/0/000/',
    '/tile/0/000',
    'tile/data/000',
    'tile/0/０００',
  ])('has no tile %s', (path) => {
    expect(parseTilePath(path)).toBeNull();
  });

  it('of a log of 70,000 entries are those of the specification', () => {
    const tiles = [...tilesBetween(0, 70_000)];
    const count = (level: TileName['level'], isFull: boolean): number =>
      tiles.filter((tile) => tile.level === level && (tile.width === 256) === isFull).length;
    expect(count(0, true)).toBe(273);
    expect(tiles.filter(({ width }) => width < 256)).toEqual([
      { level: 'entries', index: 273, width: 112 },
      { level: 0, index: 273, width: 112 },
      { level: 1, index: 1, width: 17 },
      { level: 2, index: 0, width: 1 },
    ]);
    expect(count(1, true)).toBe(1);
    expect([...tilesBetween(0, 256)]).toEqual([
      { level: 'entries', index: 0, width: 256 },
      { level: 0, index: 0, width: 256 },
      { level: 1, index: 0, width: 1 },
    ]);
    expect([...tilesBetween(70_000, 70_000)]).toEqual([]);
    expect([...tilesBetween(255, 256)].map(tilePath)).toEqual([
      'tile/entries/000',
      'tile/0/000',
      'tile/1/000.p/1',
    ]);
  });

  it('hold the hashes of every root and every proof', async () => {
    const size = 66_000;
    const leaves = Array.from({ length: size }, (_, index) => leafHash(Buffer.from(`${index}`)));
    const tiles = new Map<string, Buffer[]>();
    const frontier = new MerkleFrontier();
    for (const leaf of leaves)
      frontier.append(leaf, ({ level, index }, hash) => {
        if (level % 8 !== 0) return;
        const key = `${level / 8}/${Math.floor(index / 256)}`;
        tiles.set(key, [...(tiles.get(key) ?? []), hash]);
      });
    const tree = new TileTree(size, async ({ level, index, width }) =>
      Buffer.concat((tiles.get(`${level}/${index}`) ?? []).slice(0, width)),
    );
    expect(await tree.root()).toEqual(frontier.root());
    const small = new MerkleFrontier();
    for (const leaf of leaves.slice(0, 777)) small.append(leaf);
    expect(await tree.root(777)).toEqual(small.root());
    const broken = new TileTree(size, async () => Buffer.alloc(32));
    await expect(broken.root()).rejects.toThrow('has fewer hashes than the size of the log needs');
  });

  it('bundle entries with their lengths', () => {
    const hashes = Buffer.alloc(96, 7);
    expect(bundleOf(hashes)).toHaveLength(3 * 34);
    expect(leavesOfBundle(bundleOf(hashes))).toEqual(Array(3).fill(leafHash(Buffer.alloc(32, 7))));
    expect(() => leavesOfBundle(bundleOf(hashes).subarray(0, 50))).toThrow('ends within an entry');
    expect(() => leavesOfBundle(Buffer.of(0))).toThrow('ends within an entry');
  });
});

describe('proofs', () => {
  const entries = Array.from({ length: 11 }, (_, index) => Buffer.alloc(32, index));
  const leaves = entries.map(leafHash);
  const rootOf = (start: number, end: number): Buffer =>
    combine(
      subtreesOf(start, end).map(({ level, index }) => {
        const part = new MerkleFrontier();
        for (const leaf of leaves.slice(index * 2 ** level, (index + 1) * 2 ** level)) part.append(leaf);
        return part.root();
      }),
    );
  const text = checkpointText(LOG.name, { size: 11, root: rootOf(0, 11) });
  const checkpoint = formatNote({ text, signatures: [LOG.sign(text), WITNESS.sign(text)] });
  const proofOf = (index: number, extra: Buffer | null = null): string =>
    formatProof({
      index,
      hashes: inclusionParts(index, 11).map((nodes) =>
        combine(nodes.map(({ level, index: at }) => rootOf(at * 2 ** level, (at + 1) * 2 ** level))),
      ),
      checkpoint,
      extra,
    });

  it('show each entry offline, and no other', () => {
    for (const [index, entry] of entries.entries()) {
      expect(verifyProof(proofOf(index), entry, LOG.verifier, [WITNESS.verifier])).toMatchObject({
        size: 11,
        cosignatures: [{ seconds: 1_679_315_147 }],
      });
      expect(() => verifyProof(proofOf((index + 1) % 11), entry, LOG.verifier)).toThrow('does not show');
    }
  });

  it('are written as the specification describes', () => {
    const lines = proofOf(9, Buffer.from('more')).split('\n');
    expect(lines.slice(0, 3)).toEqual(['c2sp.org/tlog-proof@v1', 'extra bW9yZQ==', 'index 9']);
    expect(lines.slice(3, 6).every((line) => /^[A-Za-z0-9+/]{43}=$/.test(line))).toBe(true);
    expect(lines.slice(6, 9)).toEqual(['', LOG.name, '11']);
    expect(parseProof(proofOf(9, Buffer.from('more')))).toMatchObject({
      index: 9,
      extra: Buffer.from('more'),
    });
  });

  it.each([
    ['another first line', proofOf(3).replace('@v1', '@v2')],
    ['no index', proofOf(3).replace('index 3\n', '')],
    ['another word for the index', proofOf(3).replace('index 3', 'place 3')],
    ['an index with a leading zero', proofOf(3).replace('index 3', 'index 03')],
    ['a hash of another length', proofOf(3).replace(/\n[^\n]{44}\n/, '\nAAAA\n')],
    ['too many hashes', proofOf(3).replace('index 3\n', `index 3\n${`${'A'.repeat(43)}=\n`.repeat(64)}`)],
    ['no checkpoint', proofOf(3).slice(0, proofOf(3).indexOf('\n\n') + 2)],
    ['nothing', ''],
  ])('reject %s', (_, proof) => {
    expect(() => verifyProof(proof, entries[3] as Buffer, LOG.verifier)).toThrow();
  });

  it('are read up to their maximum of characters', () => {
    const { proofBytesMax } = LOG_LIMITS;
    expect(() => parseProof('x'.repeat(proofBytesMax))).toThrow('the first line must be');
    expect(() => parseProof('x'.repeat(proofBytesMax + 1))).toThrow(
      `is longer than ${proofBytesMax} characters`,
    );
  });
});
