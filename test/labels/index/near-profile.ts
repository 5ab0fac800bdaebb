/** Compares profiles of labels. */
import { expect } from 'vitest';
import type { ProfileSummary } from '../../../src/labels/index/label-profile.ts';

/** Chains and categories below this share have only a handful of labels among half a million. */
const SHARE_MIN = 0.001;

/** Fails unless each figure of a profile is within a fifth of the wanted one. */
export function expectWithinAFifth(actual: ProfileSummary, wanted: ProfileSummary): void {
  const near = (name: string, value: number, goal: number): void => {
    expect(Math.abs(value / goal - 1), `${name}: ${value} against ${goal}`).toBeLessThan(0.2);
  };
  near('labels per address', actual.labelsPerAddress, wanted.labelsPerAddress);
  near('labels per address beyond the first', actual.labelsPerAddress - 1, wanted.labelsPerAddress - 1);
  near('name length', actual.nameLength, wanted.nameLength);
  near('tags per label', actual.tagsPerLabel, wanted.tagsPerLabel);
  near('tag length', actual.tagLength, wanted.tagLength);
  for (const side of ['byChain', 'byCategory'] as const) {
    for (const [name, share] of wanted[side]) {
      if (share >= SHARE_MIN) near(name, actual[side].get(name) ?? 0, share);
    }
  }
}
