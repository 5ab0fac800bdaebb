/**
 * Writes data/names/japanese.json: the readings of Japanese names in kanji, and the readings that single characters have in given names, which
 * Unihan lacks. Run: node dist/scripts/names/japanese-readings.js NAIST_JDIC_CSV VERSION DATE, with naist-jdic.csv (EUC-JP) of Debian's package
 * mecab-naist-jdic-eucjp.
 *
 * The dictionary has the reading of a whole name. Which part of it belongs to which character is learned from all given names together, by
 * expectation maximisation over every way to split a reading into as many parts as the name has characters.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { shippedData } from '../../src/base/paths.ts';
import { simplifiedOf } from '../../src/names/readings/han.ts';
import { repeated } from '../../src/names/readings/japanese.ts';
import { morasOf } from '../../src/names/readings/kana.ts';

const [dictionaryPath, version, date] = process.argv.slice(2);
if (!dictionaryPath || !version || !date) {
  process.stderr.write('japanese-readings: name naist-jdic.csv, the version and the date.\n');
  process.exit(2);
}

/** Moras of one character: longer readings are those of two characters. */
const MORAS_MAX = 4;
const ROUNDS = 12;
/** A reading that fewer names have is an accident of how one of them was split. */
const NAMES_LEAST = 2;
/** Share of the names with the character that a reading needs. */
const SHARE_LEAST = 0.01;
const READINGS_MOST = 8;
/** Longer surfaces are stage names. */
const CHARACTERS_MAX = 5;

/** The licence requires that copies contain it. */
const NOTICE =
  'Copyright (c) 2009-2011, Nara Institute of Science and Technology, Japan. All rights reserved. Redistribution and use in source and binary ' +
  'forms, with or without modification, are permitted provided that the following conditions are met: Redistributions of source code must ' +
  'retain the above copyright notice, this list of conditions and the following disclaimer. Redistributions in binary form must reproduce ' +
  'the above copyright notice, this list of conditions and the following disclaimer in the documentation and/or other materials provided ' +
  'with the distribution. Neither the name of the Nara Institute of Science and Technology (NAIST) nor the names of its contributors may be ' +
  'used to endorse or promote products derived from this software without specific prior written permission. THIS SOFTWARE IS PROVIDED BY ' +
  'THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS" AND ANY EXPRESS OR IMPLIED WARRANTIES, INCLUDING, BUT NOT LIMITED TO, THE IMPLIED ' +
  'WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE ARE DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT OWNER OR ' +
  'CONTRIBUTORS BE LIABLE FOR ANY DIRECT, INDIRECT, INCIDENTAL, SPECIAL, EXEMPLARY, OR CONSEQUENTIAL DAMAGES (INCLUDING, BUT NOT LIMITED ' +
  'TO, PROCUREMENT OF SUBSTITUTE GOODS OR SERVICES; LOSS OF USE, DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER CAUSED AND ON ANY ' +
  'THEORY OF LIABILITY, WHETHER IN CONTRACT, STRICT LIABILITY, OR TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE ' +
  'USE OF THIS SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.';

interface Name {
  readonly chars: readonly string[];
  readonly moras: readonly string[];
}

const HAN = /\p{Script=Han}/u;
const HAN_OR_KANA = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]+$/u;

const words = new Map<string, Set<string>>();
const given: Name[] = [];
for (const line of new TextDecoder('euc-jp').decode(readFileSync(dictionaryPath)).split('\n')) {
  const [surface = '', , , , , , kind, part, , , , readings = ''] = line.split(',');
  if (kind !== '人名' || (part !== '姓' && part !== '名')) continue;
  // As names are parsed: the older form of a Japanese character may be a traditional character, which has a simplified form.
  const chars = [...repeated(surface)].map(simplifiedOf);
  const name = chars.join('');
  if (!HAN.test(surface) || !HAN_OR_KANA.test(surface) || chars.length > CHARACTERS_MAX) continue;
  for (const kana of readings.split('/')) {
    const moras = morasOf(kana);
    if (moras.length === 0) continue;
    const known = words.get(name) ?? new Set();
    words.set(name, known.add(moras.join('')));
    if (part === '名' && chars.every((char) => HAN.test(char)) && moras.length >= chars.length)
      given.push({ chars, moras });
  }
}

type Counts = Map<string, Map<string, number>>;

/** Returns every split of the moras into one run for each character. */
function splitsOf({ chars, moras }: Name, at = 0, from = 0): string[][] {
  const left = chars.length - at - 1;
  if (left === 0) return moras.length - from <= MORAS_MAX ? [[moras.slice(from).join('')]] : [];
  const all: string[][] = [];
  for (let end = from + 1; end <= Math.min(from + MORAS_MAX, moras.length - left); end++)
    for (const rest of splitsOf({ chars, moras }, at + 1, end))
      all.push([moras.slice(from, end).join(''), ...rest]);
  return all;
}

const splits = given.map((name) => ({ chars: name.chars, all: splitsOf(name) }));
let counts: Counts = new Map();
const chance = (char: string, reading: string): number => {
  const row = counts.get(char);
  if (row === undefined) return 1;
  return (row.get(reading) ?? 0.01) / ((row.get('') ?? 0) + 1);
};
for (let round = 0; round < ROUNDS; round++) {
  const next: Counts = new Map();
  for (const { chars, all } of splits) {
    const weights = all.map((split) =>
      split.reduce((product, reading, at) => product * chance(chars[at] as string, reading), 1),
    );
    const sum = weights.reduce((total, weight) => total + weight, 0);
    for (const [number, split] of all.entries()) {
      for (const [at, reading] of split.entries()) {
        const char = chars[at] as string;
        const row = next.get(char) ?? new Map<string, number>();
        const share = (weights[number] as number) / sum;
        row.set(reading, (row.get(reading) ?? 0) + share);
        // The names with the character, under a reading that none has.
        row.set('', (row.get('') ?? 0) + share);
        next.set(char, row);
      }
    }
  }
  counts = next;
}

const characters: string[] = [];
for (const [char, row] of [...counts].sort(([a], [b]) => (a < b ? -1 : 1))) {
  const total = row.get('') ?? 0;
  const readings = [...row]
    .filter(([reading, count]) => reading !== '' && count > NAMES_LEAST - 0.5 && count >= SHARE_LEAST * total)
    .sort(([a, one], [b, other]) => other - one || (a < b ? -1 : 1))
    .slice(0, READINGS_MOST)
    .map(([reading]) => reading);
  if (readings.length > 0) characters.push(`${char} ${readings.join(',')}`);
}

const written = {
  about:
    'Japanese names in kanji, with their readings: surnames and given names, then the readings of single characters in given names, the most frequent first. Written by scripts/names/japanese-readings.ts.',
  source: `https://packages.debian.org/source/stable/mecab-naist-jdic (${version}; NAIST Japanese Dictionary, https://osdn.net/projects/naist-jdic/)`,
  date,
  licence: 'BSD-3-Clause',
  notice: NOTICE,
  names: [...words]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, all]) => `${name} ${[...all].join(',')}`),
  characters,
};
const path = shippedData('names', 'japanese.json');
writeFileSync(path, `${JSON.stringify(written, null, 0).replaceAll('","', '",\n"')}\n`);
process.stdout.write(`${words.size} names, ${characters.length} characters, ${given.length} given names\n`);
