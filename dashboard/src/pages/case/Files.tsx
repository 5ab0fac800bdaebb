/** The files of a case. They are stored and downloaded as they are; no page shows their content. */
import { useMutation } from '@tanstack/react-query';
import { type ChangeEvent, type ReactNode, useId, useState } from 'react';
import { call } from '../../api/client.ts';
import { ApiError } from '../../api/errors.ts';
import { patiently } from '../../api/patience.ts';
import { newKey } from '../../api/repeat-key.ts';
import { uploadCaseFile } from '../../api/upload.ts';
import { useI18n } from '../../i18n/index.tsx';
import { Icon } from '../../ui/icons.tsx';
import { More } from '../../ui/More.tsx';
import { Section } from '../../ui/Page.tsx';
import { usePages } from '../../ui/pages.ts';
import { Failure, Loading } from '../../ui/states.tsx';
import { Name, ServerText, Time } from '../../ui/values.tsx';
import { Who } from '../../ui/Who.tsx';
import { type Case, refreshCase } from './use-case.ts';

/** Files of a case: the most that it may have. */
const ROWS = 50;
/** Bytes of a file (`POST /cases/{id}/files`). */
const FILE_BYTES_MAX = 8 * 1024 * 1024;

/** Types that the API accepts, by the end of a name: browsers know some of them only on some systems. */
const TYPES: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  json: 'application/json',
  pdf: 'application/pdf',
  png: 'image/png',
  txt: 'text/plain',
  webp: 'image/webp',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  zip: 'application/zip',
};

const typeOf = ({ name }: File): string | undefined => TYPES[name.split('.').at(-1)?.toLowerCase() ?? ''];

/** Shows the files, and the field for another one. */
export function Files({ one }: { readonly one: Case }): ReactNode {
  const { t, number } = useI18n();
  const { id } = one;
  const pages = usePages(
    ['case', id, 'files'],
    (cursor, signal) =>
      patiently(
        () => call('get', '/cases/{id}/files', { path: { id }, query: { limit: ROWS, ...cursor }, signal }),
        { signal },
      ),
    one.fileCount > 0,
  );
  const files = pages.data?.pages.flatMap((page) => page.files) ?? [];
  return (
    <Section title={t('cases.files')} note={t('cases.filesNote')}>
      {one.fileCount === 0 ? <p className="muted">{t('cases.noFiles')}</p> : null}
      {one.fileCount > 0 && pages.isPending ? <Loading lines={2} /> : null}
      {pages.error === null ? null : <Failure error={pages.error} onRetry={() => void pages.refetch()} />}
      <ul className="rows">
        {files.map((file) => (
          <li key={file.id}>
            <a href={`/api/v1/cases/${id}/files/${file.id}`} download={file.name}>
              <Icon name="download" /> <Name text={file.name} />
            </a>
            <p className="muted">
              {t('cases.bytes', { bytes: number(file.bytes) })} · <Time iso={file.addedAt} /> ·{' '}
              <Who id={file.addedBy} />
            </p>
            <p className="muted">
              SHA-256 <code>{file.sha256}</code>
            </p>
          </li>
        ))}
      </ul>
      <More pages={pages} />
      {one.status === 'CLOSED' ? null : <Upload id={id} />}
    </Section>
  );
}

/** What became of the files that a person chose. */
interface Outcome {
  /** Files that the server does not take, each with the reason. */
  readonly refused: readonly { readonly name: string; readonly reason: string }[];
  /** Number of files that were not sent, because another error came before. */
  readonly left: number;
}

const ALL_ADDED: Outcome = { refused: [], left: 0 };
/** Statuses that are about the file alone: the others may be accepted. */
const OF_FILE: ReadonlySet<number> = new Set([400, 413, 415, 422]);

function Upload({ id }: { readonly id: string }): ReactNode {
  const { t } = useI18n();
  const field = useId();
  // If one of several files fails, the person chooses all of them again.
  const [keys] = useState(() => new Map<string, string>());
  const keyOf = ({ name, size, lastModified }: File): string => {
    const file = `${name} ${size} ${lastModified}`;
    const key = keys.get(file) ?? newKey();
    keys.set(file, key);
    return key;
  };
  const [outcome, setOutcome] = useState(ALL_ADDED);
  const upload = useMutation({
    mutationFn: async (files: readonly File[]) => {
      setOutcome(ALL_ADDED);
      // Either all of them are sent or, if one cannot be accepted, none.
      const typed = files.map((file) => {
        const type = typeOf(file);
        if (type === undefined)
          throw new Error(t('cases.fileType', { name: file.name, types: Object.keys(TYPES).join(', ') }));
        if (file.size > FILE_BYTES_MAX) throw new Error(t('cases.fileSize', { name: file.name }));
        return { file, type };
      });
      const refused: { readonly name: string; readonly reason: string }[] = [];
      for (const [at, { file, type }] of typed.entries())
        try {
          await patiently(() => uploadCaseFile(id, file, type, keyOf(file)));
        } catch (error) {
          const isOfFile = error instanceof ApiError && OF_FILE.has(error.status);
          if (isOfFile) refused.push({ name: file.name, reason: error.message });
          setOutcome({ refused: [...refused], left: isOfFile ? 0 : typed.length - at });
          if (!isOfFile) throw error;
        }
    },
    onSettled: () => refreshCase(id),
  });
  const choose = (event: ChangeEvent<HTMLInputElement>): void => {
    upload.mutate([...(event.target.files ?? [])]);
    event.target.value = '';
  };
  return (
    <>
      <div className="field only-screen">
        <label htmlFor={field}>{t('cases.addFile')}</label>
        <input
          id={field}
          type="file"
          multiple
          accept={Object.keys(TYPES)
            .map((end) => `.${end}`)
            .join(',')}
          // Not disabled: it would lose the focus.
          aria-disabled={upload.isPending}
          onClick={(event) => {
            if (upload.isPending) event.preventDefault();
          }}
          onChange={choose}
        />
      </div>
      <p role="status" className={upload.isPending ? 'muted' : 'visually-hidden'}>
        {upload.isPending ? t('cases.uploading') : ''}
      </p>
      {outcome.refused.length === 0 ? null : (
        <div className="form-error" role="alert">
          <p>{t('cases.filesRefused', { count: outcome.refused.length })}</p>
          <ul>
            {outcome.refused.map(({ name, reason }) => (
              <li key={name}>
                <Name text={name} />: <ServerText text={reason} />
              </li>
            ))}
          </ul>
        </div>
      )}
      {outcome.left === 0 ? null : (
        <p className="form-error">{t('cases.filesLeft', { count: outcome.left })}</p>
      )}
      {upload.error === null ? null : upload.error.name === 'ApiError' ? (
        <Failure error={upload.error} />
      ) : (
        <p className="form-error" role="alert">
          {upload.error.message}
        </p>
      )}
    </>
  );
}
