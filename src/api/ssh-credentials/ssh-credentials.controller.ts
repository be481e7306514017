import { controllerOf } from '../resources/routes/resource-routes.js';
import {
  CreateSshCredential,
  CreateSshCredentialBody,
  DeleteSshCredential,
  LIST_PARAMETERS,
  SSH_CREDENTIALS,
  SshCredentialResource,
  UpdateSshCredential,
  UpdateSshCredentialBody,
} from './ssh-credentials.resource.js';

const TOO_LONG = ['ssh_credential_description_too_long', 'ssh_credential_metadata_too_long'] as const;
const OWNER = ['owner_inactive', 'owner_not_yours'] as const;
const KEY = ['public_key_missing', 'public_key_invalid'] as const;
const KEY_IN_USE = ['public_key_already_used', 'public_key_used_elsewhere'] as const;
const REFUSED = ['role_missing', 'not_found'] as const;

export const SshCredentialsController = controllerOf(SSH_CREDENTIALS, {
  names: ['SshCredential', 'SshCredentials'],
  nouns: ['an SSH credential', 'SSH credentials'],
  answer: SshCredentialResource,
  create: {
    command: CreateSshCredential,
    body: CreateSshCredentialBody,
    problems: [...KEY, 'acl_rule_invalid', ...TOO_LONG, ...OWNER, ...KEY_IN_USE],
  },
  list: { parameters: LIST_PARAMETERS },
  update: {
    command: UpdateSshCredential,
    body: UpdateSshCredentialBody,
    description: 'An absent or null field stays as it is; an empty text or list clears.',
    problems: ['acl_rule_invalid', ...TOO_LONG, ...REFUSED],
  },
  delete: { command: DeleteSshCredential, problems: REFUSED },
});
