/** The live credentials of one key on its account, whose owners are active; all have the same key. */
export interface GrantedKey {
  readonly id: string;
  readonly keyType: string;
  readonly keyBlob: string;
  readonly acl: readonly string[];
}

/** One authorized_keys line (no newline at its end) that grants the union of what the credentials allow. */
export function authorizedKeysLine(credentials: readonly [GrantedKey, ...GrantedKey[]]): string {
  const [{ keyType, keyBlob, id }] = credentials;
  return `${['restrict', ...optionsOf(credentials)].join(',')} ${keyType} ${keyBlob} ${id}`;
}

/** Without a permitlisten sshd permits everything, so port-forwarding goes as well when no rule has a form in sshd. */
function optionsOf(credentials: readonly GrantedKey[]): string[] {
  if (credentials.some(({ acl }) => acl.length === 0 || acl.includes('*') || acl.includes('bind:*'))) {
    return ['port-forwarding'];
  }
  const listens = new Set(credentials.flatMap(({ acl }) => acl.filter((rule) => !rule.includes('=')).map(listenOf)));
  return listens.size === 0 ? [] : ['port-forwarding', ...[...listens].map((listen) => `permitlisten="${listen}"`)];
}

function listenOf(rule: string): string {
  const target = rule.replace(/^bind:/, '').toLowerCase();
  return /:(\d+|\*)$/.test(target) ? target : `${target}:*`;
}
