import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { extract, pack as tarPack } from 'tar-stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { parseItem, parseItemWithYaml, parsePlainItem } from '../../../src/sources/graphsense/pack.ts';
import { graphsenseReader } from '../../../src/sources/graphsense/read.ts';
import type { AttributedAddress, FileHeader, Reject } from '../../../src/sources/records.ts';
import { describeWithSharedData, sharedData } from '../../setup/shared-data.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-graphsense-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const file = (name: string, content: string | Uint8Array): string => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};

interface Read {
  readonly tags: AttributedAddress[];
  readonly rejects: Reject[];
  readonly headers: FileHeader[];
}

async function read(...paths: string[]): Promise<Read> {
  const result: Read = { tags: [], rejects: [], headers: [] };
  for await (const record of graphsenseReader(paths)) {
    if (record.type === 'address') result.tags.push(record);
    else if (record.type === 'reject') result.rejects.push(record);
    else if (record.type === 'header') result.headers.push(record);
  }
  return result;
}

async function archive(entries: Readonly<Record<string, string>>): Promise<Buffer> {
  const tar = tarPack();
  for (const [name, content] of Object.entries(entries)) tar.entry({ name }, content);
  tar.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of tar) chunks.push(chunk as Buffer);
  return gzipSync(Buffer.concat(chunks));
}

const PACK = `title: A pack
creator: Somebody
lastmod: 2021-11-12
source: https://example.org/list#top
label: The label
currency: BTC
category: exchange
confidence: web_crawl
actor: nobody
tags:
- address: 1Archive1n2C579dMsAu3iC6tWzuQJz8dN
# a comment between tags
- address: '0x0000000000000000000000000000000000000000'
  currency: ETH 
  abuse: phishing
  label: "Own: label"
  lastmod: 2023-08-16 12:18:52.619444
  source: https://example.org/other
  actor: binance
  concepts:
  - one
  - two
`;

const ACTORS = `%YAML 1.1
---
title: Actors
actors:
- id: binance
  label: Binance
  uri: binance.com
  categories: [exchange, service]
  jurisdictions:
  - MT
  - SC
  context:
    refs:
    - somewhere
- id: '01'
  label: Zero One
`;

describe('a TagPack', () => {
  it('passes its defaults to its tags, and a tag overrides them', async () => {
    const { tags, rejects, headers } = await read(file('pack.yaml', PACK));
    expect(rejects).toEqual([]);
    expect(headers).toEqual([
      { type: 'header', lists: [], publishedAt: '2021-11-12', layout: 'TAGPACK_YAML' },
    ]);
    expect(tags).toEqual([
      {
        type: 'address',
        address: '1Archive1n2C579dMsAu3iC6tWzuQJz8dN',
        currency: 'BTC',
        actorId: 'nobody',
        actorName: 'The label',
        concepts: ['exchange'],
        tags: [],
        confidence: 'web_crawl',
        jurisdiction: null,
        url: null,
        firstSeen: null,
        lastSeen: '2021-11-12',
        isContract: null,
        verified: true,
        sourceUrl: 'https://example.org/list#top',
        provenance: { file: 'pack.yaml', line: 11 },
      },
      expect.objectContaining({
        address: '0x0000000000000000000000000000000000000000',
        currency: 'ETH',
        actorId: 'binance',
        actorName: 'Own: label',
        concepts: ['phishing', 'one', 'two', 'exchange'],
        lastSeen: '2023-08-16',
        sourceUrl: 'https://example.org/other',
        provenance: { file: 'pack.yaml', line: 13 },
      }),
    ]);
  });

  it('is joined with the actors, wherever they are in the archive', async () => {
    const path = file(
      'packs.tar.gz',
      await archive({
        'repo-abc/packs/sub/pack.yaml': PACK,
        'repo-abc/actors/actors.yaml': ACTORS,
        'repo-abc/README.md': '# not a pack',
        'repo-abc/.github/workflows/check.yml': 'on: push\n',
      }),
    );
    const { tags, rejects, headers } = await read(path);
    expect(rejects).toEqual([]);
    expect(headers[0]?.layout).toBe('TAGPACK_TAR');
    expect(tags[1]).toMatchObject({
      actorId: 'binance',
      actorName: 'Binance',
      tags: ['Own: label'],
      concepts: ['phishing', 'one', 'two', 'exchange', 'service'],
      jurisdiction: 'MT',
      url: 'binance.com',
    });
    expect(await read(file('a.yaml', ACTORS), file('p.yaml', PACK))).toMatchObject({
      tags: [{}, { actorName: 'Binance' }],
    });
  });

  it.each([
    ['indented', 'tags:\n  - address: a1\n    label: x\n  - address: a2\n    label: y\ncurrency: LTC\n'],
    [
      'with defaults behind the tags',
      'tags:\n- address: a1\n  label: x\n- address: a2\n  label: y\ncurrency: LTC\n',
    ],
    ['in flow style', 'currency: LTC\ntags: [{address: a1, label: x}, {address: a2, label: y}]\n'],
    [
      'as JSON',
      '{"currency": "LTC", "tags": [{"address": "a1", "label": "x"},\n{"address": "a2", "label": "y"}]}',
    ],
    [
      'with items in flow style',
      'currency: LTC\ntags:\n- {address: a1, label: x}\n- {address: a2, label: y}\n',
    ],
    [
      'with Windows line ends',
      'currency: LTC\r\ntags:\r\n- address: a1\r\n  label: x\r\n- address: a2\r\n  label: y\r\n',
    ],
    [
      'with comments and space',
      '# c\ncurrency: LTC # c\n\ntags: # c\n# c\n\n- address: a1 # c\n\n  label: x\n\n-\n  address: a2\n  label: y',
    ],
  ])('%s reads the same', async (_, text) => {
    const { tags, rejects } = await read(file('pack.yaml', text));
    expect(rejects).toEqual([]);
    expect(tags.map(({ address, actorName, currency }) => [address, actorName, currency])).toEqual([
      ['a1', 'x', 'LTC'],
      ['a2', 'y', 'LTC'],
    ]);
  });

  it('keeps addresses and labels that look like numbers or booleans as printed', async () => {
    const text =
      'currency: ETH\ntags:\n- address: 0x00e01A648Ff41346CDeB873182383333D2184dd1\n  label: no\n- address: 007\n  label: 1e3\n';
    const { tags } = await read(file('pack.yaml', text));
    expect(tags.map(({ address, actorName }) => [address, actorName])).toEqual([
      ['0x00e01A648Ff41346CDeB873182383333D2184dd1', 'no'],
      ['007', '1e3'],
    ]);
  });

  it('loses only the invalid tag, and reports its line and the reason', async () => {
    const text = [
      'currency: BTC',
      'tags:',
      '- address: good1',
      '  label: x',
      '- label: no address',
      '- address: nameless',
      '- address: "open',
      '  label: x',
      '- just text',
      '- address: good2',
      '  label: *anchor',
      '- address: good3',
      '  label: z',
      `- address: long`,
      `  label: ${'x'.repeat(70_000)}`,
      '- address: good4',
      '  label: w',
    ].join('\n');
    const { tags, rejects } = await read(file('pack.yaml', text));
    expect(tags.map(({ address }) => address)).toEqual(['good1', 'good3', 'good4']);
    expect(rejects.map(({ provenance }) => provenance.line)).toEqual([5, 6, 7, 9, 10, 14]);
    expect(rejects[0]?.reason).toBe('address: the tag has none.');
    expect(rejects[5]?.reason).toMatch(/longer than/);
    expect(rejects.every(({ text: shown }) => shown.length <= 500)).toBe(true);
  });

  it('with a damaged header loses its tags, and is reported', async () => {
    const { tags, rejects } = await read(file('pack.yaml', 'label: "open\ntags:\n- address: a1\n'));
    expect(tags).toEqual([]);
    expect(rejects).toHaveLength(1);
    expect(rejects[0]?.reason).toMatch(/^The head of the pack is broken/);
  });

  it('that is another document is rejected', async () => {
    const { rejects } = await read(file('x.yaml', 'name: something\n'));
    expect(rejects[0]?.reason).toBe('The file has no tags and no actors.');
  });

  it('does not unfold an alias bomb', async () => {
    const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]'];
    for (let at = 1; at < 9; at++)
      lines.push(
        `a${at}: &a${at} [${Array(10)
          .fill(`*a${at - 1}`)
          .join(', ')}]`,
      );
    const { rejects } = await read(file('bomb.yaml', `${lines.join('\n')}\ntags:\n- address: a1\n`));
    expect(rejects[0]?.reason).toMatch(/alias/i);
  });
});

describe('an archive', () => {
  it('that is truncated or damaged is rejected by name', async () => {
    const whole = await archive({ 'packs/pack.yaml': PACK.repeat(1) + '- address: more\n'.repeat(20_000) });
    await expect(read(file('cut.tar.gz', whole.subarray(0, whole.length / 2)))).rejects.toMatchObject({
      code: 'INVALID_FILE',
      message: expect.stringContaining('cut.tar.gz'),
    });
    const tar = gunzipSync(whole);
    await expect(read(file('cut.tar', tar.subarray(0, 100_000)))).rejects.toMatchObject({
      code: 'INVALID_FILE',
    });
  });

  it('with invalid text is rejected, naming the pack', async () => {
    const path = file('bad.yaml', Buffer.from([0x74, 0x3a, 0x20, 0xff, 0xfe, 0x0a]));
    await expect(read(path)).rejects.toMatchObject({
      code: 'INVALID_FILE',
      message: expect.stringContaining('bad.yaml'),
    });
  });
});

describe('the fast reader of an item', () => {
  const key = fc.constantFrom('address', 'label', 'source', 'currency', 'is_cluster_definer');
  const value = fc.oneof(
    fc.string(),
    fc.string({ unit: 'binary-ascii' }),
    fc.stringMatching(/^[A-Za-z0-9'"#:&*!|>%@` ,[\]{}\\.-]{0,12}$/),
    fc.constantFrom(
      'null',
      '~',
      'true',
      '0x10',
      "it's",
      'a: b',
      'a #b',
      'a:',
      '- a',
      '? a',
      '*a',
      '&a b',
      "''",
      '""',
    ),
  );

  it('agrees with the yaml library on every item that it accepts', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(key, value), { minLength: 1, maxLength: 4 }),
        fc.constantFrom(0, 2),
        (pairs, indent) => {
          const text = pairs
            .map(([name, content], at) => `${' '.repeat(indent)}${at === 0 ? '- ' : '  '}${name}: ${content}`)
            .join('\n');
          const plain = parsePlainItem(text);
          if (plain !== null) expect(plain).toEqual(parseItemWithYaml(text));
        },
      ),
      { numRuns: 5_000 },
    );
  });

  it('reads everything that the yaml library writes', () => {
    fc.assert(
      fc.property(fc.dictionary(key, fc.string(), { minKeys: 1 }), (item) => {
        const written = stringify([item], { schema: 'failsafe' }).trimEnd();
        expect(parseItem(written)).toEqual({ ...item });
      }),
      { numRuns: 2_000 },
    );
  });

  it('reads the lines that packs consist of', () => {
    expect(
      parsePlainItem(
        '- address: \'0xAb\'\n  label: Huobi.com\n  source: https://a.b/c?d=e&f#g \n  actor: "x y"',
      ),
    ).toEqual({
      address: '0xAb',
      label: 'Huobi.com',
      source: 'https://a.b/c?d=e&f#g',
      actor: 'x y',
    });
  });
});

// What they contain: test/labels/tagpacks.test.ts.
describeWithSharedData('the published TagPacks', () => {
  const path = sharedData('graphsense', 'graphsense-tagpacks.tar.gz');

  it('are read the same by the fast reader and by the yaml library, tag by tag', async () => {
    const unpack = extract();
    unpack.end(gunzipSync(readFileSync(path)));
    let plain = 0;
    let compared = 0;
    for await (const entry of unpack) {
      const chunks: Buffer[] = [];
      for await (const chunk of entry) chunks.push(chunk as Buffer);
      if (!entry.header.name.endsWith('.yaml')) continue;
      const text = Buffer.concat(chunks).toString('utf8');
      // Every item of the small packs, the first 300 of the large ones.
      const items = text.split(/\n(?= *- (?:address|label):)/).slice(1, 300);
      for (const item of items) {
        const read = parsePlainItem(item.trimEnd());
        if (read === null) continue;
        plain++;
        expect(read).toEqual(parseItemWithYaml(item.trimEnd()));
      }
      compared += items.length;
    }
    expect(plain).toBeGreaterThan(4_000);
    expect(plain).toBeLessThanOrEqual(compared);
  });
});
