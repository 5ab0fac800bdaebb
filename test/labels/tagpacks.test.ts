/** The published TagPacks of GraphSense. All of it by one reading, which takes ten seconds of processor time. */
import { beforeAll, expect, it } from 'vitest';
import { type LabelProfile, summarise } from '../../src/labels/index/label-profile.ts';
import { loadSynthProfile } from '../../src/labels/index/synth.ts';
import { createMapper, loadRulebook } from '../../src/labels/map.ts';
import { profileTagPacks } from '../../src/labels/tagpack-profile.ts';
import { graphsenseReader } from '../../src/sources/graphsense/read.ts';
import type { FileHeader, SourceRecord } from '../../src/sources/records.ts';
import { describeWithSharedData, sharedData } from '../setup/shared-data.ts';
import { expectWithinAFifth } from './index/near-profile.ts';
import { collectUnknown, NOTHING } from './unknown-words.ts';

describeWithSharedData('the published TagPacks', () => {
  const addresses = new Set<string>();
  const packs = new Map<string, number>();
  const actors = new Set<string>();
  const headers: FileHeader[] = [];
  let tags = 0;
  let joined = 0;
  let zeros = 0;
  let others = 0;
  const mapper = createMapper(loadRulebook());
  /** Addresses printed for Bitcoin that are none, and zero addresses that would be labels. */
  const invalid = new Set<string>();
  const labelled = new Set<string>();
  const unknown = collectUnknown('graphsense');
  let profile: LabelProfile;

  function count(record: SourceRecord): void {
    if (record.type === 'header') headers.push(record);
    else if (record.type === 'address') {
      tags++;
      addresses.add(`${record.currency} ${record.address}`);
      packs.set(record.provenance.file, (packs.get(record.provenance.file) ?? 0) + 1);
      if (record.actorId !== null) actors.add(record.actorId);
      if (record.url !== null) joined++;
      const isZero = /^0x0{40}$/.test(record.address);
      if (isZero) zeros++;
      if (isZero && mapper.map('graphsense', record).ok) labelled.add(record.provenance.file);
      if (record.currency === 'BTC' && !mapper.resolve(record.address, 'BTC', true).ok)
        invalid.add(record.address);
    } else others++;
  }
  async function* counted(): AsyncGenerator<SourceRecord> {
    for await (const record of graphsenseReader([sharedData('graphsense', 'graphsense-tagpacks.tar.gz')])) {
      count(record);
      unknown.take(record);
      yield record;
    }
  }
  beforeAll(async () => {
    profile = await profileTagPacks(counted());
  });

  it('have 524,170 tags of 502,286 addresses, and none is lost', () => {
    expect(headers).toEqual([
      { type: 'header', lists: [], publishedAt: '2024-02-26', layout: 'TAGPACK_TAR' },
    ]);
    expect({ tags, addresses: addresses.size, packs: packs.size, others }).toEqual({
      tags: 524_170,
      // 502,287 as printed: one of them is also printed with a space after it.
      addresses: 502_286,
      packs: 86,
      others: 0,
    });
    // Passed on as printed: the importer decides later that it is not a label.
    expect(zeros).toBeGreaterThan(0);
    expect(packs.get('usdt_blacklist.yaml')).toBe(774);
    expect(actors.size).toBeGreaterThan(200);
    expect(joined).toBeGreaterThan(100_000);
  });

  it('have nine addresses of Bitcoin that are not valid, and the zero address; none of them is a label', () => {
    expect([...invalid].sort()).toEqual([
      '14bwh6gmvol5ntwbvxqjkjdtzv4y5ebtvm',
      '1AzdzwWHaJXytimxenzi45JVtY4FsXwLZ',
      '1GL9JtXPRTPetxgiJ8UcgrEECp12spD4t',
      '1MFgcyJ7ZNSknbTBRaih6zWDE6V1A64tRYs',
      '1MJzarWdCR8dXGt6vpK62f7MxcWYcVynM',
      '1MK4uue11JnVxjUQhq19KNSpAuyaFqBwM',
      '1Mn386ue8o3mW9866octLNP8HFqcYsphJCV',
      '3CD19JE8F4C48L43E3A5TH8XD45JLRXUL',
      '3daa7ab7451f4215c9fe53c6c739e8e534',
    ]);
    expect([...labelled]).toEqual([]);
  });

  it('have no word, currency or confidence that is unknown', () => {
    expect(unknown.found()).toMatchObject({ ...NOTHING, records: tags });
  });

  it('have the profile that ships', () => {
    expect(profile.labels).toBeGreaterThan(500_000);
    expectWithinAFifth(summarise(loadSynthProfile()), summarise(profile));
  });
});
