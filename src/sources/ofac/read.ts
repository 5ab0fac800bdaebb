/** Reads OFAC's SDN and consolidated lists in any of their three layouts; the content decides which layout it is. */
import { AssayError } from '../../base/errors.ts';
import { unknownLayout } from '../layout-error.ts';
import { listParts, readTextHead, type SourcePart } from '../open.ts';
import type { SourceReader, SourceRecord } from '../records.ts';
import { readAdvanced } from './advanced.ts';
import { type LegacyKind, legacyKind, readLegacy } from './legacy.ts';
import type { OfacList } from './lists.ts';
import { readSdnXml } from './sdn-xml.ts';

type Layout = 'advanced' | 'sdn-xml' | LegacyKind;

/** Sufficient for an XML declaration and a root tag, or for the first rows of a legacy table. */
const HEAD_CHARS = 8_192;

/**
 * Yields a header and the parties of each XML file. The legacy tables, in any order,
 * give one header and their joined parties. The parties of a file are yielded only
 * after its end was read, so a truncated file yields none. Throws INVALID_FILE.
 */
export const ofacReader: SourceReader<OfacList> = (files) => readOfac(files);

async function* readOfac(files: readonly string[]): AsyncGenerator<SourceRecord<OfacList>, void, undefined> {
  const legacy = new Map<LegacyKind, SourcePart>();
  for (const file of files) {
    for (const part of await listParts(file)) {
      const layout = await layoutOf(part);
      if (layout === 'advanced') yield* readAdvanced(part);
      else if (layout === 'sdn-xml') yield* readSdnXml(part);
      else {
        const twin = legacy.get(layout);
        if (twin) {
          throw new AssayError(
            'INVALID_FILE',
            `${part.name}: is a second legacy table of the kind '${layout}' beside ${twin.name}; import one set at a time.`,
            { field: 'file' },
          );
        }
        legacy.set(layout, part);
      }
    }
  }
  if (legacy.size > 0) yield* readLegacy(legacy);
}

async function layoutOf(part: SourcePart): Promise<Layout> {
  const head = await readTextHead(part, HEAD_CHARS, { legacyEncoding: 'windows-1252' });
  if (/<(?:\w+:)?Sanctions[\s>]/.test(head)) return 'advanced';
  if (/<(?:\w+:)?sdnList[\s>]/.test(head)) return 'sdn-xml';
  const kind = head.trimStart().startsWith('<') ? null : legacyKind(head);
  if (kind) return kind;
  throw unknownLayout(
    part.name,
    head,
    'SDN_ADVANCED.XML, SDN.XML or a legacy CSV table of OFAC (sdn, add, alt, sdn_comments)',
  );
}
