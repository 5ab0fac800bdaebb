import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { shippedData } from '../../src/base/paths.ts';
import { EVIDENCE_CLASSES } from '../../src/labels/evidence-class.ts';
import { classOfLabel } from '../../src/labels/label-class.ts';
import { loadSourceTable } from '../../src/labels/source-table.ts';
import { sanction } from './index/world.ts';

const sources = loadSourceTable();

describe('the source table', () => {
  it('gives every source a class and an independence group', () => {
    for (const { id, class: evidence, independenceGroup } of sources.rows) {
      expect(EVIDENCE_CLASSES, id).toContain(evidence);
      expect(independenceGroup, id).not.toBe('');
    }
    for (const id of ['ofac', 'un', 'eu', 'uk', 'ch']) expect(sources.classOf(id)).toBe('list');
    for (const id of [
      'cluster',
      'deposits',
      'factories',
      'creators',
      'proxies',
      'freezes',
      'validators',
      'coinbases',
    ])
      expect(sources.classOf(id), id).toBe('structural');
    expect(sources.classOf('a source that nobody described')).toBe('inferred');
  });

  it('counts a collection as the publisher that it repeats', () => {
    const group = (source: string, url: string | null): string => sources.groupOf(source, url);
    expect(group('graphsense', null)).toBe('graphsense');
    expect(group('graphsense', 'https://ransomwhe.re/')).toBe('crowd');
    expect(group('seed', 'https://www.ransomwhe.re')).toBe('crowd');
    expect(group('graphsense', 'https://zenodo.org/record/1238041#.XLQwopMzZR4')).toBe('crowd');
    expect(group('seed', 'https://etherscan.io/address/0x00')).toBe(group('scams', null));
    expect(group('graphsense', 'https://reddit.community/r/x')).not.toBe('crowd');
    expect(group('graphsense', 'https://zenodo.org/record/12380419')).not.toBe('crowd');
  });

  it('counts a page that two collections cite as one publisher, and two publishers as two', () => {
    const group = (source: string, url: string): string => sources.groupOf(source, url);
    const fbi = 'https://www.fbi.gov/news/press-releases/one';
    expect(group('seed', fbi)).toBe(group('graphsense', 'http://fbi.gov/news/another#top'));
    expect(group('seed', fbi)).not.toBe(group('graphsense', 'https://blog.malwarebytes.com/2019/'));
    const gist = 'https://gist.github.com/MrChrisJ/4a959a51a0d2be356cc2e89566fc1d87';
    expect(group('seed', gist)).toBe(group('graphsense', `${gist}/`));
    expect(group('seed', gist)).not.toBe(group('seed', 'https://gist.github.com/somebody/else'));
    expect(group('own', fbi)).toBe('own');
    expect(group('graphsense', 'https://github.com/MatteoRomiti/Sextortion_Spam_Bitcoin')).toBe(
      group('graphsense', 'https://blog.talosintelligence.com/2018/10/anatomy-of-sextortion-scam.html'),
    );
  });

  it('limits all crowd-sourced collections together to a confidence of 0.7', () => {
    expect(sources.groupConfidenceMax('crowd')).toBe(0.7);
    expect(sources.groupConfidenceMax('graphsense')).toBe(1);
  });

  it('is rejected with the invalid row and field', () => {
    const folder = mkdtempSync(join(tmpdir(), 'assay-sources-'));
    try {
      const path = join(folder, 'sources.json');
      const text = readFileSync(shippedData('sources.json'), 'utf8');
      writeFileSync(path, text.replace('"class": "structural"', '"class": "certain"'));
      expect(() => loadSourceTable(path)).toThrow(/class of cluster/);
      writeFileSync(path, text.replace(/"independenceGroup": "mempool"/, '"independenceGroup": ""'));
      expect(() => loadSourceTable(path)).toThrow(/independenceGroup of pools/);
      writeFileSync(path, text.replace(/"precision": [0-9.]+/, '"precision": null'));
      expect(() => loadSourceTable(path)).toThrow(/must say in notMeasured why a rate is null/);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('accepts a maximum confidence above 0 and up to 1', () => {
    const folder = mkdtempSync(join(tmpdir(), 'assay-sources-'));
    try {
      const path = join(folder, 'sources.json');
      const file = JSON.parse(readFileSync(shippedData('sources.json'), 'utf8')) as object;
      const load = (confidenceMax: unknown) => {
        writeFileSync(path, JSON.stringify({ ...file, independenceGroups: { crowd: { confidenceMax } } }));
        return loadSourceTable(path).groupConfidenceMax('crowd');
      };
      expect([0.01, 1].map(load)).toEqual([0.01, 1]);
      for (const wrong of [0, -0.1, 1.01, '', null, undefined])
        expect(() => load(wrong), `${wrong}`).toThrow('confidenceMax of crowd must be above 0, at most 1.');
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe('the class of a label', () => {
  it('is list if a list names the address itself, from any source', () => {
    expect(classOfLabel({ source: 'seed', sanctions: [sanction] })).toBe('list');
    expect(classOfLabel({ source: 'seed', sanctions: [] })).toBe('published');
    expect(classOfLabel({ source: 'cluster', sanctions: [{ ...sanction, matchType: 'CLUSTER' }] })).toBe(
      'structural',
    );
  });
});
