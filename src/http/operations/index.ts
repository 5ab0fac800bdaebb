/** The list of all operations, in the order of the documentation. */
import type { Operation } from '../operation.ts';
import { acceptInvitation } from './accept-invitation.ts';
import { addCaseEvent } from './add-case-event.ts';
import { addCaseFile } from './add-case-file.ts';
import { addPerson } from './add-person.ts';
import { addWallet } from './add-wallet.ts';
import { alertStream } from './alert-stream.ts';
import { attribution } from './attribution.ts';
import { auditLog } from './audit-log.ts';
import { billingPackages } from './billing-packages.ts';
import { billingSettings } from './billing-settings.ts';
import { billingStatement } from './billing-statement.ts';
import { billingStream } from './billing-stream.ts';
import { cancelJob } from './cancel-job.ts';
import { caseEvents } from './case-events.ts';
import { caseFile } from './case-file.ts';
import { caseFiles } from './case-files.ts';
import { changeBillingSettings } from './change-billing-settings.ts';
import { changeCase } from './change-case.ts';
import { changePassword } from './change-password.ts';
import { changePerson } from './change-person.ts';
import { changeWallet } from './change-wallet.ts';
import { channels } from './channels.ts';
import { clear } from './clear.ts';
import { clearedList } from './cleared-list.ts';
import { compareScreenings } from './compare-screenings.ts';
import { confirmTotp } from './confirm-totp.ts';
import { createCase } from './create-case.ts';
import { createCheckout } from './create-checkout.ts';
import { createInvoice } from './create-invoice.ts';
import { createKey } from './create-key.ts';
import { decideLabelReport } from './decide-label-report.ts';
import { deliveries } from './deliveries.ts';
import { disableTotp } from './disable-totp.ts';
import { discardTotp } from './discard-totp.ts';
import { docs } from './docs.ts';
import { docsApi } from './docs-api.ts';
import { docsAsset } from './docs-asset.ts';
import { endOtherSessions } from './end-other-sessions.ts';
import { endPersonSessions } from './end-person-sessions.ts';
import { endSession } from './end-session.ts';
import { enrolTotp } from './enrol-totp.ts';
import { entity } from './entity.ts';
import { exchangeStatus } from './exchange-status.ts';
import { exportCase } from './export-case.ts';
import { forgotPassword } from './forgot-password.ts';
import { guide } from './guide.ts';
import { guidePage } from './guide-page.ts';
import { health } from './health.ts';
import { invitePerson } from './invite-person.ts';
import { invoiceProForma } from './invoice-pro-forma.ts';
import { invoiceReceipt } from './invoice-receipt.ts';
import { invoiceTypedData } from './invoice-typed-data.ts';
import { jobLine } from './job-line.ts';
import { jobResult } from './job-result.ts';
import { jwks } from './jwks.ts';
import { kyt } from './kyt.ts';
import { labelReports } from './label-reports.ts';
import { labels } from './labels.ts';
import { listAlerts } from './list-alerts.ts';
import { listAuthorizations } from './list-authorizations.ts';
import { listCases } from './list-cases.ts';
import { listInvoices } from './list-invoices.ts';
import { listJobs } from './list-jobs.ts';
import { listKeys } from './list-keys.ts';
import { listPeople } from './list-people.ts';
import { listScreenings } from './list-screenings.ts';
import { listSessions } from './list-sessions.ts';
import { listWallets } from './list-wallets.ts';
import { llms } from './llms.ts';
import { logCheckpoint } from './log-checkpoint.ts';
import { LOG_TILES } from './log-tiles.ts';
import { login } from './login.ts';
import { logout } from './logout.ts';
import { mcp } from './mcp.ts';
import { mcpEnd } from './mcp-end.ts';
import { mcpStream } from './mcp-stream.ts';
import { metrics } from './metrics.ts';
import { moveAlert } from './move-alert.ts';
import { names } from './names.ts';
import { oneCase } from './one-case.ts';
import { oneInvoice } from './one-invoice.ts';
import { oneJob } from './one-job.ts';
import { oneReceipt } from './one-receipt.ts';
import { oneScreening } from './one-screening.ts';
import { oneWallet } from './one-wallet.ts';
import { openapi } from './openapi.ts';
import { operatorImports } from './operator-imports.ts';
import { operatorLabelReports } from './operator-label-reports.ts';
import { operatorStatus } from './operator-status.ts';
import { oracle } from './oracle.ts';
import { oracleProof } from './oracle-proof.ts';
import { oracleRoot } from './oracle-root.ts';
import { payInvoice } from './pay-invoice.ts';
import { ready } from './ready.ts';
import { receiptLine } from './receipt-line.ts';
import { receiptProof } from './receipt-proof.ts';
import { register } from './register.ts';
import { removePerson } from './remove-person.ts';
import { removeWallet } from './remove-wallet.ts';
import { renewRecoveryCodes } from './renew-recovery-codes.ts';
import { replayDelivery } from './replay-delivery.ts';
import { reportLabel } from './report-label.ts';
import { resendConfirmation } from './resend-confirmation.ts';
import { resetPassword } from './reset-password.ts';
import { revokeKey } from './revoke-key.ts';
import { sanctionsCheck } from './sanctions-check.ts';
import { screen } from './screen.ts';
import { screenBulk } from './screen-bulk.ts';
import { screening } from './screening.ts';
import { sendJob } from './send-job.ts';
import { session } from './session.ts';
import { setChannels } from './set-channels.ts';
import { stripeEvent } from './stripe-event.ts';
import { testWallet } from './test-wallet.ts';
import { toggleKey } from './toggle-key.ts';
import { trace } from './trace.ts';
import { transaction } from './transaction.ts';
import { unclear } from './unclear.ts';
import { usage } from './usage.ts';
import { verifyEmail } from './verify-email.ts';
import { walletAlerts } from './wallet-alerts.ts';
import { walletTransactions } from './wallet-transactions.ts';
import { webhookSecret } from './webhook-secret.ts';

export const OPERATIONS: readonly Operation[] = [
  health,
  ready,
  operatorStatus,
  operatorImports,
  operatorLabelReports,
  decideLabelReport,
  metrics,
  guide,
  guidePage,
  llms,
  openapi,
  docs,
  docsApi,
  docsAsset,
  entity,
  exchangeStatus,
  labels,
  attribution,
  reportLabel,
  labelReports,
  screen,
  screenBulk,
  sanctionsCheck,
  oracle,
  oracleRoot,
  oracleProof,
  screening,
  kyt,
  listScreenings,
  oneScreening,
  compareScreenings,
  receiptProof,
  receiptLine,
  logCheckpoint,
  ...LOG_TILES,
  oneReceipt,
  jwks,
  trace,
  transaction,
  usage,
  billingPackages,
  billingSettings,
  changeBillingSettings,
  billingStatement,
  billingStream,
  createCheckout,
  createInvoice,
  listInvoices,
  oneInvoice,
  invoiceProForma,
  invoiceTypedData,
  payInvoice,
  listAuthorizations,
  invoiceReceipt,
  names,
  clear,
  clearedList,
  unclear,
  register,
  verifyEmail,
  resendConfirmation,
  acceptInvitation,
  login,
  logout,
  session,
  changePassword,
  forgotPassword,
  resetPassword,
  listSessions,
  endSession,
  endOtherSessions,
  enrolTotp,
  confirmTotp,
  renewRecoveryCodes,
  disableTotp,
  listKeys,
  createKey,
  toggleKey,
  revokeKey,
  listPeople,
  addPerson,
  invitePerson,
  changePerson,
  removePerson,
  endPersonSessions,
  discardTotp,
  auditLog,
  stripeEvent,
  addWallet,
  listWallets,
  oneWallet,
  changeWallet,
  removeWallet,
  walletAlerts,
  walletTransactions,
  testWallet,
  listAlerts,
  moveAlert,
  channels,
  setChannels,
  webhookSecret,
  deliveries,
  replayDelivery,
  alertStream,
  createCase,
  listCases,
  oneCase,
  changeCase,
  caseEvents,
  addCaseEvent,
  caseFiles,
  addCaseFile,
  caseFile,
  exportCase,
  sendJob,
  listJobs,
  oneJob,
  jobLine,
  jobResult,
  cancelJob,
  mcp,
  mcpStream,
  mcpEnd,
];
