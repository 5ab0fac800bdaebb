/**
 * Writes a synthetic file in the layout and with the faults of MBAL's `dataset_10m_ads.csv`: its shares of chains, methods, entities
 * and categories, lower-cased base58 addresses, malformed rows, quoted line breaks. The first row marks the file, and an import counts
 * all of its labels as synthetic.
 *
 * Usage: node dist/scripts/mbal-layout.js FILE.csv [--rows N] [--seed N]
 */
import { parseArgs } from 'node:util';
import { writeMbalLayout } from '../src/labels/mbal-layout.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rows: { type: 'string', default: '10000000' }, seed: { type: 'string', default: '1' } },
});
const [file] = positionals;
const rows = Number(values.rows);
const seed = Number(values.seed);
if (file === undefined || !Number.isSafeInteger(rows) || rows < 1_000 || !Number.isSafeInteger(seed)) {
  process.stderr.write(
    'Usage: node dist/scripts/mbal-layout.js FILE.csv [--rows N, at least 1000] [--seed N]\n',
  );
  process.exitCode = 1;
} else {
  process.stdout.write(`${JSON.stringify(await writeMbalLayout(file, { rows, seed }))}\n`);
}
