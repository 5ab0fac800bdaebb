/** Parties that are excluded from contracts of the government of the United States. */
import { nameSource } from '../source.ts';

export const samExclusions = nameSource({
  id: 'sam-exclusions',
  name: 'SAM.gov exclusions (public extract)',
  publisher: 'General Services Administration, United States',
  homepage: 'https://sam.gov/data-services/Exclusions/Public%20V2',
  licence: 'public domain (US government work)',
  account: 'a SAM.gov account',
  read: async () => (await import('./read.ts')).samReader,
});
