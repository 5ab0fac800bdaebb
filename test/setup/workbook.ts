/** Makes small zip archives and XLSX workbooks, so that tests need no file of a publisher. */
import { crc32, deflateRawSync } from 'node:zlib';

/** Returns a zip archive (APPNOTE 6.3) of these files. */
export function zipOf(files: Readonly<Record<string, string>>): Buffer {
  const bodies: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [name, text] of Object.entries(files)) {
    const data = Buffer.from(text);
    const packed = deflateRawSync(data);
    const fields = Buffer.alloc(26);
    fields.writeUInt16LE(20, 0);
    fields.writeUInt16LE(8, 4);
    fields.writeUInt32LE(crc32(data), 10);
    fields.writeUInt32LE(packed.length, 14);
    fields.writeUInt32LE(data.length, 18);
    fields.writeUInt16LE(Buffer.byteLength(name), 22);
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), fields, Buffer.from(name), packed]);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(offset, 10);
    directory.push(
      Buffer.concat([Buffer.from('PK\x01\x02\x14\x00', 'latin1'), fields, rest, Buffer.from(name)]),
    );
    bodies.push(local);
    offset += local.length;
  }
  const end = Buffer.alloc(18);
  const central = Buffer.concat(directory);
  end.writeUInt16LE(directory.length, 4);
  end.writeUInt16LE(directory.length, 6);
  end.writeUInt32LE(central.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...bodies, central, Buffer.from('PK\x05\x06'), end]);
}

const escaped = (text: string): string =>
  text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/"/g, '&quot;');

const NS = 'http://schemas.openxmlformats.org';

/** Returns a workbook with one sheet; numbers are stored as numbers, texts as shared strings, empty cells not at all. */
export function workbookOf(rows: readonly (readonly (string | number)[])[]): Buffer {
  const texts: string[] = [];
  const sheet = rows.map((cells, index) => {
    const parts = cells.map((value, at) => {
      const reference = `${String.fromCharCode(65 + at)}${index + 1}`;
      if (value === '') return '';
      if (typeof value === 'number') return `<c r="${reference}"><v>${value}</v></c>`;
      return `<c r="${reference}" t="s"><v>${texts.push(value) - 1}</v></c>`;
    });
    return `<row r="${index + 1}">${parts.join('')}</row>`;
  });
  return zipOf({
    '[Content_Types].xml': '<Types/>',
    'xl/workbook.xml': `<workbook xmlns="${NS}/spreadsheetml/2006/main" xmlns:r="${NS}/officeDocument/2006/relationships"><sheets><sheet name="List" sheetId="1" r:id="rId7"/></sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships xmlns="${NS}/package/2006/relationships"><Relationship Id="rId7" Type="worksheet" Target="worksheets/sheet3.xml"/></Relationships>`,
    'xl/sharedStrings.xml': `<sst xmlns="${NS}/spreadsheetml/2006/main">${texts
      // The reading of a text and its runs, as Excel writes them for Japanese.
      .map((text) => `<si><r><t xml:space="preserve">${escaped(text)}</t></r><rPh><t>reading</t></rPh></si>`)
      .join('')}</sst>`,
    'xl/worksheets/sheet3.xml': `<worksheet xmlns="${NS}/spreadsheetml/2006/main"><sheetData>${sheet.join('')}</sheetData></worksheet>`,
  });
}
