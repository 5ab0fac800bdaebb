/** The names of the operations in the SDKs: one table for the code samples of the OpenAPI document and for the tests of the SDKs. */

/** `resource.method` by operation id. The Python SDK has the same names in snake case. */
export const SDK_NAMES: Readonly<Record<string, string>> = {
  health: 'service.health',
  ready: 'service.ready',
  operatorStatus: 'operator.status',
  operatorImports: 'operator.imports',
  operatorLabelReports: 'operator.labelReports',
  decideLabelReport: 'operator.decideLabelReport',
  metrics: 'service.metrics',
  openapi: 'service.openapi',
  docs: 'service.docs',
  entity: 'entity.get',
  exchangeStatus: 'exchanges.status',
  labels: 'labels.list',
  attribution: 'labels.attribution',
  reportLabel: 'labels.report',
  labelReports: 'labels.listReports',
  screen: 'labels.screen',
  screenBulk: 'labels.screenBulk',
  sanctionsCheck: 'sanctions.check',
  oracle: 'oracle.check',
  oracleRoot: 'oracle.root',
  oracleProof: 'oracle.proof',
  screening: 'screening.create',
  kyt: 'kyt.check',
  listScreenings: 'savedScreenings.list',
  oneScreening: 'savedScreenings.get',
  compareScreenings: 'savedScreenings.compare',
  receiptProof: 'receipts.proof',
  oneReceipt: 'receipts.get',
  receiptLine: 'receipts.line',
  jwks: 'receipts.jwks',
  trace: 'trace.create',
  transaction: 'transactions.get',
  usage: 'usage.get',
  billingPackages: 'billing.packages',
  createCheckout: 'billing.checkout',
  createInvoice: 'billing.order',
  listInvoices: 'billing.list',
  oneInvoice: 'billing.get',
  billingSettings: 'billing.settings',
  changeBillingSettings: 'billing.changeSettings',
  billingStatement: 'billing.statement',
  invoiceProForma: 'billing.proForma',
  invoiceReceipt: 'billing.receipt',
  invoiceTypedData: 'billing.typedData',
  payInvoice: 'billing.authorize',
  listAuthorizations: 'billing.authorizations',
  billingStream: 'billing.stream',
  names: 'names.screen',
  clear: 'names.clear',
  clearedList: 'names.listCleared',
  unclear: 'names.unclear',
  register: 'auth.register',
  verifyEmail: 'auth.verify',
  resendConfirmation: 'auth.resendConfirmation',
  acceptInvitation: 'auth.acceptInvitation',
  login: 'auth.login',
  logout: 'auth.logout',
  session: 'auth.session',
  changePassword: 'auth.changePassword',
  forgotPassword: 'auth.forgotPassword',
  resetPassword: 'auth.resetPassword',
  listSessions: 'auth.sessions',
  endSession: 'auth.endSession',
  endOtherSessions: 'auth.endOtherSessions',
  enrolTotp: 'auth.enrolTotp',
  confirmTotp: 'auth.confirmTotp',
  renewRecoveryCodes: 'auth.renewRecoveryCodes',
  disableTotp: 'auth.disableTotp',
  listKeys: 'keys.list',
  createKey: 'keys.create',
  toggleKey: 'keys.toggle',
  revokeKey: 'keys.revoke',
  listPeople: 'people.list',
  addPerson: 'people.create',
  invitePerson: 'people.invite',
  changePerson: 'people.update',
  removePerson: 'people.remove',
  endPersonSessions: 'people.endSessions',
  discardTotp: 'people.disableTotp',
  auditLog: 'people.audit',
  addWallet: 'wallets.create',
  listWallets: 'wallets.list',
  oneWallet: 'wallets.get',
  changeWallet: 'wallets.update',
  removeWallet: 'wallets.remove',
  walletAlerts: 'wallets.alerts',
  walletTransactions: 'wallets.transactions',
  testWallet: 'wallets.test',
  listAlerts: 'alerts.list',
  moveAlert: 'alerts.setStatus',
  alertStream: 'alerts.stream',
  channels: 'channels.get',
  setChannels: 'channels.set',
  webhookSecret: 'webhooks.rotateSecret',
  deliveries: 'deliveries.list',
  replayDelivery: 'deliveries.replay',
  listCases: 'cases.list',
  createCase: 'cases.create',
  oneCase: 'cases.get',
  changeCase: 'cases.update',
  caseEvents: 'cases.events',
  addCaseEvent: 'cases.addEvent',
  caseFiles: 'cases.files',
  addCaseFile: 'cases.addFile',
  caseFile: 'cases.file',
  exportCase: 'cases.export',
  sendJob: 'jobs.create',
  listJobs: 'jobs.list',
  oneJob: 'jobs.get',
  jobResult: 'jobs.result',
  jobLine: 'jobs.line',
  cancelJob: 'jobs.cancel',
};

/** Operations that the SDKs leave out: Stripe calls this one, and signs it with its own secret. */
export const WITHOUT_SDK: ReadonlySet<string> = new Set(['stripeEvent']);

/** Returns a name in snake case, such as `screen_bulk`. */
const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Words that Python does not accept as names, except `False`, `None` and `True`, which are not in snake case. */
const PYTHON_KEYWORDS: ReadonlySet<string> = new Set(
  (
    'and as assert async await break class continue def del elif else except finally for from global if import in is ' +
    'lambda nonlocal not or pass raise return try while with yield'
  ).split(' '),
);

/** Returns the name of a field or parameter in the Python SDK: in snake case, and a keyword with an underscore, such as `from_`. */
export function pythonName(field: string): string {
  const plain = field.replace(/[^A-Za-z0-9]+/g, '_');
  const snake = /^[A-Z_]+$/.test(plain) ? plain.toLowerCase() : snakeCase(plain).replace(/^_/, '');
  const single = snake.replaceAll('__', '_');
  return PYTHON_KEYWORDS.has(single) ? `${single}_` : single;
}

/** Returns `resource.method` in the Python SDK. */
export const pythonMethod = (name: string): string => name.split('.').map(pythonName).join('.');
