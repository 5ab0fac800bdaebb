/** Parts of the label index on their own: the filter, the cache of templates, the checksum and the profile. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { buildFilter, passesFilter, slotPlace, slotSecond } from '../../../src/labels/index/filter.ts';
import { FORMAT_VERSION, snapshotChecksum, TEMPLATE_WORDS } from '../../../src/labels/index/format.ts';
import { createProfiler } from '../../../src/labels/index/label-profile.ts';
import { SLOT_WORDS } from '../../../src/labels/index/slot.ts';
import { TemplateDecoder } from '../../../src/labels/index/template-decoder.ts';
import { encodeTemplates } from '../../../src/labels/index/template-table.ts';
import { SCOPES, templateToText } from '../../../src/labels/index/template-text.ts';
import { CATEGORIES } from '../../../src/labels/taxonomy.ts';
import { key, template } from './world.ts';

describe('the filter before the index', () => {
  it('passes every slot that it was built from, also a first slot of zeros and repeated slots', () => {
    const slots = 9;
    const records = new Int32Array(slots * SLOT_WORDS);
    // Slots 1 to 4 are 0, 1, 1, 2 and so on: slot 0 has only zeros.
    for (let slot = 1; slot < slots; slot++) records[slot * SLOT_WORDS] = slot >> 1;
    const { bytes, shape } = buildFilter(records, SLOT_WORDS, slots);
    expect(shape.bytes).toBeGreaterThan(0);
    for (let slot = 0; slot < slots; slot++) {
      const at = slot * SLOT_WORDS;
      expect(passesFilter(bytes, shape, slotPlace(records, at), slotSecond(records, at))).toBe(true);
    }
    let passed = 0;
    const other = new Int32Array(SLOT_WORDS);
    for (let number = 100; number < 1_100; number++) {
      other[0] = number;
      if (passesFilter(bytes, shape, slotPlace(other, 0), slotSecond(other, 0))) passed++;
    }
    expect(passed).toBeLessThan(100);
  });
});

describe('the cache of templates', () => {
  it('gives the place of a template to a competitor only if it was not used meanwhile', () => {
    const encoded = encodeTemplates(['A', 'B'].map((name) => templateToText(template(name))));
    const { bytes, sharedAt, sourceIds } = encoded;
    const layout = { sharedAt, sourceIds, scopes: SCOPES, categories: CATEGORIES };
    const decoder = new TemplateDecoder(bytes, layout, 1);
    decoder.template(0);
    const cached = decoder.template(0);
    expect(decoder.template(0)).toBe(cached);
    // It was used since the competitor appeared: it stays once, and then not again.
    decoder.template(1);
    expect(decoder.template(1)).not.toBe(decoder.template(1));
  });
});

describe('packed templates', () => {
  it('begin their bodies behind all fragments, each at the start of a cache line', () => {
    // LMDB stores the value 24 bytes behind the start of a page.
    const valueAt = 24;
    const names = ['A', 'B', 'C'.repeat(200), 'D'];
    const { table } = encodeTemplates(names.map((name) => templateToText(template(name))));
    const at = (word: number): number[] =>
      names.map((_, id) => (table[id * TEMPLATE_WORDS + word] as number) * 8);
    const [fragments, bodies] = [at(0), at(1)];
    expect(Math.min(...bodies)).toBeGreaterThan(Math.max(...fragments));
    expect(bodies.map((body) => (body + valueAt) % 64)).toEqual(names.map(() => 0));
  });
});

describe('the checksum of a snapshot', () => {
  it('is that of its values alone if no entity has a designation, as in earlier releases', () => {
    const sha256 = { records: 'a', lookup: 'b', texts: 'c' };
    const plain = createHash('sha256').update(`${FORMAT_VERSION} a b c`).digest('hex');
    expect(snapshotChecksum(sha256, [])).toBe(plain);
    expect(snapshotChecksum(sha256, [{} as never])).not.toBe(plain);
  });
});

describe('the profile of labels', () => {
  it('counts the labels with a first and with a last date', () => {
    const profiler = createProfiler();
    profiler.add(key(1), 'ETH', template('A'), true, false);
    profiler.add(key(2), 'ETH', template('A'), true, true);
    profiler.add(key(3), 'ETH', template('A'), false, false);
    expect(profiler.profile()).toMatchObject({
      labels: 3,
      addresses: 3,
      strata: [{ withFirstSeen: 0.6667, withLastSeen: 0.3333 }],
    });
  });

  it('counts the labels whose entity has a web address and a country', () => {
    const profiler = createProfiler();
    const { entity } = template('A');
    profiler.add(
      key(1),
      'ETH',
      template('A', { entity: { ...entity, url: 'https://a.example' } }),
      true,
      true,
    );
    for (const number of [2, 3, 4])
      profiler.add(
        key(number),
        'ETH',
        template('A', { entity: { ...entity, jurisdiction: null } }),
        true,
        true,
      );
    expect(profiler.profile()).toMatchObject({ strata: [{ withUrl: 0.25, withJurisdiction: 0.25 }] });
  });
});
