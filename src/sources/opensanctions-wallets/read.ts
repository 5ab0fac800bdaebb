/**
 * Reads the crypto wallets of an OpenSanctions data set: the lines of `entities.ftm.json` with the schema CryptoWallet, and the names of
 * their holders, which are other lines of the same file. Two passes: the first finds the holders.
 */

import { rejectRow } from '../csv.ts';
import { attributed, isMap, type JsonMap, textIn } from '../documents.ts';
import { openLines, partName } from '../open.ts';
import type { SourceReader } from '../records.ts';

/** Topics of FollowTheMoney, as words of data/categories.json. */
const WORDS: readonly (readonly [topic: RegExp, word: string])[] = [
  // A copy of a list: without the list's own file, it is a publisher's word.
  [/^sanction/, 'sanction'],
  [/^crime\.terror/, 'terrorism'],
  [/^crime\.(theft|cyber)/, 'theft'],
  [/^crime\.fraud/, 'fraud'],
  [/^crime/, 'malicious'],
];

const wordOf = (topic: string): string | null => WORDS.find(([pattern]) => pattern.test(topic))?.[1] ?? null;

/** Holders whose names are kept for the join: ten times those of all wallets in 2026. */
const HOLDERS_MAX = 100_000;

const textsOf = (properties: JsonMap, name: string): string[] => {
  const values = properties[name];
  return Array.isArray(values) ? values.flatMap((value) => textIn(value) ?? []) : [];
};

function parse(line: string): { id: string; schema: string; caption: string; properties: JsonMap } | null {
  try {
    const value: unknown = JSON.parse(line);
    if (!isMap(value) || !isMap(value.properties)) return null;
    const [id, schema] = [textIn(value.id), textIn(value.schema)];
    return id === null || schema === null
      ? null
      : { id, schema, caption: textIn(value.caption) ?? id, properties: value.properties };
  } catch {
    return null;
  }
}

/** Yields the wallets, then the header. */
export const openSanctionsWalletsReader: SourceReader = async function* (files) {
  const holders = new Map<string, { name: string; topics: readonly string[] }>();
  const wanted = new Set<string>();
  const isWallet = (line: string): boolean => line.includes('"CryptoWallet"');
  for (const path of files)
    for await (const { text } of openLines(path))
      if (isWallet(text))
        for (const holder of textsOf(parse(text)?.properties ?? {}, 'holder'))
          if (wanted.size < HOLDERS_MAX) wanted.add(holder);
  for (const path of files) {
    for await (const { text } of openLines(path)) {
      const id = /"id":\s*"([^"]+)"/.exec(text.slice(0, 400))?.[1];
      if (id === undefined || !wanted.has(id)) continue;
      const entity = parse(text);
      if (entity !== null)
        holders.set(id, { name: entity.caption, topics: textsOf(entity.properties, 'topics') });
    }
  }
  for (const path of files) {
    const file = partName(path);
    for await (const row of openLines(path)) {
      if (!isWallet(row.text)) continue;
      const wallet = parse(row.text);
      if (wallet === null) {
        yield rejectRow(file, row, 'The line is not an entity in JSON.');
        continue;
      }
      if (wallet.schema !== 'CryptoWallet') continue;
      const keys = textsOf(wallet.properties, 'publicKey');
      const holder = holders.get(textsOf(wallet.properties, 'holder')[0] ?? '');
      const topics = [...textsOf(wallet.properties, 'topics'), ...(holder?.topics ?? [])];
      if (keys.length === 0) yield rejectRow(file, row, 'publicKey: is missing.');
      for (const address of keys)
        yield attributed({
          address,
          currency: textsOf(wallet.properties, 'currency')[0] ?? null,
          actorId:
            holder === undefined
              ? null
              : `opensanctions:${slugOfId(textsOf(wallet.properties, 'holder')[0] ?? '')}`,
          actorName: holder?.name ?? wallet.caption,
          concepts: topics.flatMap((topic) => wordOf(topic) ?? []),
          tags: topics,
          firstSeen: textsOf(wallet.properties, 'createdAt')[0] ?? null,
          sourceUrl: `https://www.opensanctions.org/entities/${encodeURIComponent(wallet.id)}/`,
          provenance: { file, line: row.line },
        });
    }
  }
  yield { type: 'header', lists: [], publishedAt: null, layout: 'OPENSANCTIONS_WALLETS' };
};

const slugOfId = (id: string): string =>
  id
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .slice(0, 48);
