/**
 * Types of files that a case accepts. A file must be what it is declared to be: its first bytes have the signature of its type, or it is
 * text. Files are stored and returned as they are; they are neither rendered nor unpacked.
 */
import { isUtf8 } from 'node:buffer';
import { AssayError } from '../base/errors.ts';

export const FILE_TYPES = [
  'application/pdf',
  'image/png',
  'image/jpeg',
  'image/webp',
  'text/plain',
  'text/csv',
  'application/json',
  'application/zip',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
] as const;
export type FileType = (typeof FILE_TYPES)[number];

const startsWith =
  (signature: string, at = 0) =>
  (bytes: Buffer): boolean =>
    bytes.toString('latin1', at, at + signature.length) === signature;

const isZip = startsWith('PK\x03\x04');

/** Text without the control characters that no editor writes. */
function isText(bytes: Buffer): boolean {
  if (!isUtf8(bytes)) return false;
  for (const byte of bytes) if (byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d) return false;
  return true;
}

/** Text that begins as an object or an array. It is not parsed: 8 MB would block all requests for a tenth of a second. */
const isJson = (bytes: Buffer): boolean => isText(bytes) && /^\s*[[{]/.test(bytes.toString('utf8', 0, 256));

/** Endings of names by type: what a computer does with a file follows from its name. */
const EXTENSIONS: Readonly<Record<FileType, readonly string[]>> = {
  'application/pdf': ['pdf'],
  'image/png': ['png'],
  'image/jpeg': ['jpg', 'jpeg'],
  'image/webp': ['webp'],
  'text/plain': ['txt', 'text', 'log', 'md', 'csv', 'tsv', 'json'],
  'text/csv': ['csv', 'tsv', 'txt'],
  'application/json': ['json', 'txt'],
  'application/zip': ['zip'],
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': ['docx'],
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': ['xlsx'],
};

/** Whether the content is of the type. */
const HAS_TYPE: Readonly<Record<FileType, (bytes: Buffer) => boolean>> = {
  'application/pdf': startsWith('%PDF-'),
  'image/png': startsWith('\x89PNG\r\n\x1a\n'),
  'image/jpeg': startsWith('\xff\xd8\xff'),
  'image/webp': (bytes) => startsWith('RIFF')(bytes) && startsWith('WEBP', 8)(bytes),
  'text/plain': isText,
  'text/csv': isText,
  'application/json': isJson,
  'application/zip': isZip,
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': isZip,
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': isZip,
};

/**
 * Returns the type of a Content-Type header.
 *
 * @throws INVALID_REQUEST if files of the type are not accepted
 */
export function fileTypeOf(contentType: string): FileType {
  const mediaType = (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();
  const type = FILE_TYPES.find((known) => known === mediaType);
  if (type !== undefined) return type;
  throw new AssayError('INVALID_REQUEST', `Content-Type: must be one of ${FILE_TYPES.join(', ')}.`, {
    field: 'Content-Type',
  });
}

/**
 * Checks that the name of a file ends as its type does, or has no ending: a text that is named `.html` or `.js` would run on the computer of
 * the person who opens it.
 *
 * @throws INVALID_REQUEST
 */
export function requireExtension(name: string, type: FileType): void {
  const dot = name.lastIndexOf('.');
  const allowed = EXTENSIONS[type];
  if (dot < 0 || allowed.includes(name.slice(dot + 1).toLowerCase())) return;
  throw new AssayError(
    'INVALID_REQUEST',
    `name: must end with .${allowed.join(' or .')}, or have no ending, because the file is ${type}.`,
    { field: 'name' },
  );
}

/**
 * Checks that the content of a file has the declared type.
 *
 * @throws INVALID_REQUEST
 */
export function requireType(bytes: Buffer, type: FileType): void {
  if (bytes.length > 0 && HAS_TYPE[type](bytes)) return;
  const problem = bytes.length === 0 ? 'the file is empty' : `the content is not ${type}`;
  throw new AssayError('INVALID_REQUEST', `body: ${problem}.`, { field: 'body' });
}
