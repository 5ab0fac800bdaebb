/** Finds the exchange that a request names: by LEI, name, domain, or a name with a typo. */

import { AssayError } from '../base/errors.ts';
import { hostOf, readLei } from '../sources/registers/registration.ts';
import type { ExchangeIdentity } from './catalogue.ts';
import type { Directory, Subject } from './directory.ts';
import type { ExchangeStatus } from './exchange-answer.ts';
import { REGISTER_LIMITS } from './limits.ts';
import { foldName, foldWithoutForm, type IndexedName, isTypo, type NameKind } from './name-index.ts';

/** Nearest names that a 404 lists. */
const NEAREST = 5;

/** An exchange of a directory, and by what it was found. */
export interface FoundExchange {
  /** Its number among the subjects of the directory. */
  readonly subject: number;
  readonly matched: ExchangeStatus['matched'];
  /** All names that are the matched one; none for a match by LEI or domain, which identifies a single firm. */
  readonly namesakes: readonly IndexedName[];
}

const isNameOf = (identity: ExchangeIdentity, text: string): boolean => {
  const folded = foldWithoutForm(text);
  const legalNames = identity.legalEntities.map(({ name }) => name);
  return [identity.name, ...identity.aliases, ...legalNames].some((name) => foldWithoutForm(name) === folded);
};

/** Returns the names that a firm has now; if there are none, those that a firm had. */
function currentOf(names: readonly IndexedName[]): readonly IndexedName[] {
  const current = names.filter(({ kind }) => kind !== 'FORMER_NAME');
  return current.length === 0 ? names : current;
}

/**
 * Returns the name that identifies best: that of an exchange itself, or else of a firm that is known by it, or else the first. A name that
 * only a register gives to an exchange may be that of its group (`Ripple`).
 */
const bestOf = (
  { subjects }: Directory,
  names: readonly IndexedName[],
  text: string,
): IndexedName | undefined =>
  names.find(({ subject }) => {
    const identity = subjects[subject]?.identity ?? null;
    return identity !== null && isNameOf(identity, text);
  }) ??
  names.find(({ subject }) => foldName(subjects[subject]?.name ?? '') === foldName(text)) ??
  names[0];

/**
 * Returns a firm with the registrations of all firms of the same name. They need not be one firm, but a name does not show which one is
 * meant, and a registration must not be missing because another firm was found first. To an exchange, only firms that are known to be its
 * own are joined: a clone has its name too.
 */
export function withNamesakes({ subjects }: Directory, { subject, namesakes }: FoundExchange): Subject {
  const found = subjects[subject] as Subject;
  if (found.identity !== null) return found;
  const all = new Set([subject, ...namesakes.map((one) => one.subject)]);
  return all.size === 1
    ? found
    : { ...found, registrations: [...all].flatMap((one) => subjects[one]?.registrations ?? []) };
}

/**
 * Finds an exchange.
 *
 * @param text - its LEI, a name, or a domain or URL
 * @throws INVALID_REQUEST if the text is empty or too long
 * @throws NOT_FOUND with the nearest names
 */
export function findExchange(directory: Directory, text: string): FoundExchange {
  const name = text.trim();
  if (name === '' || name.length > REGISTER_LIMITS.exchangeNameMax) {
    throw new AssayError(
      'INVALID_REQUEST',
      `name: must have 1 to ${REGISTER_LIMITS.exchangeNameMax} characters.`,
      {
        field: 'name',
      },
    );
  }
  const exactly = (by: NameKind, value: string, subject: number): FoundExchange => ({
    subject,
    matched: { by, value, exact: true, similarity: 1 },
    namesakes: [],
  });
  const lei = readLei(name);
  const ofLei = lei === null ? undefined : directory.byLei(lei);
  if (lei !== null && ofLei !== undefined) return exactly('LEI', lei, ofLei);
  const namesakes = currentOf(directory.names.exact(name));
  const found = bestOf(directory, namesakes, name);
  if (found !== undefined) return { ...exactly(found.kind, found.text, found.subject), namesakes };
  const host = hostOf(name);
  const ofDomain = host === null ? undefined : directory.byDomain(host);
  if (ofDomain !== undefined) return exactly('DOMAIN', ofDomain.domain, ofDomain.subject);
  const bare = name.replace(/\s+(?:crypto\s+)?(?:exchange|wallet|global|group)$/i, '');
  const withoutWord = bare === name ? [] : currentOf(directory.names.exact(bare));
  const bestWithoutWord = bestOf(directory, withoutWord, bare);
  if (bestWithoutWord !== undefined) {
    return {
      subject: bestWithoutWord.subject,
      matched: { by: bestWithoutWord.kind, value: bestWithoutWord.text, exact: false, similarity: 1 },
      namesakes: withoutWord,
    };
  }
  // Exchanges precede firms in the directory, so of two equally similar names the exchange is found.
  const near = directory.names.near(name, NEAREST);
  // A name without its general word is short, so `Bank Exchange` must be compared without it: it is not `LBank Exchange`.
  const compared = bare === name ? near : directory.names.near(bare, NEAREST);
  const ofBare = compared[0];
  const ofName = near[0];
  const best =
    ofBare !== undefined && isTypo(ofBare, bare, bare)
      ? ofBare
      : ofName !== undefined && isTypo(ofName, name, bare)
        ? ofName
        : undefined;
  if (best !== undefined) {
    const similarity = Math.round(best.similarity * 1000) / 1000;
    return {
      subject: best.name.subject,
      matched: { by: best.name.kind, value: best.name.text, exact: false, similarity },
      namesakes: currentOf(directory.names.exact(best.name.text)),
    };
  }
  const nearest = near.map((hit) => `'${hit.name.text}'`).join(', ');
  throw new AssayError(
    'NOT_FOUND',
    `name: unknown exchange '${name.slice(0, 80)}'.${nearest === '' ? '' : ` Nearest names: ${nearest}.`}`,
    { field: 'name' },
  );
}
