/** The options of a trace and the filter of its picture, all in the URL. A change of the options is a new, charged trace. */

import { type FormEvent, type ReactNode, useEffect, useState } from 'react';
import { TRACE_DEPTHS, TRACE_DIRECTIONS, TRACE_HOPS } from '../../api/choices.ts';
import { useI18n } from '../../i18n/index.tsx';
import { Button } from '../../ui/Button.tsx';
import { Choice, Field } from '../../ui/Field.tsx';
import { useTypedText, useUrlState } from '../../ui/url-state.ts';
import { CREDITS, optionsIn, wantTrace } from './answer.ts';

const STANDARD_DEPTH = '3';
/** Without a last day, browsers take years of six digits, which no link can have. */
const LAST_DAY = '9999-12-31';

interface OptionsFormProps {
  readonly chain: string;
  readonly address: string;
}

/** The form of the options. */
export function OptionsForm({ chain, address }: OptionsFormProps): ReactNode {
  const { t } = useI18n();
  const [search, change] = useUrlState();
  const [direction, setDirection] = useState(search.direction ?? 'both');
  const [hops, setHops] = useState(search.hops ?? '1');
  const [target, setTarget] = useState(search.target ?? '');
  const [depth, setDepth] = useState(search.depth ?? STANDARD_DEPTH);
  const [inTime, setInTime] = useState(search.inTime === '1');
  const [bridges, setBridges] = useState(search.bridges === '1');
  // The way back leads to the answer of other options.
  useEffect(() => {
    setDirection(search.direction ?? 'both');
    setHops(search.hops ?? '1');
    setTarget(search.target ?? '');
    setDepth(search.depth ?? STANDARD_DEPTH);
    setInTime(search.inTime === '1');
    setBridges(search.bridges === '1');
  }, [search.direction, search.hops, search.target, search.depth, search.inTime, search.bridges]);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const isPath = target.trim() !== '';
    const next = {
      direction: direction === 'both' ? '' : direction,
      hops: hops === '1' ? '' : hops,
      target: target.trim(),
      depth: isPath && depth !== STANDARD_DEPTH ? depth : '',
      inTime: isPath && inTime ? '1' : '',
      bridges: bridges ? '1' : '',
    };
    wantTrace(chain, address, optionsIn(next));
    change(next, { isStep: true });
  };
  const options = (values: readonly string[]) => values.map((value) => ({ value, label: value }));
  return (
    <details className="options only-screen">
      <summary>{t('trace.options')}</summary>
      <form className="options-form" onSubmit={submit}>
        <Choice
          label={t('exposure.direction')}
          value={direction}
          options={TRACE_DIRECTIONS.map((value) => ({ value, label: t(`trace.direction.${value}`) }))}
          onChange={setDirection}
        />
        <Choice label={t('exposure.hops')} value={hops} options={options(TRACE_HOPS)} onChange={setHops} />
        <Field
          label={t('trace.target')}
          hint={t('trace.targetHint', { credits: CREDITS.path })}
          value={target}
          spellCheck={false}
          autoComplete="off"
          onChange={(event) => setTarget(event.target.value)}
        />
        {target.trim() === '' ? null : (
          <>
            <Choice
              label={t('trace.depth')}
              value={depth}
              options={options(TRACE_DEPTHS)}
              onChange={setDepth}
            />
            <Check label={t('trace.inTime')} isOn={inTime} onChange={setInTime} />
          </>
        )}
        <Check label={t('trace.bridges')} isOn={bridges} onChange={setBridges} />
        <Button type="submit" kind="primary">
          {t('trace.go', { credits: target.trim() === '' ? CREDITS.graph : CREDITS.path })}
        </Button>
      </form>
    </details>
  );
}

function Check(props: {
  readonly label: string;
  readonly isOn: boolean;
  readonly onChange: (isOn: boolean) => void;
}): ReactNode {
  return (
    <label className="check">
      <input
        type="checkbox"
        checked={props.isOn}
        onChange={(event) => props.onChange(event.target.checked)}
      />
      {props.label}
    </label>
  );
}

/** The filter of the picture and of the table of transfers. It applies at once and costs nothing. */
export function FilterForm(): ReactNode {
  const { t } = useI18n();
  const [search, change] = useUrlState();
  const [min, setMin] = useTypedText(search.min ?? '', (text) => change({ min: text }));
  return (
    <search className="trace-filter" aria-label={t('trace.filter')}>
      <Field
        label={t('trace.min')}
        type="number"
        min="0"
        step="any"
        value={min}
        onChange={(event) => setMin(event.target.value)}
      />
      <Field
        label={t('trace.since')}
        type="date"
        max={LAST_DAY}
        value={search.since ?? ''}
        onChange={(event) => change({ since: event.target.value })}
      />
      <Field
        label={t('trace.until')}
        type="date"
        max={LAST_DAY}
        value={search.until ?? ''}
        onChange={(event) => change({ until: event.target.value })}
      />
    </search>
  );
}
