/**
 * The receipt on the printed report: the JWS as text, and a QR code. A JWS has some 4 KB, because it lists the state of every sanctions list,
 * and the largest QR code has 2,953 bytes, which no camera reads from a sheet of paper. So the code has the address of `/verify` with the id
 * and the SHA-256 of the receipt: enough to find it (`GET /receipts/{id}`, the transparency log), and to see that it is this one.
 */
import { type ReactNode, useEffect, useState } from 'react';
import type { Schemas } from '../../api/client.ts';
import { useI18n } from '../../i18n/index.tsx';
import { PATHS } from '../../paths.ts';
import { QrCode } from '../../ui/QrCode.tsx';
import { codeLink, receiptSha256 } from '../verify/code.ts';

interface PrintedReceiptProps {
  readonly receipt: Schemas['IssuedReceipt'];
}

/** The section. */
export function PrintedReceipt({ receipt: { id, jws } }: PrintedReceiptProps): ReactNode {
  const { t } = useI18n();
  const [sha256, setSha256] = useState<string | null>(null);
  useEffect(() => {
    let isGone = false;
    void receiptSha256(jws).then((hash) => {
      if (!isGone) setSha256(hash);
    });
    return () => {
      isGone = true;
    };
  }, [jws]);
  const link = codeLink(`${location.origin}${PATHS.verify}`, { id, sha256 });
  return (
    <section className="only-print printed-receipt" aria-label={t('screening.receipt')}>
      <h2>{t('screening.receipt')}</h2>
      <p>{t('screening.receiptHelp', { id, url: `${location.origin}${PATHS.verify}` })}</p>
      {sha256 === null ? null : (
        <p>
          SHA-256 <code>{sha256}</code>
        </p>
      )}
      <QrCode text={link} label={t('screening.receiptCode')} />
      <p>
        <code>{jws}</code>
      </p>
    </section>
  );
}
