/** Settings: the transparency log of receipts. */
import { AssayError } from '../base/errors.ts';
import { optionalBucket } from '../state/snapshot-places.ts';
import { folder, optionalUrl } from './readers.ts';
import { setting } from './setting.ts';

/** With the signature of the log, 15 witnesses fit in the 16 signatures that every reader of a checkpoint accepts. */
const WITNESSES_MAX = 15;

/** A witness: its submission prefix and its verifier key. */
export interface WitnessSetting {
  readonly url: string;
  readonly vkey: string;
}

const wrong = (variable: string, text: string, expected: string): AssayError =>
  new AssayError('INVALID_CONFIG', `${variable}: must be ${expected} (got '${text}').`, { field: variable });

function optionalOrigin(text: string, variable: string): string | null {
  if (text === '') return null;
  if (!/^[\w.:/-]{1,255}$/.test(text))
    throw wrong(variable, text, 'a URL without its scheme, of letters, digits and . _ : / -');
  return text;
}

const witnesses = (text: string, variable: string): readonly WitnessSetting[] => {
  const rows = text === '' ? [] : text.split(',').map((row) => row.trim());
  if (rows.length > WITNESSES_MAX) throw wrong(variable, text, `at most ${WITNESSES_MAX} witnesses`);
  return rows.map((row) => {
    const [vkey = '', place = '', ...more] = row.split(/\s+/);
    const url = more.length > 0 ? null : optionalUrl(place, variable);
    if (url === null) throw wrong(variable, row, "'NAME+ID+KEY URL', several separated by commas");
    return { url, vkey };
  });
};

export const logSettings = {
  logOrigin: setting(
    'ASSAY_LOG_ORIGIN',
    '',
    optionalOrigin,
    'Origin of the transparency log when it is created: the URL of its prefix without the scheme, such as `screening.example.com/log`. It cannot change later. Default: `ASSAY_PUBLIC_HOST` with `/log`, or a random name.',
  ),
  logPublish: setting(
    'ASSAY_LOG_PUBLISH',
    '',
    (text, variable) => {
      if (text === '') return null;
      return text.startsWith('s3:') ? optionalBucket(text, variable) : { folder: folder(text, variable) };
    },
    'Folder, or object store (`s3://bucket/prefix`, with the ASSAY_S3_ settings), to which the transparency log is published as static files. Empty: the log is served by this program alone.',
  ),
  logWitnesses: setting(
    'ASSAY_LOG_WITNESSES',
    '',
    witnesses,
    'Witnesses that sign the checkpoints of the transparency log (C2SP tlog-witness): the verifier key and the submission URL, separated by a space; several are separated by commas.',
  ),
} as const;
