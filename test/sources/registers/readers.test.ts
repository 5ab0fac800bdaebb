/** Readers of national registers, on files of the layout that each authority publishes. */
import { describe, expect, it } from 'vitest';
import { AssayError } from '../../../src/base/errors.ts';
import { seededUint32 } from '../../../src/base/random.ts';
import { REGISTER_SOURCES } from '../../../src/sources/index.ts';
import type { Reject } from '../../../src/sources/records.ts';
import {
  type RegisterHeader,
  type Registration,
  splitNames,
} from '../../../src/sources/registers/registration.ts';
import { workbookOf } from '../../setup/workbook.ts';
import { withFolder } from '../collect.ts';

interface Read {
  readonly header: RegisterHeader | undefined;
  readonly rows: readonly Registration[];
  readonly rejects: readonly Reject[];
}

async function readFile(id: string, path: string): Promise<Read> {
  const source = REGISTER_SOURCES.find((one) => one.id === id);
  if (source === undefined) throw new Error(`no source ${id}`);
  const reader = await source.read({ whole: false });
  const rows: Registration[] = [];
  const rejects: Reject[] = [];
  let header: RegisterHeader | undefined;
  for await (const record of reader(path)) {
    if (record.type === 'register') header = record;
    else if (record.type === 'reject') rejects.push(record);
    else rows.push(record);
  }
  return { header, rows, rejects };
}

const read = (id: string, name: string, content: string | Uint8Array): Promise<Read> =>
  withFolder((write) => readFile(id, write(name, content)));

const LEI = '5299005V5GBSN2A4C303';

const AMF = `\uFEFFno_amf;entite_nom;forme_juridique;pays_siege;site_internet;email;telephone;no_registre_national;lei;nature_autorisation;date_debut_autorisation;date_fin_autorisation;motif_fin_autorisation;statut;libelle_type_activite;libelle_activite;date_debut_activite;date_fin_activite;date_de_publication
A2026-001;Exemple SAS;;France;https://www.exemple.fr;x@exemple.fr;+33;1;${LEI};PSCA;2026-01-15;;;Agréé;Service;Conservation;2026-01-15;;2026-10-10
A2026-001;Exemple SAS;;France;https://www.exemple.fr;;;1;${LEI};PSCA;2026-01-15;;;Agréé;Service;Échange;2026-01-15;;2026-10-10
N/A - Passeport;Muster GmbH;;Allemagne;;;;;529900T8BM49AURSDO55;PSCA;2026-02-01;;;Agréé;Service;Conseil;2026-02-01;;2026-10-10
E2020-001;Ancien SARL;;France;;;;;;Enregistrement PSAN;2020-03-01;2026-06-30;Fin de la transition;Radié;Service;Conservation;2020-03-01;2026-06-30;2026-10-10
E2020-002;Faux SARL;;France;;;;;;PSAN;2020-03-01;;;Autre;;;;;2026-10-10
`;

/** The columns and words of FINMA's list; the firms are examples. */
const FINMA = `\uFEFF"UID";"Name";"City";"AuthorisationTypeDE";"AuthorisationTypeFR";"AuthorisationTypeIT";"AuthorisationTypeEN"
"CHE-101.329.561";"Beispiel Bank AG";"Zürich";"Bank";"Banque";"Banca";"Bank"
"CHE-101.329.561";"Beispiel Bank AG";"Zürich";"Depotbank";"Banque dépositaire";"Banca depositaria";"Custodian bank"
"";"Beispiel FinTech AG";"Zug";"Personen nach Art. 1b BankG";"";"";"persons under Article 1b of the Banking Act"
"CHE-100.000.003";"Muster Versicherung AG";"Bern";"Schadenversicherer";"";"";"Non-life insurer"
"CHE-100.000.004";"Muster Vertretung";"Genf";"";"";"";"Foreign bank representative office"
"CHE-100.000.005";"";"Basel";"Bank";"Banque";"Banca";"Bank"
`;

/** A page of the API of the FMA Liechtenstein, in its fields; the firms are examples. */
const FMA_LI = `${JSON.stringify({
  data: [
    {
      id: 1,
      description: 'Beispiel Token AG',
      tradenumber: 'FL-0002.600.000-1',
      lei: LEI,
      website: 'https://www.beispiel.li',
      grants: [
        {
          category: { fmaCategoryId: 84, descriptionEnglish: 'TT Exchange Service Provider' },
          registered: '2021-03-01T00:00:00',
          expired: null,
          revoked: null,
          returned: null,
        },
        {
          category: { fmaCategoryId: 80, descriptionEnglish: 'TT Key Depositary' },
          registered: '2020-12-01T00:00:00',
          returned: '2023-05-31T00:00:00',
        },
      ],
    },
    {
      id: 2,
      description: 'Gewesen AG',
      tradenumber: 'FL-0002.600.000-2',
      grants: [
        {
          category: { fmaCategoryId: 79, descriptionEnglish: 'Token Generator' },
          registered: '2020-02-01',
          revoked: '2022-01-31',
        },
      ],
    },
    { id: 3, description: ' ', grants: [] },
  ],
  page: 0,
  maxPage: 0,
  maxResults: 3,
})}\n`;

/** The table of the page of the CFTC's RED List; the entities are examples. */
const CFTC = `<html><body><table><thead><tr><th>Date Added</th><th>Company</th></tr></thead><tbody>
<tr><td>09/18/2026</td><td>Example Trade / exampletrade.com</td></tr>
<tr><td>1/5/2024</td><td>Muster Markets Ltd.</td></tr>
<tr><td>13/45/2024</td><td>No Day</td></tr>
</tbody></table></body></html>`;

/** An export of BaFin's database: the rows below a firm have only further permissions. The firms are examples. */
const BAFIN = `NAME;BAK NR;REG NR;BAFIN-ID;LEI;PLZ;ORT;LAND;GATTUNG;HANDELSNAMEN;ERLAUBNISSE/ZULASSUNG/TÄTIGKEITEN;ERTEILUNGSDATUM;ENDE AM;ENDEGRUND
Beispiel Verwahr GmbH;100001;;10150001;${LEI};10115;Berlin;Deutschland;Finanzdienstleistungsinstitut;Beispiel Safe;Kryptoverwahrgeschäft (§ 1 Abs. 1a Satz 2 Nr. 6 KWG);01.02.2022;;
;;;;;;;;;;Anlageberatung (§ 1 Abs. 1a Satz 2 Nr. 1a KWG);01.02.2022;;
Muster Bank AG;100002;;10150002;;60311;Frankfurt;Deutschland;CRR-Kreditinstitut;;Einlagengeschäft;01.01.1990;;
Gewesen Krypto GmbH;100003;;10150003;;80331;München;Deutschland;Finanzdienstleistungsinstitut;;Kryptowertpapierregisterführung;01.07.2021;30.06.2024;Verzicht
`;

const AFM = workbookOf([
  ['Register'],
  ['Crypto parties'],
  [
    'Entity name',
    'Number',
    'Authorisation',
    'Home member state',
    'Date',
    'Withdrawal',
    'Suspension',
    'Services',
    'Commercial name',
    'LEI',
    'Address',
    'Website',
    'EU passport',
  ],
  [
    'Example B.V.',
    '41000001',
    'Authorisation',
    'The Netherlands',
    45_809,
    12,
    '',
    '(a) custody;\n(c) exchange for funds',
    'Example, Example Pro',
    LEI,
    'Street 1',
    'https://www.example.nl\nhttps://app.example.nl',
    'Outgoing: BE, DE, EL',
  ],
  [
    'Gone N.V.',
    'N/A',
    'Notification',
    'Germany',
    '01/02/2025',
    '03/04/2026',
    '',
    '',
    '',
    '529900T8BM49AURSDO55',
  ],
  ['No Number B.V.', 'N/A', '', '', '', '', '', '', '', ''],
]);

const CSSF = `${JSON.stringify({
  content: [
    {
      entiteName: 'Exemple Luxembourg S.A.',
      entiteCode: 'P00000001',
      leiCode: LEI,
      dtDebValid: '2025-06-02',
    },
    { entiteName: '', entiteCode: 'P00000002' },
  ],
  totalElements: 3,
})}
${JSON.stringify({ content: [{ entiteName: 'Autre S.A.', entiteCode: 'P00000003' }], totalElements: 3 })}
`;

const HANFA = `<?xml version="1.0" encoding="utf-8"?><Rows><Row><ID>7</ID><Naziv>Primjer d.o.o.</Naziv><LEI>${LEI}</LEI><Web>www.primjer.hr</Web></Row><Row><ID>8</ID><LEI/></Row></Rows>`;

const FINTRAC = `\uFEFFMSB Registration Number,Organization Names (Legal and Operating),MSB Registration Status,Date Initial MSB Registration Approval,MSB Registration Expiry Date
M23611454,"Legal Name: BITPAY, INC., Operating Name: BitPay, Operating Name: BitPay Canada",Registered,2023-11-21,2028-06-30
C100000016,Bullish (GI) Limited,Ceased,2024-02-29,2026-04-30
M11111111,"Legal Name: EXAMPLE CORP",Revoked,2020-01-01,2022-01-01
M22222222,"Legal Name: ODD",Confused,2020-01-01,
`;

const AUSTRAC = JSON.stringify({
  content: {
    data: [{ legalName: 'BTC MARKETS PTY LTD', abn: '45 164 093 887' }, { legalName: 'NO ABN PTY LTD' }],
    totalCount: 2,
  },
});

const JFSA = workbookOf([
  ['List of Registered Crypto-asset Exchange Service Providers'],
  ['Bureau', 'Registration', 'Date', 'Name', 'Corporate number'],
  ['Kanto Financial Bureau', 'Director-General of Kanto\nNo.00004', 43_007, 'bitbank, inc.', '1010001163237'],
  ['', 'No.00031', 44_848, 'Binance Japan Inc.', ''],
  ['Kinki Financial Bureau', 'No.1', '2017/09/29', 'Example Co., Ltd.', ''],
  ['', 'No.2', 43_007, '', ''],
]);

const KOFIU = workbookOf([
  ['가상자산사업자 신고에 관한 정보공개 현황'],
  [
    '연번',
    '서비스명',
    '법인명',
    '대표',
    '주소',
    '사업자등록번호',
    '',
    '',
    '수리일',
    '',
    '',
    '',
    '',
    '',
    '직권말소',
  ],
  ['1', '업비트(Upbit)', '두나무 주식회사', '', '', '119-86-54968', '', '', '2021.10.06.'],
  [
    '2',
    '옛날',
    '옛날 주식회사',
    '',
    '',
    '220-88-61399',
    '',
    '',
    '2021.11.25.',
    '',
    '',
    '',
    '',
    '',
    '2024.03.01.',
  ],
  ['3', '이름', '', '', '', '', '', '', '2021.11.25.'],
]);

const SFC = `<html><div class="table-vatp-applicant"></div><table><tr><th>CE</th></tr><tr><td>ZZZ999</td><td>Applicant</td></tr></table>
<div id="table-vatp-licensed"></div><table><tr><th>CE Reference</th><th>Name</th><th>Chinese</th><th>Platform</th><th>Date</th></tr>
<tr><td><a href="#">BUA970</a><a href="#"></a></td><td>Accumulus GBA Technology (Hongkong) Co., Limited</td><td>雲賬戶</td><td>Accumulus</td><td>18/12/2024&nbsp;</td></tr>
<tr><td>none</td><td>Odd</td><td></td><td></td><td></td></tr></table>`;

const MAS = `<section data-category="Major Payment Institution"><a href="/fid/institution/detail/427752-ANCHORAGE-DIGITAL"> <h3 class="header-inner-2">ANCHORAGE DIGITAL SINGAPORE Pte. Ltd.</h3></a>
<a href="/fid/institution/detail/427752-ANCHORAGE-DIGITAL"><h3>ANCHORAGE DIGITAL SINGAPORE Pte. Ltd.</h3></a><a href="/other">x</a></section>`;

const VARA = `<table><tr><th>Reference</th></tr><tr><td data-label="Reference">VL/26/03/003</td><td data-label="VASP Name">Amber Premium FZE</td><td data-label="Licensed Activities">Broker-Dealer Services<br>Management and Investment Services</td><td data-label="Licence Issued">2026/04/02</td></tr>
<tr><td data-label="Reference">unknown</td><td data-label="VASP Name">Odd FZE</td></tr></table>`;

const NYDFS = `<html><table summary="List of Licensed Virtual Currency Entities"><tr><th>Entity</th><th>Licensure</th><th>Approved</th></tr>
<tr><td>Anchorage Digital NY, LLC</td><td>Virtual Currency License</td><td>December 2024</td></tr><tr><td>Odd</td><td>?</td><td></td></tr></table></html>`;

const SCM = `<html><h2>A. Registered Recognized Market Operators</h2><table><tr><td>No.</td><td>Name</td><td>Address</td></tr><tr><td>1.</td><td>HATA Digital Sdn Bhd</td><td>KL</td></tr><tr><td>x</td><td>Odd</td></tr></table>
<h2>B. Not permitted</h2><table><tr><td>1.</td><td>Gone Sdn Bhd</td></tr></table></html>`;

const FCA = `${JSON.stringify({ Status: 'FSR-API-02-01-00', Data: [{ FRN: '900988', 'Organisation Name': 'Gemini Payments UK, LTD', Status: 'Registered', 'MLRs Status Effective Date': '19/08/2020', 'Status Effective Date': '01/01/2019' }] })}
${JSON.stringify({ Data: [{ FRN: '900001', 'Organisation Name': 'Old Ltd', Status: 'No longer registered', 'Status Effective Date': '05/06/2025' }] })}
${JSON.stringify({ Message: 'Firm not found', Data: null })}
`;

const RESULTS = `<html><table><tr class="trGray"><td><a href="msb.registration.letter.html?ID=29446350">B2C2 Securities, LLC</a></td><td>B2C2</td>${'<td></td>'.repeat(4)}<td>409 414</td>${'<td></td>'.repeat(4)}<td>05/18/2025</td><td>05/19/2025</td></tr>
<tr class="trWhite"><td><a href="x">No Id LLC</a></td>${'<td></td>'.repeat(12)}</tr></table></html>`;

interface Case {
  readonly id: string;
  readonly name: string;
  readonly content: string | Uint8Array;
  readonly whole: readonly string[];
  readonly rejects: readonly string[];
  readonly rows: readonly Partial<Registration>[];
}

const CASES: readonly Case[] = [
  {
    id: 'finma',
    name: 'uid.csv',
    content: FINMA,
    whole: ['ch-finma'],
    rejects: ['Name'],
    rows: [
      {
        register: 'ch-finma',
        legalName: 'Beispiel Bank AG',
        registrationId: 'CHE-101.329.561',
        registeredAs: 'Bank; Custodian bank',
        status: 'AUTHORISED',
      },
      {
        legalName: 'Beispiel FinTech AG',
        registrationId: null,
        registeredAs: 'persons under Article 1b of the Banking Act',
      },
    ],
  },
  {
    id: 'fmali',
    name: 'fma-li-tvtg.json',
    content: FMA_LI,
    whole: ['li-fma'],
    rejects: ['description'],
    rows: [
      {
        register: 'li-fma',
        legalName: 'Beispiel Token AG',
        registrationId: 'FL-0002.600.000-1',
        lei: LEI,
        domains: ['beispiel.li'],
        services: ['TT Exchange Service Provider'],
        registeredAt: '2020-12-01',
        endedAt: null,
        status: 'REGISTERED',
      },
      { legalName: 'Gewesen AG', status: 'REVOKED', endedAt: '2022-01-31', services: ['Token Generator'] },
    ],
  },
  {
    id: 'cftc',
    name: 'cftc-red-list.html',
    content: CFTC,
    whole: [],
    rejects: ["'13/45/2024' is no date"],
    rows: [
      {
        register: 'us-cftc',
        legalName: 'Example Trade',
        tradeNames: ['exampletrade.com'],
        domains: ['exampletrade.com'],
        registeredAt: '2026-09-18',
        status: 'WARNING',
      },
      { legalName: 'Muster Markets Ltd.', domains: [], registeredAt: '2024-01-05' },
    ],
  },
  {
    id: 'bafin',
    name: 'bafin.csv',
    content: BAFIN,
    whole: [],
    rejects: [],
    rows: [
      {
        register: 'de-bafin',
        legalName: 'Beispiel Verwahr GmbH',
        registrationId: '10150001',
        lei: LEI,
        tradeNames: ['Beispiel Safe'],
        services: ['Kryptoverwahrgeschäft (§ 1 Abs. 1a Satz 2 Nr. 6 KWG)'],
        registeredAt: '2022-02-01',
        status: 'AUTHORISED',
      },
      { legalName: 'Gewesen Krypto GmbH', status: 'AUTHORISED', endedAt: '2024-06-30' },
    ],
  },
  {
    id: 'amf',
    name: 'amf.csv',
    content: AMF,
    whole: ['fr-amf', 'fr-amf-casp'],
    rejects: ['statut'],
    rows: [
      {
        register: 'fr-amf-casp',
        registrationId: 'A2026-001',
        lei: LEI,
        status: 'AUTHORISED',
        domains: ['exemple.fr'],
      },
      { register: 'fr-amf-casp', registrationId: 'A2026-001', services: ['Échange'] },
      {
        legalName: 'Muster GmbH',
        registrationId: '529900T8BM49AURSDO55',
        note: 'Passported into France from Allemagne.',
      },
      { register: 'fr-amf', registrationId: 'E2020-001', status: 'WITHDRAWN', endedAt: '2026-06-30' },
    ],
  },
  {
    id: 'afm',
    name: 'register-2026-10-01.xlsx',
    content: AFM,
    whole: ['nl-afm'],
    rejects: ['neither a number nor a LEI'],
    rows: [
      {
        registrationId: '41000001',
        lei: LEI,
        status: 'AUTHORISED',
        registeredAt: '2025-06-01',
        endedAt: null,
        tradeNames: ['Example', 'Example Pro'],
        domains: ['example.nl', 'app.example.nl'],
        services: ['(a) custody', '(c) exchange for funds'],
        passportedTo: ['BE', 'DE', 'GR'],
      },
      {
        registrationId: '529900T8BM49AURSDO55',
        status: 'AUTHORISED',
        endedAt: '2026-04-03',
        note: 'Home member state: DE.',
      },
    ],
  },
  {
    id: 'cssf',
    name: 'cssf.json',
    content: CSSF,
    whole: ['lu-cssf'],
    rejects: ['entiteName'],
    rows: [
      { registrationId: 'P00000001', lei: LEI, registeredAt: '2025-06-02', status: 'AUTHORISED' },
      { registrationId: 'P00000003', lei: null },
    ],
  },
  {
    id: 'hanfa',
    name: 'hanfa.xml',
    content: HANFA,
    whole: ['hr-hanfa'],
    rejects: ['no element with the name'],
    rows: [{ registrationId: 'R7', legalName: 'Primjer d.o.o.', lei: LEI, domains: ['primjer.hr'] }],
  },
  {
    id: 'fintrac',
    name: 'reg-eng.csv',
    content: FINTRAC,
    whole: ['ca-fintrac-msb'],
    rejects: ['MSB Registration Status'],
    rows: [
      {
        registrationId: 'M23611454',
        legalName: 'BITPAY, INC.',
        tradeNames: ['BitPay', 'BitPay Canada'],
        status: 'REGISTERED',
        endedAt: null,
        note: 'Expires 2028-06-30.',
      },
      {
        registrationId: 'C100000016',
        legalName: 'Bullish (GI) Limited',
        status: 'WITHDRAWN',
        endedAt: '2026-04-30',
      },
      { status: 'REVOKED' },
    ],
  },
  {
    id: 'austrac',
    name: 'austrac.json',
    content: AUSTRAC,
    whole: ['au-austrac'],
    rejects: ['abn'],
    rows: [{ registrationId: '45164093887', legalName: 'BTC MARKETS PTY LTD', status: 'REGISTERED' }],
  },
  {
    id: 'jfsa',
    name: 'en_kasoutuka.xlsx',
    content: JFSA,
    whole: ['jp-fsa'],
    rejects: ['name is empty'],
    rows: [
      {
        registrationId: 'Kanto No.00004',
        legalName: 'bitbank, inc.',
        registeredAt: '2017-09-29',
        note: 'Corporate number 1010001163237.',
      },
      { registrationId: 'Kanto No.00031', registeredAt: '2022-10-14' },
      { registrationId: 'Kinki No.00001', registeredAt: '2017-09-29' },
    ],
  },
  {
    id: 'kofiu',
    name: 'kofiu.xlsx',
    content: KOFIU,
    whole: ['kr-fiu'],
    rejects: ['legal name'],
    rows: [
      {
        legalName: '두나무 주식회사',
        registrationId: '119-86-54968',
        tradeNames: ['업비트', 'Upbit'],
        registeredAt: '2021-10-06',
        status: 'REGISTERED',
      },
      { registrationId: '220-88-61399', status: 'WITHDRAWN', endedAt: '2024-03-01' },
    ],
  },
  {
    id: 'sfc',
    name: 'sfc.html',
    content: SFC,
    whole: [],
    rejects: ['CE reference'],
    rows: [
      {
        registrationId: 'BUA970',
        legalName: 'Accumulus GBA Technology (Hongkong) Co., Limited',
        tradeNames: ['雲賬戶', 'Accumulus'],
        registeredAt: '2024-12-18',
        status: 'AUTHORISED',
      },
    ],
  },
  {
    id: 'mas',
    name: 'mas.html',
    content: MAS,
    whole: [],
    rejects: [],
    rows: [
      {
        registrationId: '427752',
        legalName: 'ANCHORAGE DIGITAL SINGAPORE Pte. Ltd.',
        sourceUrl: 'https://eservices.mas.gov.sg/fid/institution/detail/427752-ANCHORAGE-DIGITAL',
      },
    ],
  },
  {
    id: 'vara',
    name: 'vara.html',
    content: VARA,
    whole: ['ae-vara'],
    rejects: ['Reference'],
    rows: [
      {
        registrationId: 'VL/26/03/003',
        legalName: 'Amber Premium FZE',
        registeredAt: '2026-04-02',
        services: ['Broker-Dealer Services', 'Management and Investment Services'],
      },
    ],
  },
  {
    id: 'nydfs',
    name: 'nydfs.html',
    content: NYDFS,
    whole: ['us-ny-dfs'],
    rejects: ['licensure'],
    rows: [
      {
        legalName: 'Anchorage Digital NY, LLC',
        registeredAs: 'Virtual Currency License',
        registeredAt: '2024-12',
        registrationId: null,
      },
    ],
  },
  {
    id: 'scm',
    name: 'scm.html',
    content: SCM,
    whole: [],
    rejects: ['number of the row'],
    rows: [{ legalName: 'HATA Digital Sdn Bhd', status: 'REGISTERED' }],
  },
  {
    id: 'fca',
    name: 'fca.json',
    content: FCA,
    whole: [],
    rejects: ['Firm not found'],
    rows: [
      { registrationId: '900988', status: 'REGISTERED', registeredAt: '2020-08-19' },
      { registrationId: '900001', status: 'WITHDRAWN', endedAt: '2025-06-05', registeredAt: null },
    ],
  },
  {
    id: 'fincen',
    name: 'results.html',
    content: RESULTS,
    whole: [],
    rejects: ['BSA id'],
    rows: [
      {
        registrationId: '29446350',
        legalName: 'B2C2 Securities, LLC',
        tradeNames: ['B2C2'],
        registeredAt: '2025-05-19',
        services: ['Money transmitter', 'Provider of prepaid access'],
      },
    ],
  },
];

describe.each(CASES)('the register read by $id', ({ id, name, content, whole, rejects, rows }) => {
  it('has its rows with their numbers, and rejects what cannot be read', async () => {
    const found = await read(id, name, content);
    expect(found.header?.whole).toEqual(whole);
    expect(found.rows).toMatchObject(rows);
    expect(found.rows).toHaveLength(rows.length);
    expect(found.rejects).toHaveLength(rejects.length);
    for (const [index, reason] of rejects.entries()) expect(found.rejects[index]?.reason).toContain(reason);
    for (const row of found.rows) expect(row.sourceUrl).toMatch(/^https:/);
  });

  it('rejects a file of another layout', async () => {
    for (const other of ['', 'a,b\n1,2\n', '{}', '<html><p>Maintenance</p></html>'])
      await expect(read(id, name, other)).rejects.toMatchObject({ code: 'INVALID_FILE', field: 'file' });
  });

  it('reads or rejects damaged files without another error', async () => {
    const next = seededUint32(11);
    const bytes = Buffer.from(content);
    for (let round = 0; round < 25; round++) {
      const broken = Buffer.from(bytes.subarray(0, 1 + (next() % bytes.length)));
      for (let hit = 0; hit < 3; hit++) broken[next() % broken.length] = next() & 0xff;
      await read(id, name, broken).catch((error: unknown) => {
        if (!(error instanceof AssayError) || error.code !== 'INVALID_FILE') throw error;
      });
    }
  });
});

describe('whole and partial files', () => {
  it('are told apart by what the API announces', async () => {
    const [first = ''] = CSSF.split('\n');
    expect((await read('cssf', 'cssf.json', first)).header?.whole).toEqual([]);
    const some = FMA_LI.replace('"maxResults":3', '"maxResults":30');
    expect((await read('fmali', 'fma-li.json', some)).header?.whole).toEqual([]);
    const part = AUSTRAC.replace('"totalCount":2', '"totalCount":3');
    expect((await read('austrac', 'a.json', part)).header?.whole).toEqual([]);
    const all = `${MAS}<hr data-collected="all">`;
    expect((await read('mas', 'mas.html', all)).header?.whole).toEqual(['sg-mas']);
  });
});

it.each([
  ['Kraken, Kraken Digital Asset Exchange', 'Payward', ['Kraken', 'Kraken Digital Asset Exchange']],
  ['Push  / Aave Push', 'Push Virtual Assets', ['Push', 'Aave Push']],
  ['Solidgate , SG Digital Assets', 'X', ['Solidgate', 'SG Digital Assets']],
  ['Uyr968|Fwq367', 'X', ['Uyr968', 'Fwq367']],
  ['빗썸;Bithumb;Bithumb Co., Ltd.', 'X', ['빗썸', 'Bithumb', 'Bithumb Co., Ltd.']],
  ['Joh. Berenberg, Gossler & Co. KG', 'Joh. Berenberg, Gossler & Co. KG', []],
  ['TP MOAB, a division of TP ICAP E&C', 'TP ICAP', ['TP MOAB, a division of TP ICAP E&C']],
  ['Foo, Inc.', 'X', ['Foo, Inc.']],
  ['A/B Coin', 'X', ['A/B Coin']],
  ['N/A', 'X', []],
  ['', 'X', []],
] as const)('the cell %j has the names of %j', (text, legalName, names) => {
  expect(splitNames(text, legalName)).toEqual(names);
});
