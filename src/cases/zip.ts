/**
 * Writes ZIP archives (APPNOTE 6.3) with entries that are stored without compression: the same entries give the same bytes. Names are UTF-8,
 * and all times are the first that the format has. An entry is read when its turn comes, so an archive needs the memory of one entry.
 */

export interface ZipEntry {
  /** Path inside the archive, with slashes. */
  readonly name: string;
  /** Length of the content. */
  readonly bytes: number;
  readonly crc32: number;
  /** Returns the content. */
  read(): Uint8Array;
}

const LOCAL_HEADER = 0x04034b50;
const CENTRAL_HEADER = 0x02014b50;
const END_RECORD = 0x06054b50;
const LOCAL_BYTES = 30;
const CENTRAL_BYTES = 46;
const END_BYTES = 22;
/** Version 2.0: folders. */
const VERSION = 20;
const UTF8_NAMES = 0x0800;
/** 1980-01-01. */
const FIRST_DAY = (1 << 5) | 1;
/** Without ZIP64, an archive has at most this many entries, and sizes below 4 GB. */
const ENTRIES_MAX = 0xffff;
const BYTES_MAX = 0xffffffff;

/** Writes the fields that both headers of an entry have: version, flags, method, time, checksum, sizes and the length of the name. */
function writeShared(header: Buffer, at: number, name: Buffer, entry: ZipEntry): void {
  header.writeUInt16LE(VERSION, at);
  header.writeUInt16LE(UTF8_NAMES, at + 2);
  header.writeUInt16LE(FIRST_DAY, at + 8);
  header.writeUInt32LE(entry.crc32, at + 10);
  header.writeUInt32LE(entry.bytes, at + 14);
  header.writeUInt32LE(entry.bytes, at + 18);
  header.writeUInt16LE(name.length, at + 22);
}

/** An archive as parts, which are to be sent in their order. */
export interface ZipArchive {
  /** Length of all parts. */
  readonly bytes: number;
  /** Reads the parts one after the other. Throws RangeError if an entry does not have its length. */
  parts(): Generator<Uint8Array>;
}

function contentOf(entry: ZipEntry): Uint8Array {
  const content = entry.read();
  if (content.length === entry.bytes) return content;
  throw new RangeError(`${entry.name} has ${content.length} bytes, not ${entry.bytes}.`);
}

/**
 * Returns an archive of the entries, in their order.
 *
 * @throws RangeError if the archive would need ZIP64
 */
export function zipOf(entries: readonly ZipEntry[]): ZipArchive {
  const central: Buffer[] = [];
  const headers: Buffer[] = [];
  let offset = 0;
  for (const entry of entries) {
    const name = Buffer.from(entry.name);
    const local = Buffer.alloc(LOCAL_BYTES);
    local.writeUInt32LE(LOCAL_HEADER, 0);
    writeShared(local, 4, name, entry);
    const header = Buffer.alloc(CENTRAL_BYTES);
    header.writeUInt32LE(CENTRAL_HEADER, 0);
    header.writeUInt16LE(VERSION, 4);
    writeShared(header, 6, name, entry);
    header.writeUInt32LE(offset, 42);
    headers.push(Buffer.concat([local, name]));
    central.push(header, name);
    offset += LOCAL_BYTES + name.length + entry.bytes;
    if (offset > BYTES_MAX) break;
  }
  const directory = Buffer.concat(central);
  if (entries.length > ENTRIES_MAX || offset + directory.length > BYTES_MAX)
    throw new RangeError('The archive is too large for a ZIP file without ZIP64.');
  const end = Buffer.alloc(END_BYTES);
  end.writeUInt32LE(END_RECORD, 0);
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  return {
    bytes: offset + directory.length + end.length,
    *parts() {
      for (const [at, entry] of entries.entries()) {
        yield headers[at] as Buffer;
        if (entry.bytes > 0) yield contentOf(entry);
      }
      yield directory;
      yield end;
    },
  };
}
