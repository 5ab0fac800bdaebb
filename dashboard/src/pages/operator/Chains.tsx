/** Chains that are followed, how far behind their heads they are, and the endpoints that they are read from. */
import { type ReactNode, useMemo } from 'react';
import { useI18n } from '../../i18n/index.tsx';
import { Address, ChainMark } from '../../ui/Address.tsx';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Section } from '../../ui/Page.tsx';
import { Empty } from '../../ui/states.tsx';
import { Name, NotKnown, ServerText } from '../../ui/values.tsx';
import { Count, type OperatorStatus, State, useSpan } from './parts.tsx';

type Chain = OperatorStatus['chains'][number];
type Gas = OperatorStatus['gasAccounts'][number];
type Endpoint = Chain['endpoints'][number] & { readonly chain: string };

const chainKey = ({ chain }: Chain): string => chain;
const endpointKey = ({ chain, endpoint }: Endpoint, index: number): string => `${chain} ${endpoint} ${index}`;

const errorCell = ({ lastError }: { readonly lastError: string | null }): ReactNode =>
  lastError === null ? '–' : <ServerText text={lastError} />;

/** The tab: followed chains, their endpoints, and the account that pays gas on them. */
export function Chains({ status }: { readonly status: OperatorStatus }): ReactNode {
  const { t, word } = useI18n();
  const span = useSpan();
  const { chains, shared } = status;
  const columns = useMemo(
    (): readonly Column<Chain>[] => [
      {
        id: 'chain',
        header: t('home.chain'),
        value: ({ chain }) => chain,
        cell: ({ chain }) => <ChainMark chain={chain} />,
      },
      {
        id: 'state',
        header: t('home.state'),
        value: ({ state }) => word('chainState', state),
        cell: ({ state, following }) => <State word={word('chainState', state)} isGood={following} />,
      },
      {
        id: 'height',
        header: t('status.height'),
        value: ({ height }) => height,
        cell: ({ height }) => <Count value={height} />,
        isNumber: true,
      },
      {
        id: 'head',
        header: t('operator.head'),
        value: ({ head }) => head,
        cell: ({ head }) => <Count value={head} />,
        isNumber: true,
      },
      {
        id: 'blocks',
        header: t('operator.lagBlocks'),
        value: ({ lagBlocks }) => lagBlocks,
        cell: ({ lagBlocks }) => <Count value={lagBlocks} />,
        isNumber: true,
      },
      {
        id: 'lag',
        header: t('operator.lagTime'),
        value: ({ lagSeconds }) => lagSeconds,
        cell: ({ lagSeconds }) => (lagSeconds === null ? <NotKnown /> : span(lagSeconds)),
        isNumber: true,
      },
      ...(shared
        ? [
            {
              id: 'node',
              header: t('operator.node'),
              value: ({ node }: Chain) => node,
              cell: ({ node }: Chain) => (node === null ? <NotKnown /> : <Name text={node} />),
            },
          ]
        : []),
      {
        id: 'error',
        header: t('operator.lastError'),
        value: ({ lastError, reason }) => lastError ?? reason,
        cell: ({ lastError, reason }) => errorCell({ lastError: lastError ?? reason }),
      },
    ],
    [t, word, span, shared],
  );
  const endpoints = useMemo(
    () => chains.flatMap(({ chain, endpoints }) => endpoints.map((endpoint) => ({ ...endpoint, chain }))),
    [chains],
  );
  return (
    <>
      <Section title={t('home.chains')} note={t('home.chainsNote')}>
        <DataTable
          id="chains"
          caption={t('home.chains')}
          columns={columns}
          rows={chains}
          rowKey={chainKey}
          empty={
            <Empty title={t('status.noChains')}>
              {t('operator.noChainsHelp')} <code>ASSAY_RPC_ETH=https://…</code>
            </Empty>
          }
        />
      </Section>
      {endpoints.length === 0 ? null : <Endpoints endpoints={endpoints} />}
      {status.gasAccounts.length === 0 ? null : <GasAccounts accounts={status.gasAccounts} />}
    </>
  );
}

function Endpoints({ endpoints }: { readonly endpoints: readonly Endpoint[] }): ReactNode {
  const { t, word, number } = useI18n();
  const columns = useMemo(
    (): readonly Column<Endpoint>[] => [
      {
        id: 'chain',
        header: t('home.chain'),
        value: ({ chain }) => chain,
        cell: ({ chain }) => <ChainMark chain={chain} />,
      },
      {
        id: 'endpoint',
        header: t('operator.endpoint'),
        value: ({ endpoint }) => endpoint,
        cell: ({ endpoint }) => <Name text={endpoint} />,
      },
      {
        id: 'state',
        header: t('home.state'),
        value: ({ state }) => word('endpointState', state),
        cell: ({ state }) => (
          <State word={word('endpointState', state)} isGood={state === 'UP' || state === 'UNTRIED'} />
        ),
      },
      {
        id: 'latency',
        header: t('operator.latency'),
        value: ({ latencyMs }) => latencyMs,
        cell: ({ latencyMs }) => (latencyMs === null ? <NotKnown /> : `${number(latencyMs)} ms`),
        isNumber: true,
      },
      {
        id: 'failures',
        header: t('operator.failures'),
        value: ({ failures }) => failures,
        cell: ({ failures }) => number(failures),
        isNumber: true,
      },
      {
        id: 'error',
        header: t('operator.lastError'),
        value: ({ lastError }) => lastError,
        cell: errorCell,
      },
    ],
    [t, word, number],
  );
  return (
    <Section title={t('operator.endpoints')} note={t('operator.endpointsNote')}>
      <DataTable
        id="endpoints"
        caption={t('operator.endpoints')}
        columns={columns}
        rows={endpoints}
        rowKey={endpointKey}
        hasControls={false}
      />
    </Section>
  );
}

const gasKey = ({ chain }: Gas): string => chain;

function GasAccounts({ accounts }: { readonly accounts: readonly Gas[] }): ReactNode {
  const { t } = useI18n();
  const columns = useMemo(
    (): readonly Column<Gas>[] => [
      {
        id: 'chain',
        header: t('home.chain'),
        value: ({ chain }) => chain,
        cell: ({ chain }) => <ChainMark chain={chain} />,
      },
      {
        id: 'address',
        header: t('addresses.address'),
        value: ({ address }) => address,
        cell: ({ address, chain }) => <Address address={address} chain={chain} />,
      },
      {
        id: 'balance',
        header: t('operator.gasBalance'),
        value: ({ balance }) => Number(balance),
        cell: ({ balance, symbol }) => `${balance} ${symbol}`,
        isNumber: true,
      },
      {
        id: 'left',
        header: t('operator.gasLeft'),
        value: ({ paymentsLeft }) => paymentsLeft,
        cell: ({ paymentsLeft }) => <Count value={paymentsLeft} />,
        isNumber: true,
      },
      {
        id: 'problem',
        header: t('operator.gasProblem'),
        value: ({ problem }) => problem,
        cell: ({ problem }) => (problem === null ? '–' : <ServerText text={problem} />),
      },
    ],
    [t],
  );
  return (
    <Section title={t('operator.gas')} note={t('operator.gasNote')}>
      <DataTable
        id="gas-accounts"
        caption={t('operator.gas')}
        columns={columns}
        rows={accounts}
        rowKey={gasKey}
        hasControls={false}
      />
    </Section>
  );
}
