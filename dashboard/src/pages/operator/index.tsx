/** `/operator`: the state of the whole installation, for the people who operate it. */
import '../../styles/manage.css';
import '../../styles/tabs.css';
import { Tabs } from '@base-ui/react/tabs';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { call } from '../../api/client.ts';
import { useI18n } from '../../i18n/index.tsx';
import type { MessageKey } from '../../i18n/messages.ts';
import type { OPERATOR_TABS } from '../../shell/link-check.ts';
import { Button } from '../../ui/Button.tsx';
import { Page } from '../../ui/Page.tsx';
import { Failure, Loading } from '../../ui/states.tsx';
import { useUrlState } from '../../ui/url-state.ts';
import { Chains } from './Chains.tsx';
import { Health } from './Health.tsx';
import { Imports } from './Imports.tsx';
import { Labels } from './Labels.tsx';
import { Nodes } from './Nodes.tsx';
import { type OperatorStatus, POLL_MS } from './parts.tsx';
import { QueuesTab } from './Queues.tsx';

interface TabOf {
  readonly id: (typeof OPERATOR_TABS)[number];
  readonly label: MessageKey;
  readonly content: (props: { readonly status: OperatorStatus }) => ReactNode;
}

const FIRST = 'health';

const TABS: readonly TabOf[] = [
  { id: FIRST, label: 'operator.health', content: Health },
  { id: 'labels', label: 'operator.labels', content: Labels },
  { id: 'chains', label: 'home.chains', content: Chains },
  { id: 'queues', label: 'operator.queues', content: QueuesTab },
  { id: 'nodes', label: 'status.nodes', content: Nodes },
  { id: 'imports', label: 'operator.imports', content: Imports },
];

/** The page. It asks again while it is visible. */
export function OperatorPage(): ReactNode {
  const { t } = useI18n();
  const status = useQuery({
    queryKey: ['operator', 'status'],
    queryFn: ({ signal }) => call('get', '/operator/status', { signal }),
    refetchInterval: POLL_MS,
    staleTime: POLL_MS / 2,
  });
  const again = (
    <Button isBusy={status.isFetching} onClick={() => void status.refetch()}>
      {t('status.again')}
    </Button>
  );
  return (
    <Page title={t('operator.title')} actions={again}>
      {status.isPending ? <Loading lines={8} /> : null}
      {status.error === null ? null : <Failure error={status.error} onRetry={() => void status.refetch()} />}
      {status.data === undefined ? null : <Parts status={status.data} />}
    </Page>
  );
}

function Parts({ status }: { readonly status: OperatorStatus }): ReactNode {
  const { t } = useI18n();
  const [{ tab = FIRST }, change] = useUrlState();
  const chosen = TABS.some(({ id }) => id === tab) ? tab : FIRST;
  return (
    <Tabs.Root
      value={chosen}
      onValueChange={(value) => change({ tab: value === FIRST ? '' : String(value) }, { isStep: true })}
      className="tabs"
    >
      <Tabs.List className="tab-list" aria-label={t('operator.parts')}>
        {TABS.map(({ id, label }) => (
          <Tabs.Tab key={id} value={id} className="tab">
            {t(label)}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {TABS.map(({ id, content: Content }) => (
        <Tabs.Panel key={id} value={id} className="tab-panel">
          <Content status={status} />
        </Tabs.Panel>
      ))}
    </Tabs.Root>
  );
}
