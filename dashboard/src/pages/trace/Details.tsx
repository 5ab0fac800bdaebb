/** The selection in the picture: its facts, its actions and its note. */
import { Link } from '@tanstack/react-router';
import { type ReactNode, useId, useState } from 'react';
import { useI18n } from '../../i18n/index.tsx';
import { PATHS } from '../../paths.ts';
import { Address } from '../../ui/Address.tsx';
import { amountText } from '../../ui/amount.ts';
import { Button } from '../../ui/Button.tsx';
import { RiskBadge } from '../../ui/RiskBadge.tsx';
import { Failure } from '../../ui/states.tsx';
import { Money, Name, Time } from '../../ui/values.tsx';
import { CREDITS } from './answer.ts';
import { NOTE_MAX } from './file.ts';
import { canCollapse, type Picture } from './picture.ts';
import type { View, ViewEdge, ViewNode } from './view.ts';

export interface DetailsProps {
  readonly picture: Picture;
  readonly view: View;
  readonly selected: string | null;
  readonly isBusy: boolean;
  readonly error: Error | null;
  readonly onExpand: (address: string) => void;
  readonly onReveal: (group: string, count: number) => void;
  readonly onNote: (id: string, text: string) => void;
  /** Hides or draws what is behind an address. */
  readonly onFold: (id: string) => void;
}

/** Addresses that one press draws of those that are counted. */
const REVEAL = 25;

/** Shows the selection. */
export function Details(props: DetailsProps): ReactNode {
  const { t } = useI18n();
  const { view, selected, error } = props;
  const node = view.nodes.find(({ id }) => id === selected);
  const edge = node === undefined ? view.edges.find(({ id }) => id === selected) : undefined;
  return (
    <section className="trace-details" aria-label={t('trace.selected')} aria-live="polite">
      {node === undefined && edge === undefined ? <p className="muted">{t('trace.selectHelp')}</p> : null}
      {node === undefined ? null : <OfNode key={node.id} {...props} node={node} />}
      {edge === undefined ? null : <OfEdge key={edge.id} {...props} edge={edge} />}
      {error === null ? null : <Failure error={error} />}
    </section>
  );
}

function OfNode(props: DetailsProps & { readonly node: ViewNode }): ReactNode {
  const { t, word } = useI18n();
  const { picture, node: shown, isBusy, onExpand, onReveal, onNote, onFold } = props;
  const { node, id, count } = shown;
  if (node === null)
    return (
      <>
        <h2>{t('trace.more', { count })}</h2>
        <p>{t('trace.groupHelp', { count })}</p>
        <div className="actions">
          <Button onClick={() => onReveal(id, REVEAL)}>
            {t('trace.reveal', { count: Math.min(count, REVEAL) })}
          </Button>
        </div>
      </>
    );
  const isExpanded = picture.expanded.has(id);
  return (
    <>
      <h2>{node.name === null ? t('addresses.noLabel') : <Name text={node.name} />}</h2>
      <Address address={id} chain={picture.chain} />
      <div className="trace-facts">
        <RiskBadge level={node.threatLevel} />
        <span>{word('category', node.category)}</span>
        {node.sanctioned ? <strong className="sanctioned">{t('addresses.sanctioned')}</strong> : null}
      </div>
      {node.stop === null ? null : <p>{word('traceStop', node.stop)}</p>}
      <div className="actions">
        {isExpanded ? (
          <span className="muted">{t('trace.expanded')}</span>
        ) : (
          <Button kind="primary" isBusy={isBusy} onClick={() => onExpand(id)}>
            {t('trace.expand', { credits: CREDITS.graph })}
          </Button>
        )}
        {picture.collapsed.has(id) || canCollapse(picture, id) ? (
          <Button aria-keyshortcuts="c" onClick={() => onFold(id)}>
            {t(picture.collapsed.has(id) ? 'trace.open' : 'trace.collapse')}
          </Button>
        ) : null}
        {id === picture.start ? null : (
          <Link className="button plain" to={PATHS.trace} params={{ chain: picture.chain, address: id }}>
            {t('trace.startHere', { credits: CREDITS.graph })}
          </Link>
        )}
      </div>
      <Note id={id} text={picture.notes.get(id) ?? ''} onNote={onNote} />
    </>
  );
}

/** Transfers of a pair that the panel lists; the table has all. */
const LISTED = 8;

function OfEdge(props: DetailsProps & { readonly edge: ViewEdge }): ReactNode {
  const { t } = useI18n();
  const { picture, view, edge, onNote } = props;
  const end = (id: string): ReactNode => {
    const node = view.nodes.find((each) => each.id === id);
    return node?.node === null ? (
      t('trace.more', { count: node.count })
    ) : (
      <Address address={id} chain={picture.chain} />
    );
  };
  const [first] = edge.edges;
  return (
    <>
      <h2>{t('trace.pair')}</h2>
      <dl className="trace-pair">
        <div>
          <dt>{t('trace.from')}</dt>
          <dd>{end(edge.from)}</dd>
        </div>
        <div>
          <dt>{t('trace.to')}</dt>
          <dd>{end(edge.to)}</dd>
        </div>
      </dl>
      <ul className="trace-amounts">
        {edge.edges.slice(0, LISTED).map(({ id, asset, value, usd, transfers, firstSeen, lastSeen }) => (
          <li key={id}>
            <span>
              {amountText(value)} <Name text={asset} />
            </span>{' '}
            <Money usd={usd} />, {t('flow.transfers', { count: transfers })}
            <br />
            <span className="muted">
              <Time iso={firstSeen} /> – <Time iso={lastSeen} />
            </span>
          </li>
        ))}
      </ul>
      {edge.edges.length > LISTED ? (
        <p className="muted">{t('trace.moreAssets', { count: edge.edges.length - LISTED })}</p>
      ) : null}
      {first === undefined ? null : (
        <Note id={first.id} text={picture.notes.get(first.id) ?? ''} onNote={onNote} />
      )}
    </>
  );
}

interface NoteProps {
  readonly id: string;
  readonly text: string;
  readonly onNote: (id: string, text: string) => void;
}

function Note({ id, text, onNote }: NoteProps): ReactNode {
  const { t } = useI18n();
  const field = useId();
  const [draft, setDraft] = useState<string | null>(null);
  const value = draft ?? text;
  const save = (): void => {
    onNote(id, value);
    setDraft(null);
  };
  return (
    <div className="field">
      <label htmlFor={field}>{t('trace.note')}</label>
      <textarea
        dir="auto"
        id={field}
        rows={2}
        maxLength={NOTE_MAX}
        value={value}
        onChange={(event) => setDraft(event.target.value)}
      />
      <div className="actions">
        <Button aria-disabled={draft === null || draft === text} onClick={save}>
          {t('trace.noteSave')}
        </Button>
      </div>
    </div>
  );
}
