import { type AnyReadModel, modelFinder, sealedRecordsReadModel } from '../event-log/index.js';
import { accountsReadModel } from './access/accounts/accounts.read-model.js';
import { principalsReadModel } from './access/accounts/principals.read-model.js';
import { apiKeysReadModel } from './access/api-keys/api-keys.read-model.js';
import { enrollmentKeysReadModel } from './enrollment-keys/enrollment-keys.read-model.js';
import { ipPoliciesReadModel } from './ip-policies/ip-policies.read-model.js';
import { ipPolicyRulesReadModel } from './ip-policies/ip-policy-rules.read-model.js';
import { reservedAddrsReadModel } from './reservations/reserved-addrs.read-model.js';
import { reservedDomainsReadModel } from './reservations/reserved-domains.read-model.js';
import { sshCredentialsReadModel } from './ssh-credentials/ssh-credentials.read-model.js';
import { tcpEdgesReadModel } from './tcp-edges/tcp-edges.read-model.js';
import { tunnelGroupsReadModel } from './tunnel-groups/tunnel-groups.read-model.js';
import { tunnelSessionsReadModel } from './tunnel-sessions/tunnel-sessions.read-model.js';

/**
 * Every read model, in the order in which an import makes rows. IP policies come before their rules, which the table refuses
 * without them. Principals come last, because the tables of owned entities refuse rows of a deleted owner.
 */
export const READ_MODELS: readonly AnyReadModel[] = [
  accountsReadModel,
  apiKeysReadModel,
  enrollmentKeysReadModel,
  sshCredentialsReadModel,
  ipPoliciesReadModel,
  ipPolicyRulesReadModel,
  tunnelGroupsReadModel,
  reservedAddrsReadModel,
  reservedDomainsReadModel,
  tcpEdgesReadModel,
  tunnelSessionsReadModel,
  sealedRecordsReadModel,
  principalsReadModel,
];

/** The model of a stream. Throws for a stream that this version does not know. */
export function readModelOf(streamId: string): AnyReadModel {
  const model = findModel(streamId);
  if (model === undefined) throw new Error(`no read model has streams like ${streamId}`);
  return model;
}

const findModel = modelFinder(READ_MODELS);
