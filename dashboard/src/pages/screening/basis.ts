/** The statements behind each part of the score, with source, date and confidence. */
import type { Screening } from './ask.ts';

type Factor = NonNullable<Screening['scoreBreakdown']>[number];

/** One statement of a source. */
export interface Basis {
  /** The text of the server: an entity, a list and a party, or a source and an entity. */
  readonly text: string;
  /** Null if the answer names no source. */
  readonly source: string | null;
  readonly sourceUrl: string | null;
  readonly date: string | null;
  /** 0 to 1; null for a list, which is a fact. */
  readonly confidence: number | null;
}

const bare = (text: string): Basis => ({ text, source: null, sourceUrl: null, date: null, confidence: null });

/** An entry of a list, which the server writes as `OFAC_SDN: NAME`. */
function ofList(text: string, data: Screening): Basis {
  const entry = data.sanctionsCheck?.lists.find(
    ({ list, entityName, delistedAt }) => delistedAt === null && text.startsWith(`${list}: ${entityName}`),
  );
  if (entry === undefined) return bare(text);
  const { authority, sourceUrl, listedAt } = entry;
  return { text, source: authority, sourceUrl, date: listedAt, confidence: null };
}

/** A label of the address itself, which the server writes as `source: name`. */
function ofLabel(text: string, data: Screening): Basis {
  const label = data.entityLabels?.find(({ source, name }) => text === `${source}: ${name}`);
  if (label === undefined) return bare(text);
  const { source, sourceUrl, firstSeen, lastSeen, confidence } = label;
  return { text, source, sourceUrl, date: lastSeen ?? firstSeen, confidence };
}

/** The label of a counterparty, or of an address behind one. */
function ofExposure(text: string, factor: Factor, data: Screening): Basis {
  const isDirect = factor.hops === 1;
  const row = data.exposures?.find(
    ({ category, direction, type, asset, entity }) =>
      entity?.name === text &&
      category === factor.category &&
      direction === factor.direction &&
      asset === factor.asset &&
      (type === 'DIRECT') === isDirect,
  );
  if (row?.label === undefined || row.label === null) return bare(text);
  const { source, sourceUrl, date, confidence } = row.label;
  return { text, source, sourceUrl, date, confidence };
}

/** Returns the statements on which a part of the score rests, in the order of the server. */
export function basisOf(factor: Factor, data: Screening): readonly Basis[] {
  return factor.evidence.map((text) => {
    if (factor.factor === 'SANCTIONS_IN_FORCE') return ofList(text, data);
    if (factor.riskType === 'OWNERSHIP') return ofLabel(text, data);
    return ofExposure(text, factor, data);
  });
}
