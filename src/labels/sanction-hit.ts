/** When an entry of a sanctions list makes an address sanctioned: the one rule, for builds, look-ups and answers. */
import type { SanctionsEntry } from './label.ts';

/**
 * Confidence from which on an attribution to a designated party counts like a listing of the address: that of a publisher that
 * names its evidence (data/sources.json). Below it the answer is a HIGH reason for a person to decide.
 */
export const OWNER_CONFIDENCE_MIN = 0.8;

/** Returns true if the entry makes the address sanctioned for as long as it is in force. One label alone decides, never several together. */
export const countsAsSanction = (entry: SanctionsEntry): boolean =>
  entry.matchType === 'DIRECT' ||
  (entry.matchType === 'OWNER' && (entry.attribution?.confidence ?? 0) >= OWNER_CONFIDENCE_MIN);
