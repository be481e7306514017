import type { SshCredentialResource } from '../../src/api/ssh-credentials/ssh-credentials.resource.js';
import { forgetAll } from './by-id.js';
import { useRights } from './caller.js';
import { type Change, type Field, Form, type Values } from './form.js';
import { Diff } from './history.js';
import { useOwners } from './names.js';
import { linesOf, localTime, nameOf, zone } from './show.js';
import { Tester } from './tester.js';

const FIELDS: readonly Field[] = [
  { name: 'description', label: 'Name of the device' },
  { name: 'key', label: 'Public key', kind: 'key', isRequired: true, placeholder: 'ssh-ed25519 AAAA...' },
  {
    ...{ name: 'rules', label: 'May bind, one rule a line', kind: 'lines' },
    ...{ placeholder: 'bind:app=till\nbind:*.graz.example.com' },
  },
  {
    ...{ name: 'networks', label: 'Only from these networks, one a line', kind: 'lines' },
    ...{ hint: 'Empty: from anywhere.', placeholder: '198.51.100.0/24' },
  },
  { name: 'expires', label: `Expires, ${zone()} (empty: never)`, kind: 'time' },
];

const valuesOf = (base: SshCredentialResource | undefined): Values => ({
  ...{ description: base?.description ?? '', key: base?.public_key ?? '', rules: (base?.acl ?? []).join('\n') },
  ...{ networks: (base?.source_cidrs ?? []).join('\n'), expires: localTime(base?.expires_at), owner: '' },
});

const expiryOf = ({ expires = '' }: Values) => ({ expires_at: new Date(expires).toISOString() });

const creation = (values: Values): readonly Change[] => {
  const { description = '', key = '', rules = '', networks = '', expires, owner } = values;
  const cidrs = linesOf(networks);
  const body = {
    ...{ public_key: key.trim(), description: description.trim(), acl: linesOf(rules) },
    ...(cidrs.length > 0 && { source_cidrs: cidrs }),
    ...(expires && expiryOf(values)),
    ...(owner && { owner_id: owner }),
  };
  return [['POST', '', body]];
};

function changesOf(values: Values, was: Values): readonly Change[] {
  const { description, rules = '', networks = '', expires } = values;
  const changes: Change[] = [];
  if (description !== was.description || rules !== was.rules)
    changes.push(['PATCH', '', { description, acl: linesOf(rules) }]);
  if (networks !== was.networks) {
    const cidrs = linesOf(networks);
    changes.push(cidrs.length > 0 ? ['PUT', '/source_restriction', { cidrs }] : ['DELETE', '/source_restriction']);
  }
  if (expires !== was.expires) changes.push(expires ? ['PUT', '/expiry', expiryOf(values)] : ['DELETE', '/expiry']);
  if (changes.length > 0) forgetAll();
  return changes;
}

/** No rules are all rights: a person who empties the field is told. */
function Rules({ values: { rules = '', networks = '' } }: { readonly values: Values }) {
  const acl = linesOf(rules);
  return (
    <>
      {acl.length === 0 && (
        <p class="answer no" role="status">
          <b>Without a rule this key may bind anything.</b>
        </p>
      )}
      <Tester acl={acl} networks={linesOf(networks)} />
    </>
  );
}

export function NewCredential() {
  const { isAdmin, caller } = useRights();
  const others = useOwners().filter(({ id }) => id !== caller?.id);
  const owner: Field = {
    ...{ name: 'owner', label: 'Owner' },
    options: [['', caller?.name ?? 'me'], ...others.map(({ id, name }) => [id, name] as const)],
  };
  return (
    <Form<SshCredentialResource>
      title={() => 'Add a key'}
      path="/ssh_credentials"
      isNew
      fields={isAdmin ? [...FIELDS, owner] : FIELDS}
      valuesOf={valuesOf}
      changesOf={creation}
      act="Add the key"
      back="credentials"
      beside={(values) => <Rules values={values} />}
    />
  );
}

export function EditCredential({ id }: { readonly id: string }) {
  return (
    <Form<SshCredentialResource>
      title={(base) => (base === undefined ? 'Change a credential' : `Change ${nameOf(base)}`)}
      path={`/ssh_credentials/${encodeURIComponent(id)}`}
      fields={FIELDS.filter(({ kind }) => kind !== 'key')}
      valuesOf={valuesOf}
      changesOf={changesOf}
      act="Save"
      back="credentials"
      beside={(values, base) => (
        <>
          <Diff name="what changes in the rules" from={base?.acl} to={linesOf(values.rules ?? '')} />
          <Rules values={values} />
        </>
      )}
    />
  );
}
