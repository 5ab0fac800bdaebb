/** `/exchanges`: registrations of an exchange, designations of its operator, and which registers were read. */

import { useQuery } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useMemo, useState } from 'react';
import { call, type DataOf } from '../api/client.ts';
import { ApiError } from '../api/errors.ts';
import { useI18n } from '../i18n/index.tsx';
import { Button } from '../ui/Button.tsx';
import { type Column, DataTable } from '../ui/DataTable.tsx';
import { Field } from '../ui/Field.tsx';
import { Page, Section } from '../ui/Page.tsx';
import { plainText } from '../ui/plain-text.ts';
import { Source } from '../ui/Source.tsx';
import { Empty, Failure, Loading } from '../ui/states.tsx';
import { useUrlState } from '../ui/url-state.ts';
import { Name, NotKnown, ServerText, Time } from '../ui/values.tsx';
import './exchanges.css';

type Status = DataOf<'/exchange-status', 'get'>;
type Registration = Status['registrations'][number];
type Designation = Status['designations'][number];
type Register = Status['registersChecked'][number];

/** Bound of the OpenAPI document. */
const NAME_MAX = 200;

/** The page. */
export function ExchangesPage(): ReactNode {
  const { t } = useI18n();
  const [{ name = '', jurisdiction = '' }] = useUrlState();
  const status = useQuery({
    queryKey: ['exchange', name, jurisdiction],
    queryFn: ({ signal }) =>
      call('get', '/exchange-status', {
        query: { name, ...(jurisdiction === '' ? {} : { jurisdiction }) },
        signal,
      }),
    enabled: name !== '',
    retry: false,
  });
  const isUnknown = status.error instanceof ApiError && status.error.status === 404;
  return (
    <Page title={t('exchanges.title')}>
      <ExchangeForm key={`${name} ${jurisdiction}`} name={name} jurisdiction={jurisdiction} />
      {name === '' ? <Empty title={t('exchanges.empty')}>{t('exchanges.emptyHelp')}</Empty> : null}
      {status.isLoading ? (
        <div className="section">
          <Loading lines={6} />
        </div>
      ) : null}
      {isUnknown ? (
        <Empty title={t('exchanges.unknown')}>
          <p>{t('exchanges.unknownHelp')}</p>
          <p lang="en">
            <Name text={status.error?.message ?? ''} />
          </p>
        </Empty>
      ) : null}
      {status.error === null || isUnknown ? null : (
        <Failure error={status.error} onRetry={() => void status.refetch()} />
      )}
      {status.data === undefined ? null : <Report data={status.data} />}
    </Page>
  );
}

function ExchangeForm(first: { readonly name: string; readonly jurisdiction: string }): ReactNode {
  const { t } = useI18n();
  const [, change] = useUrlState();
  const [name, setName] = useState(first.name);
  const [jurisdiction, setJurisdiction] = useState(first.jurisdiction);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    change({ name: name.trim(), jurisdiction: jurisdiction.trim().toUpperCase() }, { isStep: true });
  };
  return (
    <form className="section exchange-form only-screen" onSubmit={submit}>
      <Field
        label={t('exchanges.name')}
        hint={t('exchanges.nameHint')}
        value={name}
        required
        maxLength={NAME_MAX}
        spellCheck={false}
        autoComplete="off"
        onChange={(event) => setName(event.target.value)}
      />
      <Field
        label={t('exchanges.jurisdiction')}
        hint={t('exchanges.jurisdictionHint')}
        value={jurisdiction}
        pattern="[A-Za-z]{2}|[Ee][Ee][Aa]"
        autoComplete="off"
        onChange={(event) => setJurisdiction(event.target.value)}
      />
      <Button type="submit" kind="primary">
        {t('exchanges.go')}
      </Button>
    </form>
  );
}

function Report({ data }: { readonly data: Status }): ReactNode {
  return (
    <>
      <Identity data={data} />
      <Designations rows={data.designations} />
      <Registrations data={data} />
      <Registers data={data} />
    </>
  );
}

/** A list of names, or that none is known. */
function Names({ texts }: { readonly texts: readonly string[] }): ReactNode {
  const { list } = useI18n();
  return texts.length === 0 ? <NotKnown /> : <Name text={list(texts)} />;
}

function Identity({ data }: { readonly data: Status }): ReactNode {
  const { t, word, percent } = useI18n();
  const { exchange, matched, sanctioned, closed, aliases, legalEntities, domains, homeJurisdiction } = data;
  const { reasons, restrictedJurisdictions, restrictions } = data;
  return (
    <Section title={plainText(exchange).slice(0, NAME_MAX)}>
      {sanctioned ? <p className="failure exchange-alert">{t('exchanges.sanctioned')}</p> : null}
      {reasons.map(({ code, message }) => (
        <p key={message} className="warning-line">
          {word('reason', code)}: <ServerText text={message} />
        </p>
      ))}
      {matched.exact ? null : (
        <p className="warning-line">
          {t('exchanges.notExact', {
            value: plainText(matched.value),
            share: percent(matched.similarity * 100),
          })}
        </p>
      )}
      {closed === null ? null : (
        <p className="warning-line">
          {t('exchanges.closed', { day: closed.at })} <span lang="en">{closed.note}</span>{' '}
          <Source name={t('label.source')} url={closed.sourceUrl} />
        </p>
      )}
      <dl className="facts">
        <div>
          <dt>{t('exchanges.matchedBy')}</dt>
          <dd>
            {word('matchedBy', matched.by)}: <Name text={matched.value} />
          </dd>
        </div>
        <div>
          <dt>{t('exchanges.home')}</dt>
          <dd>{homeJurisdiction ?? <NotKnown />}</dd>
        </div>
        <div>
          <dt>{t('exchanges.aliases')}</dt>
          <dd>
            <Names texts={aliases} />
          </dd>
        </div>
        <div>
          <dt>{t('exchanges.domains')}</dt>
          <dd>
            <Names texts={domains} />
          </dd>
        </div>
        <div className="is-wide">
          <dt>{t('exchanges.legalEntities')}</dt>
          <dd>
            {legalEntities.length === 0 ? <NotKnown /> : null}
            <ul>
              {legalEntities.map(({ name, jurisdiction, lei, verified }) => (
                <li key={`${name} ${lei}`}>
                  <Name text={[name, jurisdiction, lei].filter((part) => part !== null).join(', ')} />
                  {verified ? null : <span className="muted"> ({t('label.notVerified')})</span>}
                </li>
              ))}
            </ul>
          </dd>
        </div>
        <div>
          <dt>{t('exchanges.restricted')}</dt>
          <dd>
            <Names texts={restrictedJurisdictions} />{' '}
            {restrictions === null ? null : (
              <span className="muted">
                <Source name={t('label.source')} url={restrictions.sourceUrl} /> {restrictions.asOf}
                {restrictions.verified ? '' : `, ${t('label.notVerified')}`}
              </span>
            )}
          </dd>
        </div>
      </dl>
    </Section>
  );
}

const designationKey = ({ list, entityId }: Designation): string => `${list} ${entityId}`;

function Designations({ rows }: { readonly rows: readonly Designation[] }): ReactNode {
  const { t, list } = useI18n();
  const columns = useMemo(
    (): readonly Column<Designation>[] => [
      { id: 'list', header: t('home.list'), value: (row) => row.list },
      {
        id: 'entity',
        header: t('exchanges.party'),
        value: ({ entityName }) => entityName,
        cell: ({ entityName, sourceUrl }) => <Source name={entityName} url={sourceUrl} />,
      },
      {
        id: 'freeze',
        header: t('exchanges.freeze'),
        value: ({ assetFreeze }) =>
          assetFreeze === null ? t('ui.notKnown') : t(assetFreeze ? 'exchanges.yes' : 'exchanges.no'),
      },
      { id: 'measures', header: t('exchanges.measures'), value: ({ measures }) => list(measures) },
      {
        id: 'listed',
        header: t('names.listedAt'),
        value: ({ listedAt }) => listedAt,
        cell: ({ listedAt }) => <Time iso={listedAt} />,
      },
      { id: 'delisted', header: t('exchanges.delisted'), value: ({ delistedAt }) => delistedAt },
    ],
    [t, list],
  );
  if (rows.length === 0) return null;
  return (
    <Section title={t('exchanges.designations')} note={t('exchanges.designationsNote')}>
      <DataTable
        id="designations"
        caption={t('exchanges.designations')}
        columns={columns}
        rows={rows}
        rowKey={designationKey}
        hasControls={false}
      />
    </Section>
  );
}

const registrationKey = (row: Registration, index: number): string =>
  `${row.register} ${row.legalName} ${index}`;
/** States that do not permit business. */
const NOT_IN_FORCE: ReadonlySet<string> = new Set(['WARNING', 'WITHDRAWN', 'REVOKED', 'PENDING']);

function Registrations({ data }: { readonly data: Status }): ReactNode {
  const { t, word, list } = useI18n();
  const columns = useMemo(
    (): readonly Column<Registration>[] => [
      {
        id: 'jurisdiction',
        header: t('exchanges.country'),
        value: (row) => row.jurisdiction,
        hasFilter: true,
      },
      {
        id: 'status',
        header: t('home.state'),
        value: ({ status }) => word('registration', status),
        hasFilter: true,
        cell: ({ status }) => (
          <span className={NOT_IN_FORCE.has(status) ? 'tag is-warning' : 'tag'}>
            {word('registration', status)}
          </span>
        ),
      },
      {
        id: 'authority',
        header: t('exchanges.authority'),
        value: ({ authority }) => authority,
        cell: ({ authority, sourceUrl }) => <Source name={authority} url={sourceUrl} />,
      },
      {
        id: 'as',
        header: t('exchanges.registeredAs'),
        value: ({ registeredAs }) => registeredAs,
        cell: ({ registeredAs }) => <Name text={registeredAs} />,
      },
      {
        id: 'legal',
        header: t('exchanges.legalName'),
        value: ({ legalName }) => legalName,
        cell: ({ legalName, formerNames }) => (
          <>
            <Name text={legalName} />
            {formerNames.length === 0 ? null : (
              <p className="muted">
                {t('exchanges.formerly')} <Name text={list(formerNames)} />
              </p>
            )}
          </>
        ),
      },
      { id: 'number', header: t('exchanges.number'), value: ({ registrationId }) => registrationId },
      {
        id: 'asOf',
        header: t('coverage.asOf'),
        value: ({ asOf }) => asOf,
        cell: ({ asOf, verified }) => (
          <>
            <span className="number">{asOf}</span>{' '}
            {verified ? null : <span className="tag is-warning">{t('label.notVerified')}</span>}
          </>
        ),
      },
      { id: 'until', header: t('exchanges.validUntil'), value: ({ validUntil }) => validUntil },
      { id: 'ended', header: t('exchanges.ended'), value: ({ endedAt }) => endedAt, isHidden: true },
      {
        id: 'services',
        header: t('exchanges.services'),
        value: ({ services }) => list(services),
        isHidden: true,
      },
      {
        id: 'passported',
        header: t('exchanges.passported'),
        value: ({ passportedTo }) => list(passportedTo),
        isHidden: true,
      },
      { id: 'note', header: t('exchanges.note'), value: ({ note }) => note, isHidden: true },
    ],
    [t, word, list],
  );
  return (
    <Section
      title={t('exchanges.registrations')}
      note={
        data.jurisdiction === null
          ? t('exchanges.registrationsNote')
          : t('exchanges.registrationsIn', { jurisdiction: data.jurisdiction })
      }
    >
      <DataTable
        id="registrations"
        caption={t('exchanges.registrations')}
        columns={columns}
        rows={data.registrations}
        rowKey={registrationKey}
        empty={<Empty title={t('exchanges.none')}>{t('exchanges.noneHelp')}</Empty>}
      />
    </Section>
  );
}

const registerKey = ({ id }: Register): string => id;

function Registers({ data }: { readonly data: Status }): ReactNode {
  const { t } = useI18n();
  const { registersChecked, registersNotRead } = data;
  const read = useMemo(() => registersChecked.filter(({ source }) => source !== null), [registersChecked]);
  const unread = registersChecked.filter(({ id }) => registersNotRead.includes(id));
  const columns = useMemo(
    (): readonly Column<Register>[] => [
      { id: 'id', header: t('exchanges.register'), value: ({ id }) => id },
      { id: 'jurisdiction', header: t('exchanges.country'), value: ({ jurisdiction }) => jurisdiction },
      { id: 'asOf', header: t('coverage.asOf'), value: ({ asOf }) => asOf ?? '' },
      { id: 'records', header: t('exchanges.records'), value: ({ records }) => records, isNumber: true },
      {
        id: 'reach',
        header: t('exchanges.reach'),
        value: ({ whole }) => t(whole ? 'exchanges.isWhole' : 'exchanges.isPart'),
      },
    ],
    [t],
  );
  return (
    <Section title={t('exchanges.coverage')} note={t('exchanges.coverageNote')}>
      <DataTable
        id="registers"
        caption={t('exchanges.read')}
        columns={columns}
        rows={read}
        rowKey={registerKey}
        hasControls={false}
        empty={<p className="warning-line">{t('exchanges.noneRead')}</p>}
      />
      {registersNotRead.length === 0 ? null : (
        <div>
          <h3>{t('exchanges.notRead', { count: registersNotRead.length })}</h3>
          <ul className="registers-missing">
            {unread.map(({ id, url, access }) => (
              <li key={id} className="tag is-warning" title={access ?? undefined}>
                <Source name={id} url={url} />
              </li>
            ))}
          </ul>
        </div>
      )}
    </Section>
  );
}
