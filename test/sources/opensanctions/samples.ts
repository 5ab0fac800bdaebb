/** Small files in OpenSanctions' own layouts, after its documentation; the people and facts are public, the ids are not all real. */

const entity = (value: object): string =>
  JSON.stringify({
    referents: [],
    datasets: ['wd_peps'],
    first_seen: '2023-01-01T10:00:00',
    last_seen: '2026-11-19T06:00:00',
    last_change: '2025-01-01T10:00:00',
    target: true,
    ...value,
  });

export const FTM_LINES: readonly string[] = [
  entity({
    id: 'Q567',
    caption: 'Angela Merkel',
    schema: 'Person',
    properties: {
      name: ['Angela Merkel', 'Ангела Меркель'],
      alias: ['Angela Dorothea Merkel'],
      weakAlias: ['Mutti'],
      previousName: ['Angela Kasner'],
      birthDate: ['1954-07-17'],
      nationality: ['de'],
      topics: ['role.pep'],
      position: ['Federal Chancellor of Germany'],
    },
  }),
  entity({
    id: 'Q100',
    caption: 'Ivan Examplov',
    schema: 'Person',
    last_seen: '2026-11-20T06:00:00',
    properties: {
      name: ['Ivan Examplov'],
      topics: ['sanction', 'role.pep', 'crime.fin'],
      country: ['ru', 'gb-sct'],
    },
  }),
  entity({
    id: 'NK-reg',
    caption: 'Sham Investments Limited',
    schema: 'Company',
    properties: { name: ['Sham Investments Limited'], topics: ['reg.warn'], jurisdiction: ['gb'] },
  }),
  entity({
    id: 'NK-rca',
    caption: 'Relative Example',
    schema: 'Person',
    properties: { name: ['Relative Example'], topics: ['role.rca'] },
  }),
  entity({
    id: 'NK-s',
    caption: 'Only Sanctioned',
    schema: 'Person',
    properties: { name: ['Only Sanctioned'], topics: ['sanction'] },
  }),
  entity({ id: 'NK-a', caption: '1 Street', schema: 'Address', properties: { full: ['1 Street'] } }),
  entity({
    id: 'NK-x',
    caption: 'A sanction',
    schema: 'Sanction',
    target: false,
    properties: { entity: ['Q100'] },
  }),
];

export const SIMPLE_CSV = [
  '"id","schema","name","aliases","birth_date","countries","addresses","identifiers","sanctions","phones","emails","program_ids","dataset","first_seen","last_seen","last_change"',
  '"Q567","Person","Angela Merkel","Merkel, Angela;geb. Kasner","1954-07-17;1954","de;eu","","","","","","","Wikidata Politically Exposed Persons","2023-01-01T10:00:00","2026-11-20T06:00:00","2025-01-01T10:00:00"',
  '"NK-co","Company","State ""Holding"" AG","","","at","","","","","","","Wikidata Politically Exposed Persons","2023-01-01T10:00:00","2026-11-19T06:00:00","2025-01-01T10:00:00"',
  '"NK-none","Person","","","","","","","","","","","Wikidata Politically Exposed Persons","","",""',
  '"NK-w","CryptoWallet","bc1q","","","","","","","","","","Wikidata Politically Exposed Persons","","",""',
  '',
].join('\n');
