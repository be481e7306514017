import { accountsReadModel, apiKeysReadModel, principalsReadModel } from './access/access.read-models.js';
import { type AnyReadModel, anyReadModel } from './log/read-model.js';
import { sshCredentialsReadModel } from './ssh-credentials/ssh-credentials.read-model.js';
import { tcpEdgesReadModel } from './tcp-edges/tcp-edges.read-model.js';

/**
 * Every read model, in replay order: principals last, since the tables of what they own refuse rows of an owner who is
 * deleted, and while a log is replayed nobody is yet.
 */
export const READ_MODELS: readonly AnyReadModel[] = [
  anyReadModel(accountsReadModel),
  anyReadModel(apiKeysReadModel),
  anyReadModel(sshCredentialsReadModel),
  anyReadModel(tcpEdgesReadModel),
  anyReadModel(principalsReadModel),
];

/** The model that a stream belongs to, by the prefix of its id. Throws for a stream that this version does not know. */
export function readModelOf(streamId: string): AnyReadModel {
  const model = BY_PREFIX.get(streamId.slice(0, streamId.lastIndexOf('_')));
  if (model === undefined) throw new Error(`no read model knows streams like ${streamId}`);
  return model;
}

const BY_PREFIX = new Map(READ_MODELS.flatMap((model) => model.streamPrefixes.map((prefix) => [prefix, model])));
