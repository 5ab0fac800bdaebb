/** One bulk job: its numbers, its result, and its end. */
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { call, noteSessionEnd } from '../../api/client.ts';
import { ApiError } from '../../api/errors.ts';
import { useI18n } from '../../i18n/index.tsx';
import { Button } from '../../ui/Button.tsx';
import { Confirm } from '../../ui/Confirm.tsx';
import { Icon } from '../../ui/icons.tsx';
import { saveFile } from '../../ui/save-file.ts';
import { Failure } from '../../ui/states.tsx';
import { ServerText, Time } from '../../ui/values.tsx';
import { Popup } from '../manage/parts.tsx';
import { Progress, resultPath } from './JobTable.tsx';
import { resultCsv } from './result.ts';
import { isOpen, type Job } from './upload.ts';

/** Larger results are only downloaded as they are: a browser holds the CSV in memory. */
const CSV_BYTES_MAX = 32 * 1024 ** 2;

/** Reads a result and saves it as CSV. */
async function saveCsv(job: Job): Promise<void> {
  const response = await fetch(resultPath(job), { credentials: 'same-origin' }).catch((cause: unknown) => {
    throw ApiError.offline(cause);
  });
  if (!response.ok) throw noteSessionEnd(await ApiError.of(response));
  saveFile(`${job.id}.csv`, 'text/csv;charset=utf-8', resultCsv(await response.text()));
}

interface JobDialogProps {
  readonly job: Job;
  readonly mayChange: boolean;
  readonly onChange: () => void;
  readonly onClose: () => void;
}

/** The dialog. */
export function JobDialog({ job, mayChange, onChange, onClose }: JobDialogProps): ReactNode {
  const { t, word } = useI18n();
  const csv = useMutation({ mutationFn: () => saveCsv(job) });
  const isRunning = isOpen(job);
  const end = useMutation({
    mutationFn: () => call('delete', '/jobs/{id}', { path: { id: job.id } }),
    onSuccess: () => {
      onChange();
      // A job that was stopped stays, with the result of the lines before; one that had ended is gone.
      if (!isRunning) onClose();
    },
  });
  const fact = (label: string, value: ReactNode): ReactNode => (
    <div>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </div>
  );
  return (
    <Popup title={t('bulk.job', { kind: word('jobKind', job.kind) })} onClose={onClose}>
      <dl className="facts">
        {fact(t('bulk.state'), word('jobState', job.state))}
        {fact(t('bulk.lines'), <Progress job={job} />)}
        {fact(t('bulk.failed'), job.failed)}
        {fact(
          t('bulk.cost'),
          t(`bulk.cost.${job.cost.unit}`, { count: job.cost.spent ?? job.cost.reserved }),
        )}
        {fact(t('bulk.created'), <Time iso={job.createdAt} />)}
        {job.endedAt === null ? null : fact(t('bulk.ended'), <Time iso={job.endedAt} />)}
        {job.expiresAt === null ? null : fact(t('bulk.expires'), <Time iso={job.expiresAt} />)}
        {fact(t('bulk.id'), <code>{job.id}</code>)}
      </dl>
      {job.error === null ? null : (
        <p className="warning-line">
          <ServerText text={job.error} />
        </p>
      )}
      {job.resultBytes === 0 ? null : (
        <div className="actions">
          <a href={resultPath(job)} download className="button primary">
            <Icon name="download" />
            {t('bulk.ndjson')}
          </a>
          {job.resultBytes <= CSV_BYTES_MAX ? (
            <Button icon="download" isBusy={csv.isPending} onClick={() => csv.mutate()}>
              {t('bulk.csv')}
            </Button>
          ) : (
            <span className="muted">{t('bulk.csvTooLarge')}</span>
          )}
        </div>
      )}
      {csv.error === null ? null : <Failure error={csv.error} />}
      {end.error === null ? null : <Failure error={end.error} />}
      {mayChange ? (
        <div className="danger-zone">
          <Confirm
            label={t(isRunning ? 'bulk.cancel' : 'bulk.delete')}
            title={t(isRunning ? 'bulk.cancelTitle' : 'bulk.deleteTitle')}
            text={t(isRunning ? 'bulk.cancelText' : 'bulk.deleteText')}
            isBusy={end.isPending}
            onConfirm={() => end.mutate()}
          />
        </div>
      ) : null}
    </Popup>
  );
}
