/** Measures the TagPacks in the same way as they are imported: through the mapper, as their reader gives them. */
import type { SourceRecord } from '../sources/records.ts';
import { createProfiler, type LabelProfile } from './index/label-profile.ts';
import { createMapper, loadRulebook } from './map.ts';

/**
 * Returns the profile of all labels in a TagPack archive, without rejected rows.
 *
 * @param records - what `graphsenseReader` reads from the archive
 */
export async function profileTagPacks(records: AsyncIterable<SourceRecord>): Promise<LabelProfile> {
  const mapper = createMapper(loadRulebook());
  const profiler = createProfiler();
  for await (const record of records) {
    if (record.type !== 'address') continue;
    const resolved = mapper.resolve(record.address, record.currency, true);
    const mapped = mapper.map('graphsense', record);
    if (!resolved.ok || !mapped.ok) continue;
    for (const { template } of mapped.labels) {
      profiler.add(
        mapped.key,
        resolved.parsed.chain,
        template,
        mapped.firstSeen !== null,
        mapped.lastSeen !== null,
      );
    }
  }
  return profiler.profile();
}
