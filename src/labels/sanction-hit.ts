/** The rule for when an entry of a sanctions list makes an address sanctioned: for builds, look-ups and responses. */
import type { SanctionsEntry } from './label.ts';

/**
 * Minimum confidence at which an attribution to a designated party counts like a listing of the address: the confidence of a publisher that
 * names its evidence (data/sources.json). Below it, the response has a HIGH reason, which a person must decide.
 */
export const OWNER_CONFIDENCE_MIN = 0.8;

/** Returns whether the entry makes the address sanctioned while it is in force. A single label decides; several are never combined. */
export const countsAsSanction = (entry: SanctionsEntry): boolean =>
  entry.matchType === 'DIRECT' ||
  (entry.matchType === 'OWNER' && (entry.attribution?.confidence ?? 0) >= OWNER_CONFIDENCE_MIN);
