/** The options of a screening. They are in the URL; a change is a new, charged screening, so a button applies them. */

import { CHAINS } from 'assay:chains';
import { JURISDICTIONS } from 'assay:facts';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useEffect, useMemo, useState } from 'react';
import { SCREENING_HOPS, TAINT_METHODS } from '../../api/choices.ts';
import { useI18n } from '../../i18n/index.tsx';
import { PATHS } from '../../paths.ts';
import { chainOf } from '../../ui/Address.tsx';
import { Button } from '../../ui/Button.tsx';
import { Choice, Field } from '../../ui/Field.tsx';
import { useUrlState } from '../../ui/url-state.ts';
import { STANDARD_TAINT } from './ask.ts';

interface OptionsFormProps {
  readonly chain: string;
  readonly address: string;
}

/** Policies that follow single outputs, which only these chains have. */
const OUTPUTS_ONLY: ReadonlySet<string> = new Set(['fifo', 'lifo', 'tiho']);
const STANDARD_HOPS = '3';
const STANDARD_JURISDICTION = 'CH';

/** The form. */
export function OptionsForm({ chain, address }: OptionsFormProps): ReactNode {
  const { t, word, language } = useI18n();
  const navigate = useNavigate();
  const [search, change] = useUrlState();
  const [asOf, setAsOf] = useState(search.asOf ?? '');
  const [jurisdiction, setJurisdiction] = useState(search.jurisdiction ?? STANDARD_JURISDICTION);
  const [taint, setTaint] = useState(search.taint ?? STANDARD_TAINT);
  const [hops, setHops] = useState(search.hops ?? STANDARD_HOPS);
  const [on, setOn] = useState(chain);
  // The way back leads to the answer of other options.
  useEffect(() => {
    setAsOf(search.asOf ?? '');
    setJurisdiction(search.jurisdiction ?? STANDARD_JURISDICTION);
    setTaint(search.taint ?? STANDARD_TAINT);
    setHops(search.hops ?? STANDARD_HOPS);
  }, [search.asOf, search.jurisdiction, search.taint, search.hops]);
  const family = chainOf(chain)?.family;
  const countries = useMemo(() => {
    const names = new Intl.DisplayNames(language, { type: 'region' });
    return JURISDICTIONS.map((code) => ({ value: code, label: names.of(code) ?? code })).toSorted((a, b) =>
      a.label.localeCompare(b.label, language),
    );
  }, [language]);
  const chains = CHAINS.filter((each) => each.family === 'evm').map(({ id, name }) => ({
    value: id,
    label: name,
  }));
  const methods = TAINT_METHODS.filter((method) => family === 'utxo' || !OUTPUTS_ONLY.has(method));
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const options = {
      asOf,
      jurisdiction: jurisdiction === STANDARD_JURISDICTION ? '' : jurisdiction,
      taint: taint === STANDARD_TAINT ? '' : taint,
      hops: hops === STANDARD_HOPS ? '' : hops,
    };
    if (on === chain) change(options, { isStep: true });
    else void navigate({ to: PATHS.screening, params: { chain: on, address }, search: options as never });
  };
  return (
    <details className="options only-screen">
      <summary>{t('options.title')}</summary>
      <form className="options-form" onSubmit={submit}>
        {family === 'evm' ? (
          <Choice label={t('search.chain')} value={on} options={chains} onChange={setOn} />
        ) : null}
        <Field
          label={t('options.asOf')}
          type="date"
          max={new Date().toISOString().slice(0, 10)}
          value={asOf}
          onChange={(event) => setAsOf(event.target.value)}
        />
        <Choice
          label={t('options.jurisdiction')}
          value={jurisdiction}
          options={countries}
          onChange={setJurisdiction}
        />
        <Choice
          label={t('options.taint')}
          value={taint}
          options={methods.map((value) => ({ value, label: word('taint', value) }))}
          onChange={setTaint}
        />
        <Choice
          label={t('exposure.hops')}
          value={hops}
          options={SCREENING_HOPS.map((count) => ({ value: String(count), label: String(count) }))}
          onChange={setHops}
        />
        <Button type="submit" kind="primary">
          {t('options.go')}
        </Button>
      </form>
    </details>
  );
}
