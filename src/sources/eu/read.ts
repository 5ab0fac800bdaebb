/** Reads the EU's consolidated financial sanctions list: XML 1.1, CSV 1.1, and JSON lines with one entity per line. */
import { AssayError } from '../../base/errors.ts';
import { readCountries } from '../countries.ts';
import { partialDate, readDate, yearRange } from '../dates.ts';
import { findWallets, withUnreadableWallets } from '../free-text.ts';
import { IdentifierList, identifierKindOf } from '../identifiers.ts';
import { unknownLayout } from '../layout-error.ts';
import { listParts, openLines, readTextHead, type SourcePart } from '../open.ts';
import {
  type DesignatedParty,
  type PartyName,
  type PartySchema,
  type Provenance,
  partyOfRow,
  type Reject,
  type SourceReader,
  type SourceRecord,
} from '../records.ts';
import { columnsOf, readWholeTable } from '../rows.ts';
import { childOf, childrenOf, descend, readXml, textOf, type XmlElement } from '../xml.ts';

/**
 * Yields the header, then the parties. XML and JSON are streamed;
 * CSV rows are grouped at the end of the file. Throws INVALID_FILE.
 */
export const euReader: SourceReader<'EU'> = (files) => readEu(files);

const HEAD_CHARS = 4_096;

async function* readEu(files: readonly string[]): AsyncGenerator<SourceRecord<'EU'>, void, undefined> {
  for (const file of files) {
    for (const part of await listParts(file)) {
      const head = await readTextHead(part, HEAD_CHARS);
      if (/<(?:\w+:)?export[\s>]/.test(head)) yield* readFsfXml(part);
      else if (/^"?fileGenerationDate"?;/i.test(head)) yield* readFsfCsv(part);
      else if (head.trimStart().startsWith('{')) yield* readJsonLines(part);
      else throw unknownLayout(part.name, head, 'the EU list as XML (FSF 1.1) or as CSV 1.1');
    }
  }
}

/** The common form of the three layouts, before it becomes a party. */
interface Entity {
  readonly entityId: string;
  /** EU reference number (`EU.12747.39`), if the layout prints it in addition to the id. */
  readonly reference: string | null;
  readonly kind: string;
  readonly names: readonly PartyName[];
  readonly programs: readonly string[];
  readonly births: readonly string[];
  readonly countries: readonly string[];
  readonly listedAt: string | null;
  readonly remarks: readonly string[];
  /** Documents: the code or description of the type, and the number. */
  readonly documents: readonly (readonly [type: string, number: string])[];
  readonly provenance: Provenance;
}

const SCHEMAS: Readonly<Record<string, PartySchema>> = {
  person: 'Person',
  p: 'Person',
  enterprise: 'Organization',
  organization: 'Organization',
  e: 'Organization',
};

function partyOf(entity: Entity): DesignatedParty<'EU'> | Reject {
  const { provenance } = entity;
  const names = entity.names.filter(({ text }) => text !== '');
  if (entity.entityId === '' || names.length === 0) {
    return {
      type: 'reject',
      reason: 'The entity has no id or no name.',
      text: `${entity.entityId} ${entity.remarks.join(' ')}`.slice(0, 500),
      ...partyOfRow(entity.entityId),
      provenance,
    };
  }
  const remarks = [...new Set(entity.remarks.map((text) => text.trim()))].filter((text) => text !== '');
  const schema = SCHEMAS[entity.kind.toLowerCase()] ?? 'Unknown';
  const identifiers = new IdentifierList();
  for (const [type, number] of entity.documents) identifiers.add(identifierKindOf(type, schema), number);
  return {
    type: 'party',
    list: 'EU',
    entityId: entity.entityId,
    schema,
    ...identifiers.property(),
    // The EU marks no primary name, so the first name is the primary one.
    names: names.map((name, index) => ({ ...name, kind: index === 0 ? 'primary' : 'alias' })),
    programs: [...new Set(entity.programs)].filter((program) => program !== ''),
    birthDates: [...new Set(entity.births)].filter((date) => date !== ''),
    countries: readCountries(entity.countries),
    listedAt: entity.listedAt,
    delistedAt: null,
    addresses: findWallets(remarks.join('\n')).map((wallet) => ({ ...wallet, provenance })),
    remarks: remarks.length === 0 ? null : remarks.join('\n'),
    reference: entity.reference,
    provenance,
  };
}

const nameOf = (text: string, strong: boolean, language: string): PartyName => ({
  text: text.trim(),
  kind: 'alias',
  weak: !strong,
  script: language === '' ? null : language,
});

/** Returns the earliest of several ISO dates; null if there are no dates. */
const earliest = (dates: readonly (string | null)[]): string | null =>
  dates.filter((date) => date !== null).sort()[0] ?? null;

async function* readFsfXml(part: SourcePart): AsyncGenerator<SourceRecord<'EU'>, void, undefined> {
  const wanted = { roots: ['export'], elements: new Set(['sanctionEntity']) };
  for await (const element of readXml(part, wanted)) {
    if (element.name === 'export') {
      const publishedAt = readDate(element.attributes.generationDate ?? '');
      yield { type: 'header', lists: ['EU'], publishedAt, layout: 'EU_FSF_1_1' };
      continue;
    }
    yield* withUnreadableWallets(partyOf(entityOfXml(element, part.name)));
  }
}

function entityOfXml(element: XmlElement, file: string): Entity {
  const { attributes } = element;
  const regulations = childrenOf(element, 'regulation');
  const flag = (one: XmlElement): string =>
    one.attributes.countryIso2Code === '00'
      ? ''
      : (one.attributes.countryIso2Code ?? one.attributes.countryDescription ?? '');
  return {
    entityId: attributes.logicalId ?? '',
    reference: attributes.euReferenceNumber?.trim() || null,
    kind: childOf(element, 'subjectType')?.attributes.code ?? '',
    names: childrenOf(element, 'nameAlias').map((alias) =>
      nameOf(
        alias.attributes.wholeName ?? '',
        alias.attributes.strong !== 'false',
        alias.attributes.nameLanguage ?? '',
      ),
    ),
    programs: regulations.map((regulation) => regulation.attributes.programme ?? ''),
    births: childrenOf(element, 'birthdate').flatMap((birth) =>
      birthsOf((name) => birth.attributes[name] ?? ''),
    ),
    countries: ['citizenship', 'address'].flatMap((tag) => childrenOf(element, tag).map(flag)),
    // The designation date is often empty; the first regulation that names the entity replaces it.
    listedAt:
      readDate(attributes.designationDate ?? '') ??
      earliest([
        ...regulations.map((regulation) => readDate(regulation.attributes.publicationDate ?? '')),
        ...descend(element, 'nameAlias', 'regulationSummary').map((one) =>
          readDate(one.attributes.publicationDate ?? ''),
        ),
      ]),
    remarks: [
      attributes.designationDetails ?? '',
      ...childrenOf(element, 'remark').map((remark) => remark.text),
      ...['nameAlias', 'identification', 'address', 'birthdate', 'citizenship'].flatMap((tag) =>
        descend(element, tag, 'remark').map((remark) => remark.text),
      ),
      ...childrenOf(element, 'identification').map((id) =>
        [id.attributes.identificationTypeDescription, id.attributes.number, textOf(id, 'contactInfo')]
          .filter(Boolean)
          .join(' '),
      ),
      ...descend(element, 'address', 'contactInfo').map(
        (info) => `${info.attributes.key ?? ''} ${info.attributes.value ?? ''}`,
      ),
    ],
    documents: childrenOf(element, 'identification').flatMap(({ attributes: id }) =>
      [id.number ?? '', id.latinNumber ?? ''].flatMap((number) => [
        [id.identificationTypeCode ?? '', number] as const,
        [id.identificationTypeDescription ?? '', number] as const,
      ]),
    ),
    provenance: { file, line: element.line },
  };
}

function birthsOf(value: (name: string) => string): string[] {
  const whole = readDate(value('birthdate'));
  if (whole !== null) return [whole];
  const [from, to] = [Number(value('yearRangeFrom')), Number(value('yearRangeTo'))] as const;
  if (from > 0 || to > 0) return yearRange(from || to, to || from);
  const date = partialDate(Number(value('year')), Number(value('monthOfYear')), Number(value('dayOfMonth')));
  return date === null ? [] : [date];
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer Item)[] ? Item[] : T[K] };

async function* readFsfCsv(part: SourcePart): AsyncGenerator<SourceRecord<'EU'>, void, undefined> {
  const entities = new Map<string, Mutable<Entity>>();
  const rejects: Reject[] = [];
  let publishedAt: string | null = null;
  let columns: ReturnType<typeof columnsOf> | null = null;
  for await (const row of readWholeTable(part, { delimiter: ';' })) {
    if (row.kind === 'reject') {
      rejects.push(row.reject);
      continue;
    }
    if (row.kind !== 'row') {
      columns = columnsOf(row.cells);
      continue;
    }
    const cell = (name: string): string => columns?.(row.cells, name) ?? '';
    publishedAt ??= readDate(cell('fileGenerationDate'));
    const id = cell('Entity_LogicalId');
    let entity = entities.get(id);
    if (!entity) {
      entity = {
        entityId: id,
        reference: cell('Entity_EU_ReferenceNumber').trim() || null,
        // Some editions have the two columns swapped.
        kind:
          [cell('Entity_SubjectType'), cell('Entity_SubjectType_ClassificationCode')].find(
            (one) => one.length > 1,
          ) ?? cell('Entity_SubjectType'),
        names: [],
        programs: [],
        births: [],
        countries: [],
        listedAt:
          readDate(cell('Entity_DesignationDate')) ?? readDate(cell('Entity_Regulation_PublicationDate')),
        remarks: [cell('Entity_DesignationDetails'), cell('Entity_Remark')],
        documents: [],
        provenance: { file: part.name, line: row.line },
      };
      entities.set(id, entity);
    }
    entity.names.push(
      nameOf(
        cell('NameAlias_WholeName'),
        cell('NameAlias_Strong') !== 'false',
        cell('NameAlias_NameLanguage'),
      ),
    );
    entity.programs.push(cell('Entity_Regulation_Programme'));
    entity.births.push(
      ...birthsOf((name) =>
        cell(
          name === 'birthdate' ? 'BirthDate_BirthDate' : `BirthDate_${name.replace(/OfYear|OfMonth/, '')}`,
        ),
      ),
    );
    entity.countries.push(cell('Citizenship_CountryIso2Code'), cell('Address_CountryIso2Code'));
    entity.documents.push([cell('Identification_TypeCode'), cell('Identification_Number')]);
    entity.remarks.push(
      cell('NameAlias_Remark'),
      cell('Address_Remark'),
      cell('Address_ContactInfo'),
      cell('Identification_Remark'),
    );
  }
  yield { type: 'header', lists: ['EU'], publishedAt, layout: 'EU_CSV_1_1' };
  yield* rejects;
  for (const entity of entities.values()) {
    // Rows repeat a name for each address and birth date of the entity.
    const names = [...new Map(entity.names.map((name) => [name.text, name])).values()];
    yield* withUnreadableWallets(partyOf({ ...entity, names }));
  }
}

async function* readJsonLines(part: SourcePart): AsyncGenerator<SourceRecord<'EU'>, void, undefined> {
  yield { type: 'header', lists: ['EU'], publishedAt: null, layout: 'EU_JSON_LINES' };
  for await (const { line, text } of openLines(part)) {
    if (text.trim() === '') continue;
    let row: unknown;
    try {
      row = JSON.parse(text);
    } catch (error) {
      throw new AssayError(
        'INVALID_FILE',
        `${part.name}, line ${line}: not a JSON object; the file may be truncated.`,
        {
          field: 'file',
          cause: error,
        },
      );
    }
    yield* withUnreadableWallets(partyOf(entityOfJson(row, { file: part.name, line })));
  }
}

const member = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[key] : undefined;
const textIn = (value: unknown, key: string): string => {
  const found = member(value, key);
  return typeof found === 'string' ? found : '';
};
const listIn = (value: unknown, key: string): readonly unknown[] => {
  const found = member(value, key);
  return Array.isArray(found) ? found : [];
};

/** A row is either a summary (`names`, `ref_number`) or the entity of the XML with names in snake case. */
function entityOfJson(row: unknown, provenance: Provenance): Entity {
  const regulations = listIn(row, 'regulations');
  const names = listIn(row, 'names').filter((name) => typeof name === 'string');
  const subject = member(row, 'subject_type');
  return {
    entityId: textIn(row, 'ref_number') || textIn(row, 'eu_reference_number'),
    reference: null,
    kind: textIn(row, 'entity_type') || textIn(subject, 'code'),
    names: [
      ...names.map((name) => nameOf(name, true, '')),
      ...listIn(row, 'name_aliases').map((alias) =>
        nameOf(
          textIn(alias, 'whole_name'),
          member(alias, 'strong') !== false,
          textIn(alias, 'name_language'),
        ),
      ),
    ],
    programs: regulations.map((regulation) => textIn(regulation, 'programme')),
    births: [
      readDate(textIn(row, 'birthdate')) ?? '',
      ...listIn(row, 'birthdates').map((birth) => readDate(textIn(birth, 'birthdate')) ?? ''),
    ],
    countries: [
      textIn(row, 'country'),
      ...listIn(row, 'citizenships').map((one) => textIn(one, 'country_iso2_code')),
      ...listIn(row, 'address').map((one) => textIn(one, 'country')),
    ],
    listedAt: earliest(regulations.map((regulation) => readDate(textIn(regulation, 'publication_date')))),
    remarks: [textIn(row, 'remark'), textIn(row, 'contact')],
    documents: listIn(row, 'identifications').map(
      (id) => [textIn(id, 'identification_type_code'), textIn(id, 'number')] as const,
    ),
    provenance,
  };
}
