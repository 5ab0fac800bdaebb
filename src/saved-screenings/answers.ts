/** Saved screenings as the API shows them: ISO times, EVM addresses in lower case, and no data of the account or of the store. */
import { isoTime } from '../base/clock.ts';
import { shownAddress } from '../chains/address/parse.ts';
import type { SavedScreening } from './records.ts';

/** Returns the facts of a saved screening as the API shows them. */
export const savedAnswer = ({
  accountId: _,
  storedBytes: __,
  savedAtMs,
  savedBy,
  bytes,
  sha256,
  ...facts
}: SavedScreening) => ({
  ...facts,
  addresses: facts.addresses.map((canonical) => shownAddress({ chain: facts.chain, canonical })),
  savedAt: isoTime(savedAtMs),
  savedBy,
  bytes,
  sha256,
});

export type SavedAnswer = ReturnType<typeof savedAnswer>;
