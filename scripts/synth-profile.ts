/**
 * Measures the TagPacks (a tar.gz, first argument) and writes data/synth-profile.json, the profile for `index synth`. Usage: node
 * dist/scripts/synth-profile.js graphsense-tagpacks.tar.gz
 */
import { writeFileSync } from 'node:fs';
import { shippedData } from '../src/base/paths.ts';
import { profileTagPacks } from '../src/labels/tagpack-profile.ts';
import { graphsenseReader } from '../src/sources/graphsense/read.ts';

const [file] = process.argv.slice(2);
if (file === undefined) {
  process.stderr.write('Usage: node dist/scripts/synth-profile.js graphsense-tagpacks.tar.gz\n');
  process.exitCode = 1;
} else {
  const profile = await profileTagPacks(graphsenseReader([file]));
  const { strata, ...sums } = profile;
  const rows = strata.map((row) => `  ${JSON.stringify(row)}`).join(',\n');
  const head = JSON.stringify({ publisher: 'GraphSense TagPacks', licence: 'MIT', ...sums }).slice(0, -1);
  writeFileSync(shippedData('synth-profile.json'), `${head},"strata":[\n${rows}\n]}\n`);
  process.stdout.write(
    `${profile.labels} labels, ${profile.addresses} addresses, ${profile.entities} entities, ${profile.strata.length} strata\n`,
  );
}
