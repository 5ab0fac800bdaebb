/** References of a case: alerts, wallets, addresses, screenings, transactions, names. */
import { CHAINS } from 'assay:chains';
import { Link } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useState } from 'react';
import { endDraft, useDraft } from '../../api/drafts.ts';
import { type I18n, useI18n } from '../../i18n/index.tsx';
import { PATHS } from '../../paths.ts';
import { Address, shorten } from '../../ui/Address.tsx';
import { Button } from '../../ui/Button.tsx';
import { Choice, Field } from '../../ui/Field.tsx';
import { Section } from '../../ui/Page.tsx';
import { Failure } from '../../ui/states.tsx';
import { Name } from '../../ui/values.tsx';
import { CREDITS, searchOf } from '../trace/answer.ts';
import { type Case, type CaseLink, useEvent } from './use-case.ts';

/** Limits of the API (`CaseLinkBody`). */
const LABEL_CHARS_MAX = 120;
const NAME_CHARS_MAX = 200;

/** Kinds of links that a person can enter here. The pages of their records add them with less work, and with what they show. */
const KINDS = ['ADDRESS', 'TRANSACTION', 'TRACE', 'SCREENING', 'ALERT', 'WALLET', 'NAME'] as const;
type Kind = (typeof KINDS)[number];
const hasChain = (kind: Kind): boolean => kind === 'ADDRESS' || kind === 'TRANSACTION' || kind === 'TRACE';
const isById = (kind: Kind): boolean => kind === 'SCREENING' || kind === 'ALERT' || kind === 'WALLET';

/** Returns a link in a few words. */
export function linkText(link: CaseLink, { word }: Pick<I18n, 'word'>): string {
  const { address, chain, name, id } = link;
  const reference =
    name ?? (address === null ? (id === null ? '' : shorten(id)) : `${chain} ${shorten(address)}`);
  return `${word('linkType', link.type)}: ${reference}`;
}

/** Shows the links, and the form for another one. */
export function Links({ one }: { readonly one: Case }): ReactNode {
  const { t } = useI18n();
  return (
    <Section title={t('cases.links')}>
      {one.links.length === 0 ? <p className="muted">{t('cases.noLinks')}</p> : null}
      <ul className="rows">
        {one.links.map((link) => (
          <li key={link.event}>
            <OneLink link={link} />
          </li>
        ))}
      </ul>
      {one.status === 'CLOSED' ? null : <LinkForm one={one} />}
    </Section>
  );
}

function OneLink({ link }: { readonly link: CaseLink }): ReactNode {
  const { t, word } = useI18n();
  const { type, id, address, chain, name, label, answer } = link;
  return (
    <>
      <span className="tag">{word('linkType', type)}</span>{' '}
      {label === null ? null : (
        <>
          <Name text={label} />{' '}
        </>
      )}
      {name === null ? null : <Name text={name} />}
      {address === null ? null : <Address address={address} chain={chain} />}
      {type === 'TRANSACTION' && id !== null ? <bdi className="mono">{id}</bdi> : null}{' '}
      {type === 'ALERT' && address !== null ? (
        <Link to={PATHS.alerts} search={{ address } as never}>
          {t('cases.toAlerts')}
        </Link>
      ) : null}
      {type === 'WALLET' && id !== null ? (
        <Link to={PATHS.wallet} params={{ id }}>
          {t('alerts.toWallet')}
        </Link>
      ) : null}
      {type === 'SCREENING' && id !== null ? (
        <Link to={PATHS.savedOne} params={{ id }}>
          {t('cases.toSaved')}
        </Link>
      ) : null}
      {type === 'TRACE' && address !== null && chain !== null ? (
        <TraceLink address={address} chain={chain} trace={link.trace} />
      ) : null}
      {answer === null ? null : (
        <p className="muted">
          {t(answer.origin === 'SERVICE' ? 'cases.answerService' : 'cases.answerClient')}
          {answer.dataVersion === null ? null : (
            <>
              {' '}
              <code>{answer.dataVersion}</code>
            </>
          )}
        </p>
      )}
    </>
  );
}

/** The way back to a trace with the filter that the person had. Later labels and transfers may show in it. */
function TraceLink({
  address,
  chain,
  trace,
}: Pick<CaseLink, 'trace'> & { readonly address: string; readonly chain: string }): ReactNode {
  const { t } = useI18n();
  const search = trace === null ? {} : searchOf(trace);
  return (
    <>
      <Link to={PATHS.trace} params={{ chain, address }} search={search as never}>
        {t('cases.toTrace', { credits: search.target === undefined ? CREDITS.graph : CREDITS.path })}
      </Link>
      {trace === null ? null : <TraceFacts trace={trace} />}
    </>
  );
}

function TraceFacts({ trace }: { readonly trace: NonNullable<CaseLink['trace']> }): ReactNode {
  const { t } = useI18n();
  const { direction, hops, targetAddress, minUsd, since, until, dataVersion } = trace;
  const facts = [
    t(`trace.direction.${direction}`),
    `${t('exposure.hops')} ${hops}`,
    targetAddress === null ? null : `${t('trace.target')} ${shorten(targetAddress)}`,
    minUsd === null ? null : `${t('trace.min')} ${minUsd}`,
    since === null ? null : `${t('trace.since')} ${since}`,
    until === null ? null : `${t('trace.until')} ${until}`,
  ];
  return (
    <p className="muted">
      {facts.filter((fact) => fact !== null).join(' · ')}
      {dataVersion === null ? null : (
        <>
          {' '}
          <code>{dataVersion}</code>
        </>
      )}
    </p>
  );
}

function LinkForm({ one }: { readonly one: Case }): ReactNode {
  const { t, word } = useI18n();
  const event = useEvent(one);
  const [kind, setKind] = useState<Kind>('ADDRESS');
  const [chain, setChain] = useState('ETH');
  const places = { text: `link ${one.id}`, label: `label ${one.id}` };
  const [text, setText] = useDraft(places.text);
  const [label, setLabel] = useDraft(places.label);
  // A text that was kept is shown.
  const [isOpen] = useState(text + label !== '');
  const submit = (submitted: FormEvent): void => {
    submitted.preventDefault();
    const value = text.trim();
    const reference = {
      ADDRESS: { address: value, chain },
      TRANSACTION: { id: value, chain },
      TRACE: { address: value, chain },
      SCREENING: { id: value },
      ALERT: { id: value },
      WALLET: { id: value },
      NAME: { name: value },
    }[kind];
    const link = { type: kind, ...reference, ...(label.trim() === '' ? {} : { label: label.trim() }) };
    void event.mutateAsync({ type: 'LINK', link } as never).then(
      () => {
        endDraft(places.text, text);
        endDraft(places.label, label);
      },
      () => {},
    );
  };
  return (
    <details className="only-screen" open={isOpen}>
      <summary>{t('cases.addLink')}</summary>
      <form className="inline-form" onSubmit={submit}>
        <Choice
          label={t('cases.linkKind')}
          value={kind}
          options={KINDS.map((value) => ({ value, label: word('linkType', value) }))}
          onChange={(value) => setKind(value as Kind)}
        />
        {hasChain(kind) ? (
          <Choice
            label={t('search.chain')}
            value={chain}
            options={CHAINS.map(({ id, name }) => ({ value: id, label: name }))}
            onChange={setChain}
          />
        ) : null}
        <Field
          label={isById(kind) ? t('cases.idOf', { kind: word('linkType', kind) }) : word('linkType', kind)}
          value={text}
          required
          maxLength={NAME_CHARS_MAX}
          spellCheck={false}
          autoComplete="off"
          onChange={(changed) => setText(changed.target.value)}
        />
        <Field
          label={t('cases.label')}
          value={label}
          maxLength={LABEL_CHARS_MAX}
          autoComplete="off"
          onChange={(changed) => setLabel(changed.target.value)}
        />
        <Button type="submit" isBusy={event.isPending}>
          {t('cases.addLink')}
        </Button>
      </form>
      {event.error === null ? null : <Failure error={event.error} />}
    </details>
  );
}
