/**
 * Identifiers of parties: the numbers by which a register, and not a name, identifies a vessel, an aircraft, a company or a person.
 * Lists print them in many forms; they are compared in one form, without spaces and punctuation.
 */
import type { IdentifierKind, PartyIdentifier, PartySchema } from './records.ts';

export const IDENTIFIER_KINDS = [
  'imo',
  'tailNumber',
  'lei',
  'registrationNumber',
  'passport',
  'nationalId',
] as const satisfies readonly IdentifierKind[];

interface IdentifierRule {
  /** What the identifier is called in sentences. */
  readonly label: string;
  readonly shape: RegExp;
  readonly isValid?: (value: string) => boolean;
  /** The rule as errors state it, after `must be`. */
  readonly rule: string;
}

/**
 * Shortest values: two parties often share a shorter number, because each register counts from 1. Longest values: the longest numbers
 * on the lists of OFAC, UN and EU have 30 characters.
 */
const RULES: Readonly<Record<IdentifierKind, IdentifierRule>> = {
  imo: {
    label: 'IMO number',
    shape: /^\d{7}$/,
    isValid: isImo,
    rule: 'an IMO number of seven digits with a valid check digit, such as 9074729',
  },
  tailNumber: {
    label: 'tail number',
    shape: /^(?=.*[A-Z])[A-Z0-9]{3,10}$/,
    rule: 'an aircraft registration of 3 to 10 letters and digits, such as EP-MNA',
  },
  lei: {
    label: 'LEI',
    shape: /^[A-Z0-9]{18}\d{2}$/,
    isValid: isLei,
    rule: 'a Legal Entity Identifier of 20 characters with valid check digits (ISO 17442)',
  },
  registrationNumber: {
    label: 'registration number',
    shape: /^(?=.*\p{N})[\p{L}\p{N}]{4,40}$/u,
    rule: 'a registration number of 4 to 40 letters and digits, at least one of them a digit',
  },
  passport: {
    label: 'passport number',
    shape: /^(?=.*\p{N})[\p{L}\p{N}]{5,20}$/u,
    rule: 'a passport number of 5 to 20 letters and digits, at least one of them a digit',
  },
  nationalId: {
    label: 'national id',
    shape: /^(?=.*\p{N})[\p{L}\p{N}]{5,30}$/u,
    rule: 'a national identification number of 5 to 30 letters and digits, at least one of them a digit',
  },
};

/** Returns the name of a kind for sentences, such as `IMO number`. */
export const identifierLabel = (kind: IdentifierKind): string => RULES[kind].label;

/** Returns the rule for values of a kind, to be read after `must be`. */
export const identifierRule = (kind: IdentifierKind): string => RULES[kind].rule;

/**
 * Returns an identifier in the form in which identifiers are compared: capitals and digits only, without the word that names its kind.
 *
 * @returns Null if the text is not an identifier of this kind: too short or long, without a digit, or with a wrong check digit.
 */
export function normaliseIdentifier(kind: IdentifierKind, text: string): string | null {
  const plain = text
    .normalize('NFKC')
    .toUpperCase()
    .replace(/[^\p{L}\p{N}]+/gu, '');
  const value = kind === 'imo' ? plain.replace(/^(?:IMO)?(?:NUMBER|NO)?(?=\d{7}$)/, '') : plain;
  const { shape, isValid } = RULES[kind];
  return shape.test(value) && (isValid?.(value) ?? true) ? value : null;
}

/** Returns whether the last digit is the sum of the others, each multiplied by its position from the right (IMO A.1117(30)). */
function isImo(value: string): boolean {
  let sum = 0;
  for (let at = 0; at < 6; at++) sum += Number(value[at]) * (7 - at);
  return sum % 10 === Number(value[6]);
}

/** Returns whether the check digits are right: ISO 17442, ISO/IEC 7064 MOD 97-10. */
function isLei(value: string): boolean {
  let rest = 0;
  for (const letter of value) {
    const digits = Number.parseInt(letter, 36);
    rest = (rest * (digits > 9 ? 100 : 10) + digits) % 97;
  }
  return rest === 1;
}

/** Words for documents in the lists of OFAC, UN, EU, UK and Switzerland, in the order in which they are tried. */
const DOCUMENT_WORDS: readonly { readonly pattern: RegExp; readonly kind: IdentifierKind }[] = [
  { pattern: /\bimo\b|vessel registration identification/, kind: 'imo' },
  { pattern: /tail number|aircraft registration/, kind: 'tailNumber' },
  { pattern: /^lei$|legal entity identifier/, kind: 'lei' },
  { pattern: /passport|passeport|pasaporte/, kind: 'passport' },
  {
    pattern:
      /national id|identity card|id card|personal id|personal numerical|national foreign id|c[eé]dula|numero de identidad|citizen's card|tazkira|turkish identification|uae identification|kenyan id|^(?:ssn|d\.?n\.?i\.?|n\.?i\.?e\.?|c\.?u\.?r\.?p\.?|c\.?i\.?n\.?|cnp|italian fiscal code|id)$|^cnp |social security/,
    kind: 'nationalId',
  },
  {
    pattern:
      /registration (?:number|id|no)|^regnumber$|business (?:registration|number)|company number|enterprise number|organi[sz]ation code|legal entity number|le number|commercial regist|c\.r\. no|social credit code|chamber of (?:commerce number|comm\.)|certificate of incorporation|matricula mercantil|folio mercantil|economic register|central registration|ogrnip|registered charity|trade licen|^tradelic$/,
    kind: 'registrationNumber',
  },
];
/** Numbers that tax offices give to people and to companies. */
const TAX_WORDS =
  /tax id|tax identification|taxid|fiscal ?code|v\.?a\.?t\.? number|^(?:nit|ruc|rif)\b|c\.i\.f\.|c\.u\.i|n\.i\.f|r\.?f\.?c\.?$|fein|^identification number/;

/** Returns the kind of identifier that a publisher's word for a document names; null if it is another document. */
export function identifierKindOf(words: string, schema: PartySchema): IdentifierKind | null {
  const folded = words
    .trim()
    .toLowerCase()
    .replace(/[\s:#-]+$/, '');
  const found = DOCUMENT_WORDS.find(({ pattern }) => pattern.test(folded))?.kind ?? null;
  if (found !== null || !TAX_WORDS.test(folded)) return found;
  return schema === 'Person' ? 'nationalId' : 'registrationNumber';
}

/** Identifiers by their kinds, as a query has them. */
export type IdentifiersByKind = Readonly<Partial<Record<IdentifierKind, string>>>;

/**
 * Returns the identifiers of a query in the form in which they are compared.
 *
 * @param refuse - returns the error of an invalid identifier; it must not repeat the value, which may be personal
 * @throws what `refuse` returns
 */
export function normaliseIdentifiers(
  asked: IdentifiersByKind,
  refuse: (kind: IdentifierKind) => Error,
): IdentifiersByKind {
  const valid: Partial<Record<IdentifierKind, string>> = {};
  for (const kind of IDENTIFIER_KINDS) {
    const text = asked[kind];
    if (text === undefined) continue;
    const value = normaliseIdentifier(kind, text);
    if (value === null) throw refuse(kind);
    valid[kind] = value;
  }
  return valid;
}

/** Maximum number of identifiers of one party that are kept; real lists have at most 30. */
const IDENTIFIERS_MAX = 50;

/** Collects the identifiers of one party; numbers that are not valid, and repetitions, are left out. */
export class IdentifierList {
  readonly #found = new Map<string, PartyIdentifier>();

  /**
   * Adds the numbers of a cell or element: several may be separated by semicolons or counted (`(1) … (2) …`), and a word may precede a
   * number (`UK Company no. 06527449`). Parentheses enclose a remark (`HRB 32490 (Mainz)`) or, without a space, a part of the number
   * (`D489833(9)`), which is then added with and without that part.
   */
  add(kind: IdentifierKind | null, text: string): void {
    if (kind === null) return;
    for (const one of text.split(/;|(?<![^\s.,])\(\d{1,2}\)/)) {
      this.#addNumber(kind, one.replace(/\([^)]*\)/g, ' '));
      this.#addNumber(kind, one.replace(/(?<!\S)\([^)]*\)(?![^\s.,])/g, ' '));
    }
  }

  #addNumber(kind: IdentifierKind, text: string): void {
    const value = normaliseIdentifier(kind, withoutWords(text));
    if (value === null || this.#found.size >= IDENTIFIERS_MAX) return;
    this.#found.set(`${kind} ${value}`, { kind, value });
  }

  /** Returns the identifiers as the property of a record, which is left out if there are none. */
  property(): { readonly identifiers?: readonly PartyIdentifier[] } {
    return this.#found.size === 0 ? {} : { identifiers: [...this.#found.values()] };
  }
}

/**
 * Removes words before a number, and the country after it (`R00012098, South Sudan`). Capitals of a series (`AB 123456`) are kept; an
 * abbreviation before words (`CAR diplomatic passport no. …`) is not.
 */
const withoutWords = (text: string): string =>
  text
    .trim()
    .replace(/^(?:(?=\S*\p{Ll})[^\s\d]+[\s:.]+|(?:UK|NO|NR|ID)[\s:.]+|\p{Lu}{2,}\s+(?=\p{Ll}))+(?=.*\d)/u, '')
    .replace(/,\s+\p{Lu}\p{Ll}[\p{L}\s]*$/u, '');
