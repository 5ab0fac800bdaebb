/** The picture of exposure, as SVG. The table below it has the same. */
import { THREAT_LEVELS } from 'assay:facts';
import { type ReactNode, useMemo } from 'react';
import { useI18n } from '../../i18n/index.tsx';
import { shorten } from '../../ui/Address.tsx';
import { RISK_SHAPES, riskShape } from '../../ui/RiskBadge.tsx';
import type { Screening } from './ask.ts';
import { exposureFlow, type FlowNode, WIDTH } from './sankey-graph.ts';

/** An unattributed share has no level: it is neither safe nor dangerous. */
const levelOf = (category: string): string =>
  category === 'UNKNOWN' ? 'UNKNOWN' : (THREAT_LEVELS[category] ?? 'UNKNOWN');

const classOf = (category: string): string => `flow-${riskShape(levelOf(category)).toLowerCase()}`;

/** Shows the picture. */
export function Sankey({ data }: { readonly data: Screening }): ReactNode {
  const { t } = useI18n();
  const flow = useMemo(() => exposureFlow(data), [data]);
  if (flow === null) return null;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls on narrow screens, and must be reachable by keyboard
    <figure className="sankey" aria-label={t('exposure.picture')} tabIndex={0}>
      <svg viewBox={`0 0 ${WIDTH} ${flow.height}`} role="img" aria-label={t('exposure.picture')}>
        {flow.links.map(({ id, category, path, width }) => (
          <path key={id} d={path} className={`flow-link ${classOf(category)}`} strokeWidth={width} />
        ))}
        {flow.nodes.map((node) => (
          <Node key={node.id} node={node} address={data.address} />
        ))}
      </svg>
    </figure>
  );
}

/** Distance between a node and its words. */
const GAP = 10;

function Node({ node, address }: { readonly node: FlowNode; readonly address: string }): ReactNode {
  const { word, percent } = useI18n();
  const { side, category, percentage, box } = node;
  const middle = box.y + box.height / 2;
  if (side === 'centre')
    return (
      <g>
        <rect {...box} className="flow-centre" rx="2" />
        <text x={box.x + box.width / 2} y={box.y - 7} className="flow-address" textAnchor="middle">
          {shorten(address)}
        </text>
      </g>
    );
  const isLeft = side === 'in';
  const x = isLeft ? box.x - GAP : box.x + box.width + GAP;
  const shape = riskShape(levelOf(category));
  return (
    <g className={classOf(category)}>
      <rect {...box} className="flow-node" rx="2" />
      <svg
        x={isLeft ? x - 12 : x}
        y={middle - 6}
        width="12"
        height="12"
        viewBox="0 0 16 16"
        className="flow-shape"
        aria-hidden="true"
      >
        {RISK_SHAPES[shape]}
      </svg>
      <text x={isLeft ? x - 18 : x + 18} y={middle} dy="0.35em" textAnchor={isLeft ? 'end' : 'start'}>
        {word('category', category)} <tspan className="flow-share">{percent(percentage)}</tspan>
      </text>
    </g>
  );
}
