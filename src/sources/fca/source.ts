/**
 * The register of the FCA. Its API returns one firm per request and requires a key; it has no file of all cryptoasset firms. A sync
 * requests the firms with reference numbers (FRN) that ship in data/register-rows.json.
 */
import { readFileSync } from 'node:fs';
import { shippedData } from '../../base/paths.ts';
import { isObject, objectsIn } from '../json.ts';
import { registerSource } from '../source.ts';

const API = 'https://register.fca.org.uk/services/V0.1/Firm';

/** Returns the reference numbers of the shipped firms of the register. */
export function shippedFrns(): readonly string[] {
  const { registers } = JSON.parse(readFileSync(shippedData('register-rows.json'), 'utf8')) as {
    registers: unknown;
  };
  const own = objectsIn(registers).find(({ id }) => id === 'gb-fca');
  const frns = objectsIn(own?.rows).map(({ registrationId }) => registrationId);
  return [
    ...new Set(frns.filter((frn): frn is string => typeof frn === 'string' && /^\d{4,8}$/.test(frn))),
  ].sort();
}

export const fca = registerSource({
  id: 'fca',
  name: 'FCA register: cryptoasset firms',
  publisher: 'Financial Conduct Authority',
  homepage: 'https://register.fca.org.uk/s/search?predefined=CA',
  licence: 'terms of the authority; the API requires a free key',
  files: [
    {
      name: 'fca-firms.json',
      url: API,
      credentials: 'set ASSAY_FCA_EMAIL and ASSAY_FCA_KEY (https://register.fca.org.uk/Developer/s/).',
      collect: async function* (fetchPart) {
        for (const frn of shippedFrns()) {
          const body: unknown = JSON.parse((await fetchPart(`${API}/${frn}`)).toString('utf8'));
          if (!isObject(body)) throw new Error(`the response about ${frn} is not an object.`);
          yield `${JSON.stringify(body)}\n`;
        }
      },
    },
  ],
  read: async () => (await import('./read.ts')).fcaReader,
});
