/** `GET /billing/packages`. */
import { callerOf, operation } from '../operation.ts';
import { OfferedPackages } from '../schemas/billing.ts';
import { BILLING } from './support/billing.ts';

export const billingPackages = operation({
  ...BILLING,
  id: 'billingPackages',
  sdk: 'billing.packages',
  method: 'GET',
  path: '/billing/packages',
  response: OfferedPackages,
  summary: 'Packages of credits',
  description:
    'Packages with their prices. A package is bought for one balance. The custom package has a price if the operator has agreed one with the account.',
  run({ services, call }) {
    const offer = services.useCases.billing().offer(callerOf(call).accountId);
    const bySignature = new Set(services.gasless?.()?.currencies() ?? []);
    const methods = offer.methods.map((one) => ({
      ...one,
      gasless: one.currencies.filter((currency) => bySignature.has(currency)),
    }));
    return { ...offer, methods };
  },
});
