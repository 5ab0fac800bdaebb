/** Evidence for tests of risk scores and decisions, and the shipped policy. */
import { loadTaxonomy } from '../../src/labels/categories.ts';
import type { ExposureEvidence } from '../../src/risk/evidence.ts';
import type { OwnershipEvidence } from '../../src/risk/ownership.ts';
import { loadPolicy } from '../../src/risk/policy.ts';

export const policy = loadPolicy(loadTaxonomy().rows);

export const exposure = (fields: Partial<ExposureEvidence>): ExposureEvidence => ({
  category: 'UNKNOWN',
  direction: 'in',
  hops: 1,
  asset: null,
  valueUsd: 1000,
  share: 0,
  confidence: 1,
  class: 'published',
  entity: null,
  ...fields,
});

export const label = (fields: Partial<OwnershipEvidence>): OwnershipEvidence => ({
  category: 'SCAM',
  threatLevel: policy.threats[fields.category ?? 'SCAM'],
  confidence: 1,
  class: 'published',
  independenceGroup: fields.source ?? 'test',
  entity: 'Somebody',
  source: 'test',
  ...fields,
});
