/**
 * Writes data/names/person-words.json: words of the names of people on OFAC's list that hardly occur in other names. A query of such words
 * alone is a person's name. Run: node dist/scripts/names/person-words.js SDN_ADVANCED.XML DATE
 */
import { writeFileSync } from 'node:fs';
import { readParties } from '../../bench/name-lists.ts';
import { shippedData } from '../../src/base/paths.ts';
import { parseName } from '../../src/names/parse.ts';
import { ofacReader } from '../../src/sources/ofac/read.ts';

/** A word of fewer people says too little. */
const PEOPLE_LEAST = 3;
/** People for each other party with the word. */
const TIMES_LEAST = 2;

const [file, date] = process.argv.slice(2);
if (!file || !date) {
  process.stderr.write('person-words: name the file of OFAC and its date.\n');
  process.exit(2);
}
const people = new Map<string, number>();
const others = new Map<string, number>();
for (const { schema, names } of await readParties(ofacReader, file)) {
  const words = new Set(
    names.flatMap(({ text }) =>
      parseName(text)
        .parts.filter((part) => part.kind === 'name' && part.script === 'latin')
        .map((part) => part.folded),
    ),
  );
  const counts = schema === 'Person' ? people : others;
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
}
const words = [...people]
  .filter(
    ([word, count]) =>
      word.length > 1 && count >= PEOPLE_LEAST && count >= TIMES_LEAST * (others.get(word) ?? 0),
  )
  .map(([word]) => word)
  .sort();
const out = {
  about: `Folded words of the names of at least ${PEOPLE_LEAST} people on OFAC's SDN list, and of at least ${TIMES_LEAST} times as many people as other parties. Written by scripts/names/person-words.ts.`,
  source: 'https://sanctionslistservice.ofac.treas.gov/api/PublicationPreview/exports/SDN_ADVANCED.XML',
  date,
  licence: 'public domain',
  words: words.join(' '),
};
const path = shippedData('names', 'person-words.json');
writeFileSync(path, `${JSON.stringify(out, null, 2)}\n`);
process.stdout.write(`${words.length} words\n`);
