import fc from 'fast-check';
import { expect, it } from 'vitest';
import { EVIDENCE_CLASSES } from '../../src/labels/evidence-class.ts';
import type { Label } from '../../src/labels/label.ts';
import { CATEGORIES, THREAT_LEVELS } from '../../src/labels/taxonomy.ts';
import { summaryOf } from '../../src/screening/attribution.ts';
import { NO_EXPOSURE } from '../../src/screening/exposure-port.ts';
import { JudgementShapes } from '../../src/screening/judgement-shapes.ts';
import { judge } from '../../src/screening/oracle.ts';
import { policy } from './world.ts';

const anyName = fc.oneof(fc.string(), fc.string({ unit: 'binary', maxLength: 200 }), fc.constant(''));

const anyLone: fc.Arbitrary<Label> = fc
  .record({
    name: anyName,
    category: fc.constantFrom(...CATEGORIES),
    threatLevel: fc.constantFrom(...THREAT_LEVELS),
    class: fc.constantFrom(...EVIDENCE_CLASSES),
    source: fc.constantFrom('seed', 'graphsense', 'nobody'),
    sourceUrl: fc.constantFrom(null, 'https://ransomwhe.re/', 'https://example.org/'),
    confidence: fc.constantFrom(0, 0.3, 0.7, 0.8, 0.95, 1),
    verified: fc.boolean(),
  })
  .map(({ name, ...fields }) => ({
    ...fields,
    entity: { id: 'x', name, category: fields.category, jurisdiction: null, url: null },
    scope: 'BTC',
    tags: [],
    sanctions: [],
    synthetic: false,
    firstSeen: null,
    lastSeen: null,
  }));

const render = (label: Label): string => {
  const view = { verdict: NO_EXPOSURE, isSeen: false, notRead: null };
  const judgement = judge([label], { staleReason: null }, view, policy);
  return `${JSON.stringify(judgement).slice(1, -1)},"entity":${JSON.stringify(summaryOf(label))}`;
};

it('writes of every label what a judgement of that label alone says', () => {
  const shapes = new JudgementShapes(render);
  const out = Buffer.alloc(8192);
  fc.assert(
    fc.property(anyLone, fc.nat(20), (label, offset) => {
      const end = shapes.write(label, out, offset);
      expect(out.toString('utf8', offset, end)).toBe(Buffer.from(render(label)).toString());
    }),
    { numRuns: 5000 },
  );
});

it('renders labels that differ in nothing but the name once', () => {
  let rendered = 0;
  const shapes = new JudgementShapes((label) => {
    rendered++;
    return render(label);
  });
  const [label] = fc.sample(anyLone, 1) as [Label];
  const out = Buffer.alloc(8192);
  for (const name of ['A', 'B', '"']) shapes.write({ ...label, entity: { ...label.entity, name } }, out, 0);
  expect(rendered).toBe(1);
});

it('reports insufficient space', () => {
  const [label] = fc.sample(anyLone, 1) as [Label];
  const shapes = new JudgementShapes(render);
  const length = shapes.write(label, Buffer.alloc(8192), 0);
  for (let size = 0; size < length; size += 7) expect(shapes.write(label, Buffer.alloc(size), 0)).toBe(-1);
});
