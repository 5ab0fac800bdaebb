/** A screening as a report: the verdict first, then the sum, then the evidence, then everything else behind tabs. */
import { Tabs } from '@base-ui/react/tabs';
import type { ReactNode } from 'react';
import { useI18n } from '../../i18n/index.tsx';
import type { MessageKey } from '../../i18n/messages.ts';
import type { SCREENING_TABS } from '../../shell/link-check.ts';
import { useUrlState } from '../../ui/url-state.ts';
import { Arithmetic } from './Arithmetic.tsx';
import type { Screening } from './ask.ts';
import { Counterparties } from './Counterparties.tsx';
import { Coverage, Holder } from './Coverage.tsx';
import { Evidence } from './Evidence.tsx';
import { Exposure, Taint } from './Exposure.tsx';
import { Legal } from './Legal.tsx';
import { PrintedReceipt } from './PrintedReceipt.tsx';
import { Transactions } from './Transactions.tsx';
import { Verdict } from './Verdict.tsx';
import '../../styles/tabs.css';
import './screening.css';

interface TabRow {
  readonly id: (typeof SCREENING_TABS)[number];
  readonly label: MessageKey;
  readonly content: (props: { readonly data: Screening }) => ReactNode;
}

const TABS: readonly TabRow[] = [
  {
    id: 'exposure',
    label: 'tab.exposure',
    content: ({ data }) => (
      <>
        <Exposure data={data} />
        <Taint data={data} />
      </>
    ),
  },
  { id: 'counterparties', label: 'tab.counterparties', content: Counterparties },
  { id: 'transfers', label: 'tab.transfers', content: Transactions },
  { id: 'legal', label: 'tab.legal', content: Legal },
  {
    id: 'coverage',
    label: 'tab.coverage',
    content: ({ data }) => (
      <>
        <Coverage data={data} />
        <Holder data={data} />
      </>
    ),
  },
];

/** The parts of the answer. */
export function Report({ data }: { readonly data: Screening }): ReactNode {
  const { t, time } = useI18n();
  const [{ tab = 'exposure' }, change] = useUrlState();
  const chosen = TABS.some(({ id }) => id === tab) ? tab : 'exposure';
  return (
    <>
      <Verdict data={data} />
      <Arithmetic data={data} />
      <Evidence data={data} />
      <Tabs.Root
        value={chosen}
        onValueChange={(value) =>
          change({ tab: value === 'exposure' ? '' : String(value) }, { isStep: true })
        }
        className="tabs"
      >
        <Tabs.List className="tab-list" aria-label={t('tab.label')}>
          {TABS.map(({ id, label }) => (
            <Tabs.Tab key={id} value={id} className="tab">
              {t(label)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {TABS.map(({ id, content: Content }) => (
          // The report prints all of them.
          <Tabs.Panel key={id} value={id} keepMounted className="tab-panel">
            <Content data={data} />
          </Tabs.Panel>
        ))}
      </Tabs.Root>
      {data.receipt === undefined ? null : <PrintedReceipt receipt={data.receipt} />}
      <p className="only-print muted">
        {t('screening.printed', { time: time(data.screenedAt), url: location.href })}
      </p>
    </>
  );
}
