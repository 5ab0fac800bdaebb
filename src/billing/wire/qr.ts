/**
 * The codes that banking apps scan: EPC069-12 (version 002, SEPA credit transfers in euros), and the Swiss QR code (Implementation
 * Guidelines QR-bill, version 2.3, with structured addresses). https://www.europeanpaymentscouncil.eu/document-library/guidance-documents,
 * https://www.six-group.com/en/products-services/banking-services/payment-standardization/standards/qr-bill.html
 */
import { correction, generate, mode } from 'lean-qr';
import type { WireDetails } from './details.ts';

const CENTS = 100n;

/** The amount and currency of a code. */
export interface QrAmount {
  /** Minor units. */
  readonly amount: bigint;
  readonly currency: string;
}

const decimal = (amount: bigint): string => `${amount / CENTS}.${String(amount % CENTS).padStart(2, '0')}`;

/** The largest amount of the EPC code and of the Swiss one, in cents. */
const AMOUNT_MAX = 99_999_999_999n;
/** The longest names that the two codes carry. */
const NAME_CHARS_MAX = 70;

const isPayable = ({ amount }: QrAmount): boolean => amount > 0n && amount <= AMOUNT_MAX;

/** Returns the text of the EPC code; null if the payment is not in euros, or too large. */
export function epcText({ iban, bic, holder, reference }: WireDetails, paid: QrAmount): string | null {
  if (paid.currency !== 'EUR' || !isPayable(paid)) return null;
  const name = holder.slice(0, NAME_CHARS_MAX);
  return ['BCD', '002', '1', 'SCT', bic ?? '', name, iban, `EUR${decimal(paid.amount)}`, '', reference].join(
    '\n',
  );
}

/** Empty lines of a party that is not given. */
const NO_PARTY: readonly string[] = Array.from({ length: 7 }, () => '');

/**
 * Returns the text of the Swiss code; null if the account is not Swiss, the currency is neither CHF nor EUR, the address is not known, or the
 * amount is too large.
 */
export function swissText({ iban, holder, address, reference }: WireDetails, paid: QrAmount): string | null {
  const isSwiss = /^(CH|LI)/.test(iban);
  if (!isSwiss || address === null || !['CHF', 'EUR'].includes(paid.currency) || !isPayable(paid))
    return null;
  const { street, postcode, town, country } = address;
  return [
    ...['SPC', '0200', '1', iban],
    ...['S', holder.slice(0, NAME_CHARS_MAX), street ?? '', '', postcode, town, country],
    ...NO_PARTY,
    ...[decimal(paid.amount), paid.currency],
    ...NO_PARTY,
    ...['SCOR', reference, '', 'EPD'],
  ].join('\n');
}

/** Empty modules around a code, which a reader needs. */
const QUIET_MODULES = 4;
/** Side of the Swiss code and of its cross in millimetres, from the guidelines. */
const SWISS_MM = 46;
const CROSS_MM = 7;
/** The Swiss cross in units of its side: bars of 6/32 by 20/32, as in the coat of arms. */
const CROSS_UNITS = 32;

function swissCross(size: number): string {
  const side = (size * CROSS_MM) / SWISS_MM;
  const at = (size - side) / 2;
  const unit = side / CROSS_UNITS;
  const box = (x: number, y: number, width: number, height: number, fill: string): string =>
    `<rect x="${(at + x * unit).toFixed(3)}" y="${(at + y * unit).toFixed(3)}" width="${(width * unit).toFixed(3)}" height="${(height * unit).toFixed(3)}" fill="${fill}"/>`;
  return [
    box(-2, -2, 36, 36, '#fff'),
    box(0, 0, 32, 32, '#000'),
    box(13, 6, 6, 20, '#fff'),
    box(6, 13, 20, 6, '#fff'),
  ].join('');
}

/**
 * Returns a code as an inline SVG that needs no style and no script.
 *
 * @param label - text for people who cannot see it
 * @param isSwiss - draws the Swiss cross in its middle
 */
export function qrSvg(text: string, label: string, isSwiss: boolean): string {
  // Both standards ask for UTF-8 in byte mode, and correction level M.
  const code = generate(mode.bytes(Buffer.from(text)), {
    minCorrectionLevel: correction.M,
    maxCorrectionLevel: correction.M,
  });
  const { size } = code;
  const runs: string[] = [];
  for (let y = 0; y < size; y++)
    for (let x = 0; x < size; x++) {
      if (!code.get(x, y)) continue;
      const from = x;
      while (x + 1 < size && code.get(x + 1, y)) x++;
      runs.push(`M${from} ${y}h${x - from + 1}v1h-${x - from + 1}z`);
    }
  const whole = size + 2 * QUIET_MODULES;
  const cross = isSwiss ? swissCross(size) : '';
  return `<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="${label}" width="${SWISS_MM}mm" height="${SWISS_MM}mm" viewBox="-${QUIET_MODULES} -${QUIET_MODULES} ${whole} ${whole}" shape-rendering="crispEdges"><rect x="-${QUIET_MODULES}" y="-${QUIET_MODULES}" width="${whole}" height="${whole}" fill="#fff"/><path d="${runs.join('')}" fill="#000"/>${cross}</svg>`;
}
