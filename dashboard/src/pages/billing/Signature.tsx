/** Paying an invoice in USDC by a signature of the wallet in the browser: the operator of the service sends the transfer and pays its gas. */
import { useMutation, useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { call } from '../../api/client.ts';
import { useI18n } from '../../i18n/index.tsx';
import { Button } from '../../ui/Button.tsx';
import { Failure } from '../../ui/states.tsx';
import { type Invoice, LOOK_EVERY_MS } from './invoices.ts';

/** A wallet that is an extension of the browser (EIP-1193). */
interface Wallet {
  request(request: { readonly method: string; readonly params?: readonly unknown[] }): Promise<unknown>;
}

const HEX = 16;

/** Returns the wallet of the browser; null if there is none. */
function walletOfBrowser(): Wallet | null {
  const { ethereum } = window as unknown as { readonly ethereum?: Partial<Wallet> };
  return typeof ethereum?.request === 'function' ? (ethereum as Wallet) : null;
}

/** Throws an Error also if a wallet rejects with a plain object. */
async function asked(wallet: Wallet, method: string, params: readonly unknown[] = []): Promise<unknown> {
  try {
    return await wallet.request({ method, params });
  } catch (error) {
    if (error instanceof Error) throw error;
    const { message } = error as { readonly message?: unknown };
    throw new Error(typeof message === 'string' ? message : String(error));
  }
}

/** Asks the wallet for a signature, and sends it. */
async function pay(wallet: Wallet, id: string): Promise<void> {
  const [payer] = (await asked(wallet, 'eth_requestAccounts')) as readonly string[];
  const { authorization, typedData } = await call('get', '/billing/invoices/{id}/typed-data', {
    path: { id },
    query: { payer: payer ?? '' },
  });
  const { domain } = JSON.parse(typedData) as { readonly domain: { readonly chainId: number } };
  // Wallets sign typed data of the chain only that they show.
  const chainId = `0x${domain.chainId.toString(HEX)}`;
  await asked(wallet, 'wallet_switchEthereumChain', [{ chainId }]);
  const signature = (await asked(wallet, 'eth_signTypedData_v4', [payer, typedData])) as string;
  await call('post', '/billing/invoices/{id}/authorizations', {
    path: { id },
    body: { authorization, signature },
  });
}

/** The button, and the state of the newest signature. Nothing without a wallet in the browser. */
export function Signature({ invoice: { id } }: { readonly invoice: Invoice }): ReactNode {
  const { t } = useI18n();
  const wallet = walletOfBrowser();
  const paying = useMutation({ mutationFn: () => pay(wallet as Wallet, id) });
  const sent = useQuery({
    queryKey: ['billing', 'authorizations', id],
    queryFn: ({ signal }) => call('get', '/billing/invoices/{id}/authorizations', { path: { id }, signal }),
    enabled: paying.isSuccess,
    staleTime: 0,
    refetchInterval: LOOK_EVERY_MS,
  });
  if (wallet === null) return null;
  const last = sent.data?.authorizations.at(-1);
  const isOpen = last !== undefined && last.state !== 'FAILED';
  return (
    <div>
      <p className="muted">{t('billing.signNote')}</p>
      {isOpen ? (
        <p role="status">{t('billing.signSent')}</p>
      ) : (
        <Button kind="primary" isBusy={paying.isPending} onClick={() => paying.mutate()}>
          {t('billing.signButton')}
        </Button>
      )}
      {last?.state === 'FAILED' ? <Failure error={new Error(last.reason ?? last.state)} /> : null}
      {paying.error === null ? null : <Failure error={paying.error} />}
    </div>
  );
}
