/** Schemas of GET /exchange-status. */
import { Type } from 'typebox';
import { REGISTER_LIMITS } from '../../registers/limits.ts';
import { REGISTRATION_STATUSES } from '../../sources/registers/registration.ts';
import { SanctionsListSchema } from './facts.ts';
import { count, flag, listOf, nullable, oneOf, text } from './fields.ts';

export const ExchangeName = Type.String({
  minLength: 1,
  maxLength: REGISTER_LIMITS.exchangeNameMax,
  description: 'Name, alias, legal name, domain or LEI, in any letter case; misspellings are understood.',
  examples: ['Kraken'],
});

export const JurisdictionFilter = Type.String({
  minLength: 2,
  maxLength: 3,
  description: 'ISO 3166-1 alpha-2, `EU` for all member states, or `EEA`.',
  examples: ['DE'],
});

const Status = oneOf(REGISTRATION_STATUSES);
const country = text('ISO 3166-1 alpha-2.');
const services = listOf(Type.String(), 'Services as the register words them.');
const passportedTo = listOf(Type.String(), 'Countries in which the registration holds beside its own.');

export const RegistrationHistory = Type.Object(
  {
    status: Status,
    firstSeen: text('Date of the first file that says so.'),
    lastSeen: text('Date of the last one.'),
    registeredAs: text(),
    services,
    passportedTo,
  },
  { title: 'RegistrationHistory', description: 'State of a registration in one or more consecutive files.' },
);

export const ExchangeRegistration = Type.Object(
  {
    jurisdiction: country,
    authority: text(),
    status: Status,
    registrationId: nullable(
      Type.String(),
      'The register’s own number of the firm, or its LEI if the register has no numbers. Null: the register has neither, or the file that was read omits it.',
    ),
    registeredAs: text('The legal category, in the register’s own words.'),
    legalName: text(),
    formerNames: listOf(
      Type.String(),
      'Legal names that the firm had before, in older files of the register.',
    ),
    lei: nullable(Type.String()),
    register: text('Id of the register.'),
    source: text('Importer that read it (esma, fincen, registers, …), or `shipped`.'),
    sourceUrl: nullable(Type.String()),
    asOf: text(
      'Day on which the register read so; of a shipped fact the day, month or year it was reported.',
    ),
    verified: flag(
      'A file of the register itself lists the firm with this status. False: ships with the product, and was read in a copy of the register or was publicly reported.',
    ),
    registeredAt: nullable(Type.String()),
    endedAt: nullable(Type.String()),
    validUntil: nullable(
      Type.String(),
      'Last day on which the registration can hold; afterwards its status is WITHDRAWN. Null: no end is known.',
    ),
    services,
    passportedTo,
    note: nullable(Type.String()),
    history: listOf(RegistrationHistory, 'Oldest first; empty for a shipped fact.'),
  },
  { title: 'ExchangeRegistration', description: 'One registration of one legal entity.' },
);

export const ExchangeDesignation = Type.Object(
  {
    list: SanctionsListSchema,
    authority: text(),
    entityName: text('As the list prints it.'),
    entityId: text('Id of the entry on the list.'),
    program: nullable(Type.String()),
    listedAt: nullable(Type.String()),
    delistedAt: nullable(Type.String(), 'If set, the entry is no longer in force.'),
    assetFreeze: nullable(Type.Boolean(), 'Null: neither the list nor the link says.'),
    measures: listOf(Type.String(), "In the list's own words."),
    sourceUrl: text(),
    basis: oneOf(['list', 'link']),
    checkedAt: text('When the exchange was compared with the listed party.'),
    verified: flag('Compared with the file of the publisher.'),
  },
  {
    title: 'ExchangeDesignation',
    description:
      'A designation by a sanctions list. basis: link means that the list was not imported, and the facts are those of data/entity-parties.json.',
  },
);

export const ExchangeStatusData = Type.Object(
  {
    exchange: text(),
    matched: Type.Object({
      by: oneOf(['NAME', 'ALIAS', 'LEGAL_NAME', 'FORMER_NAME', 'DOMAIN', 'LEI']),
      value: text('The name that matched.'),
      exact: flag('False if the name was misspelt or had an additional word.'),
      similarity: Type.Number({ minimum: 0, maximum: 1 }),
    }),
    entityId: nullable(Type.String(), 'The entity of the labels; null if absent.'),
    aliases: listOf(Type.String()),
    legalEntities: listOf(
      Type.Object({
        name: text(),
        lei: nullable(Type.String()),
        jurisdiction: nullable(Type.String()),
        verified: flag(),
      }),
    ),
    domains: listOf(Type.String()),
    homeJurisdiction: nullable(Type.String()),
    closed: nullable(
      Type.Object({
        at: text('Day on which trading ended.'),
        note: text(),
        sourceUrl: text(),
        asOf: text(),
        verified: flag(),
      }),
      'When the exchange ended its business; null: it is not known to have closed.',
    ),
    sanctioned: flag('A designation with an asset freeze is in force.'),
    designations: listOf(
      ExchangeDesignation,
      'Sanctions lists that designate the exchange or the party that operates it, in force first. Subsidiaries and owners are not computed.',
    ),
    reasons: listOf(
      Type.Object({
        code: oneOf(['STALE_OR_MISSING_DATA']),
        severity: oneOf(['MEDIUM']),
        message: text(),
      }),
      'Names the sanctions lists that are missing or too old: then `sanctioned: false` proves nothing. Empty if all are fresh.',
    ),
    jurisdiction: nullable(Type.String(), 'The filter as it was understood.'),
    registrations: listOf(
      ExchangeRegistration,
      'Warnings first, then what is in force. If several firms have the name, all of theirs: `legalName` says whose.',
    ),
    totalRegistrations: count(),
    restrictedJurisdictions: listOf(Type.String(), 'Jurisdictions that the exchange itself excludes.'),
    restrictions: nullable(
      Type.Object({ sourceUrl: text(), asOf: text(), verified: flag() }),
      'Source and date of the exclusions; null if they are not known.',
    ),
    registersChecked: listOf(
      Type.Object({
        id: text(),
        jurisdiction: text(),
        asOf: nullable(
          Type.String(),
          'Day of the newest file or of the shipped rows; null: no row is known.',
        ),
        records: count('Rows that are known.'),
        whole: flag(
          'The rows are the whole register of that day. Only then is a firm without a row not on the register.',
        ),
        source: nullable(
          Type.String(),
          'Importer of the newest file, or `shipped`; null: no row is known, search the register at its url.',
        ),
        url: nullable(Type.String(), 'Page or file of the authority; null for your own register.'),
        access: nullable(
          Type.String(),
          'How the authority publishes the entries, and which command reads them; null for your own register.',
        ),
      }),
      'Every register of the requested jurisdictions, those with rows first.',
    ),
    registersNotRead: listOf(
      Type.String(),
      'Registers of which no row is known; their registrations are unknown.',
    ),
  },
  {
    title: 'ExchangeStatusData',
    description: 'Registrations of an exchange and their registers.',
  },
);
