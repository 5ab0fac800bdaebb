/**
 * Parses the metadata of a runtime (version 14 or 15: frame-metadata and scale-info) as far as events need it: to find the fields of
 * each event in the bytes of `System.Events`.
 */
import { badAnswer } from '../../endpoints/exact-json.ts';
import { ScaleReader } from './scale.ts';

interface Field {
  readonly name: string | null;
  readonly type: number;
}

type TypeDef =
  | { readonly kind: 'composite'; readonly fields: readonly Field[] }
  | { readonly kind: 'variant'; readonly variants: ReadonlyMap<number, Variant> }
  | { readonly kind: 'sequence'; readonly type: number }
  | { readonly kind: 'array'; readonly type: number; readonly length: number }
  | { readonly kind: 'tuple'; readonly types: readonly number[] }
  | { readonly kind: 'primitive'; readonly bytes: number | null }
  | { readonly kind: 'compact'; readonly type: number }
  | { readonly kind: 'bits'; readonly store: number };

interface Variant {
  readonly name: string;
  readonly fields: readonly Field[];
}

/** One event of a block. */
export interface RuntimeEvent {
  /** As in `Balances.Transfer`. */
  readonly name: string;
  /** Index in the block's list of events. */
  readonly index: number;
  /** Index of the extrinsic that caused it; null for events of the runtime itself at the start or end of a block. */
  readonly extrinsic: number | null;
  /** Bytes of each field by name, or by index (from 0) if fields have no names. */
  readonly fields: ReadonlyMap<string, Buffer>;
}

/** Reads the events of blocks of one runtime version. */
export interface EventReader {
  /**
   * Parses the events of a block.
   *
   * @param isWanted - decides by name which events are returned; the others are skipped
   * @throws CHAIN_BAD_ANSWER if the bytes do not match the metadata
   */
  read(events: Buffer, isWanted: (name: string) => boolean): RuntimeEvent[];
}

const MAGIC = 0x6174_656d;
const VERSIONS: ReadonlySet<number> = new Set([14, 15]);
/** bool, char, str, u8 … u256, i8 … i256: bytes of each, in the order of their tags; null for str. */
const PRIMITIVE_BYTES = [1, 4, null, 1, 2, 4, 8, 16, 32, 1, 2, 4, 8, 16, 32] as const;
/** Nesting depth of types: runtimes stay below 30, including XCM. */
const DEPTH_MAX = 64;
/** Maximum steps through types for the events of one block: a hundred times those of a full block. */
const STEPS_MAX = 20_000_000;
const EVENTS_MAX = 200_000;

function readType(reader: ScaleReader): TypeDef {
  const type = (): number => reader.count();
  const texts = (): string[] => reader.list(() => reader.text());
  const field = (): Field => {
    const name = reader.optional(() => reader.text());
    const id = type();
    reader.optional(() => reader.text());
    texts();
    return { name, type: id };
  };
  texts();
  reader.list(() => {
    reader.text();
    return reader.optional(type);
  });
  const tag = reader.u8();
  const def = ((): TypeDef => {
    switch (tag) {
      case 0:
        return { kind: 'composite', fields: reader.list(field) };
      case 1: {
        const variants = reader.list((): readonly [number, Variant] => {
          const name = reader.text();
          const fields = reader.list(field);
          const index = reader.u8();
          texts();
          return [index, { name, fields }];
        });
        return { kind: 'variant', variants: new Map(variants) };
      }
      case 2:
        return { kind: 'sequence', type: type() };
      case 3: {
        const length = reader.u32();
        return { kind: 'array', type: type(), length };
      }
      case 4:
        return { kind: 'tuple', types: reader.list(type) };
      case 5: {
        const bytes = PRIMITIVE_BYTES[reader.u8()];
        if (bytes === undefined) throw badAnswer('metadata', 'of known primitive types');
        return { kind: 'primitive', bytes };
      }
      case 6:
        return { kind: 'compact', type: type() };
      case 7: {
        const store = type();
        type();
        return { kind: 'bits', store };
      }
      default:
        throw badAnswer('metadata', 'of known types');
    }
  })();
  texts();
  return def;
}

/** Reads a pallet from the metadata, including the type of its storage entry `Events` if it has one. */
function readPallet(reader: ScaleReader, version: number) {
  const skipBytes = (): number => reader.skip(reader.count());
  const name = reader.text();
  const entries =
    reader.optional(() => {
      reader.text();
      return reader.list(() => {
        const entry = reader.text();
        reader.u8();
        const isMap = reader.u8() === 1;
        if (isMap) {
          skipBytes();
          reader.count();
        }
        const value = reader.count();
        skipBytes();
        reader.list(() => reader.text());
        return { entry, value };
      });
    }) ?? [];
  reader.optional(() => reader.count());
  const event = reader.optional(() => reader.count());
  reader.list(() => {
    reader.text();
    reader.count();
    skipBytes();
    return reader.list(() => reader.text());
  });
  reader.optional(() => reader.count());
  const index = reader.u8();
  if (version >= 15) reader.list(() => reader.text());
  return { name, index, event, events: entries.find(({ entry }) => entry === 'Events')?.value };
}

/** Returns the version of the metadata. */
export function metadataVersion(metadata: Buffer): number {
  const reader = new ScaleReader(metadata, 'metadata');
  if (reader.u32() !== MAGIC) throw badAnswer('metadata', 'runtime metadata');
  return reader.u8();
}

/** Returns whether the version of the metadata is supported. */
export const isKnownMetadata = (metadata: Buffer): boolean => VERSIONS.has(metadataVersion(metadata));

/**
 * Creates an event reader.
 *
 * @throws CHAIN_BAD_ANSWER if the bytes are not metadata of a supported version
 */
export function createEventReader(metadata: Buffer): EventReader {
  const version = metadataVersion(metadata);
  if (!VERSIONS.has(version)) throw badAnswer('metadata', `of version ${[...VERSIONS].join(' or ')}`);
  const reader = new ScaleReader(metadata, 'metadata', 5);
  const types = new Map(reader.list(() => [reader.count(), readType(reader)] as const));
  const pallets = reader.list(() => readPallet(reader, version));
  const typeOf = (id: number): TypeDef => {
    const type = types.get(id);
    if (type === undefined) throw badAnswer('metadata', 'complete: every type that it refers to is in it');
    return type;
  };
  /** Unwraps composite types with a single field. */
  const innerOf = (id: number): TypeDef => {
    let type = typeOf(id);
    for (let depth = 0; type.kind === 'composite' && type.fields.length === 1 && depth < DEPTH_MAX; depth++)
      type = typeOf((type.fields[0] as Field).type);
    return type;
  };

  /** Byte length of each type with a fixed size; null if the size varies or is not determined within `DEPTH_MAX`. */
  const fixed = new Map<number, number | null>();
  function fixedBytes(id: number, depth = 0): number | null {
    const known = fixed.get(id);
    if (known !== undefined) return known;
    if (depth > DEPTH_MAX) return null;
    const sum = (ids: readonly number[]): number | null => {
      let total = 0;
      for (const each of ids) {
        const bytes = fixedBytes(each, depth + 1);
        if (bytes === null) return null;
        total += bytes;
      }
      return total;
    };
    const type = typeOf(id);
    // A recursive type has no fixed size.
    fixed.set(id, null);
    let bytes: number | null = null;
    if (type.kind === 'primitive') bytes = type.bytes;
    else if (type.kind === 'composite') bytes = sum(type.fields.map((field) => field.type));
    else if (type.kind === 'tuple') bytes = sum(type.types);
    else if (type.kind === 'array') {
      const each = fixedBytes(type.type, depth + 1);
      bytes = each === null ? null : each * type.length;
    }
    fixed.set(id, bytes);
    return bytes;
  }

  const systemEvents = pallets.find(({ name }) => name === 'System')?.events;
  const list = systemEvents === undefined ? null : innerOf(systemEvents);
  const record = list?.kind === 'sequence' ? typeOf(list.type) : null;
  if (record?.kind !== 'composite') throw badAnswer('metadata', 'a description of the event types');
  const [phaseField, eventField, ...restFields] = record.fields;
  const phase = phaseField === undefined ? null : typeOf(phaseField.type);
  const events = eventField === undefined ? null : typeOf(eventField.type);
  if (phase?.kind !== 'variant' || events?.kind !== 'variant')
    throw badAnswer('metadata', 'a description of the event types');

  function readAll(bytes: Buffer, isWanted: (name: string) => boolean): RuntimeEvent[] {
    const source = new ScaleReader(bytes, 'events');
    let steps = 0;
    function skip(id: number, depth: number): void {
      if (++steps > STEPS_MAX || depth > DEPTH_MAX) throw badAnswer('events', 'decodable within the limits');
      const size = fixedBytes(id);
      if (size !== null) {
        source.skip(size);
        return;
      }
      const type = typeOf(id);
      const all = (item: number, count: number): void => {
        const each = fixedBytes(item);
        if (each !== null) source.skip(each * count);
        else for (let i = 0; i < count; i++) skip(item, depth + 1);
      };
      switch (type.kind) {
        case 'composite':
          for (const field of type.fields) skip(field.type, depth + 1);
          return;
        case 'tuple':
          for (const each of type.types) skip(each, depth + 1);
          return;
        case 'variant':
          for (const field of variantOf(type).fields) skip(field.type, depth + 1);
          return;
        case 'sequence':
          all(type.type, source.count());
          return;
        case 'array':
          all(type.type, type.length);
          return;
        case 'compact':
          if (fixedBytes(type.type) !== 0) source.compact();
          return;
        case 'bits': {
          const unit = fixedBytes(type.store) ?? 1;
          source.skip(Math.ceil(source.count() / (8 * unit)) * unit);
          return;
        }
        case 'primitive':
          source.skip(source.count());
      }
    }
    function variantOf(type: TypeDef & { readonly kind: 'variant' }): Variant {
      const variant = type.variants.get(source.u8());
      if (variant === undefined) throw badAnswer('events', 'of variants in the metadata');
      return variant;
    }
    /** Returns the bytes of each field of a variant. */
    function fieldsOf({ fields }: Variant): Map<string, Buffer> {
      const found = new Map<string, Buffer>();
      for (const [place, { name, type }] of fields.entries()) {
        const start = source.at;
        skip(type, 0);
        found.set(name ?? String(place), bytes.subarray(start, source.at));
      }
      return found;
    }

    const count = source.count();
    if (count > EVENTS_MAX) throw badAnswer('events', `at most ${EVENTS_MAX}`);
    const found: RuntimeEvent[] = [];
    for (let index = 0; index < count; index++) {
      const when = variantOf(phase as TypeDef & { readonly kind: 'variant' });
      const extrinsic =
        when.name === 'ApplyExtrinsic' ? (fieldsOf(when).get('0')?.readUInt32LE(0) ?? null) : null;
      const pallet = variantOf(events as TypeDef & { readonly kind: 'variant' });
      const inner = pallet.fields[0] === undefined ? null : typeOf(pallet.fields[0].type);
      if (inner?.kind !== 'variant') throw badAnswer('metadata', 'a description of the event types');
      const variant = variantOf(inner);
      const name = `${pallet.name}.${variant.name}`;
      if (isWanted(name)) found.push({ name, index, extrinsic, fields: fieldsOf(variant) });
      else for (const field of variant.fields) skip(field.type, 0);
      for (const field of restFields) skip(field.type, 0);
    }
    if (source.at !== bytes.length) throw badAnswer('events', 'as long as its length prefix states');
    return found;
  }

  return { read: readAll };
}
