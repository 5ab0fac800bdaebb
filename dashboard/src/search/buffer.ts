/** The part of Node's Buffer that the parser of addresses uses. The build gives it to that code in place of the global. */

/** Bytes with the two methods of a Buffer. */
export class Buffer extends Uint8Array {
  static override from(source: string | ArrayLike<number> | Iterable<number>): Buffer {
    if (typeof source === 'string') return new Buffer(new TextEncoder().encode(source));
    return new Buffer('length' in source ? source : [...source]);
  }

  /** Returns hexadecimal digits, whatever the encoding: the parser asks for no other. */
  override toString(): string {
    let text = '';
    for (const byte of this) text += byte.toString(16).padStart(2, '0');
    return text;
  }
}
