import { useState } from 'preact/hooks';
import type { ApiKeyResource } from '../../src/api/access/api-keys/api-keys.resource.js';
import { useRights } from './caller.js';
import { type Change, type Field, Form, type Values } from './form.js';
import { type Column, List, useList } from './list.js';
import { ownerName, useOwners } from './names.js';
import { hrefTo, type Route } from './route.js';
import { Copyable, Heading, localTime, Mark, nameOf, Time, zone } from './show.js';
import { Thing } from './thing.js';

const PATH = '/api_keys';

const End = ({ expires_at }: ApiKeyResource) =>
  expires_at === undefined ? (
    <>never</>
  ) : (
    <>
      {Date.parse(expires_at) <= Date.now() && <Mark kind="bad">expired</Mark>} <Time at={expires_at} />
    </>
  );

export function Keys({ route }: { readonly route: Route }) {
  const { mayChange, caller } = useRights();
  const owners = useOwners();
  const list = useList<ApiKeyResource>(PATH, 'keys', { before: route.query.get('before') });
  const columns: Column<ApiKeyResource>[] = [
    {
      name: 'API key',
      cell: (key) => (
        <>
          <a href={hrefTo(['keys', key.id])}>{nameOf(key)}</a>{' '}
          {key.id === caller?.api_key_id && <Mark kind="on">signed in here</Mark>}
        </>
      ),
    },
    { name: 'Owner', cell: ({ owner_id }) => ownerName(owners, owner_id) },
    { name: 'Expires', cell: End },
    { name: 'Created', kind: 'less', cell: ({ created_at }) => <Time at={created_at} /> },
  ];
  return (
    <List
      route={route}
      title="API keys"
      list={list}
      columns={columns}
      add={mayChange && 'Add an API key'}
      empty="An API key signs a person or a program in."
    />
  );
}

const valuesOf = (base: ApiKeyResource | undefined): Values => ({
  ...{ description: base?.description ?? '', expires: localTime(base?.expires_at), owner: '' },
});
const expiry = ({ expires = '' }: Values): Change =>
  expires ? ['PUT', '/expiry', { expires_at: new Date(expires).toISOString() }] : ['DELETE', '/expiry'];
const FIELDS: readonly Field[] = [
  { name: 'description', label: 'What it is for' },
  { name: 'expires', label: `Expires, ${zone()} (empty: never)`, kind: 'time' },
];

/** The token is shown once, and is in no address: whoever leaves the page does not see it again. */
export function NewKey() {
  const { isAdmin, caller } = useRights();
  const others = useOwners().filter(({ id }) => id !== caller?.id);
  const [made, setMade] = useState<ApiKeyResource>();
  const owner: Field = {
    ...{ name: 'owner', label: 'Owner' },
    options: [['', caller?.name ?? 'me'], ...others.map(({ id, name }) => [id, name] as const)],
  };
  const creation = (values: Values): readonly Change[] => [
    ['POST', '', { description: values.description, ...(values.owner && { owner_id: values.owner }) }],
    ...(values.expires ? [expiry(values)] : []),
  ];
  if (made !== undefined)
    return (
      <>
        <Heading title="Copy the token now" />
        <section class="sheet">
          <div class="pad">
            <Copyable text={made.token ?? ''} />
            <p>It is shown only here, and only now: the service keeps its hash.</p>
            <p>
              <a href={hrefTo(['keys', made.id])}>I have it</a>
            </p>
          </div>
        </section>
      </>
    );
  return (
    <Form<ApiKeyResource>
      title={() => 'Add an API key'}
      path={PATH}
      isNew
      fields={isAdmin ? [...FIELDS, owner] : FIELDS}
      valuesOf={valuesOf}
      changesOf={creation}
      act="Add the key"
      back="keys"
      onDone={setMade}
    />
  );
}

export function EditKey({ id }: { readonly id: string }) {
  const changesOf = (values: Values, was: Values): readonly Change[] => [
    ...(values.description === was.description ? [] : [['PATCH', '', { description: values.description }] as const]),
    ...(values.expires === was.expires ? [] : [expiry(values)]),
  ];
  return (
    <Form<ApiKeyResource>
      title={(base) => (base === undefined ? 'Change an API key' : `Change ${nameOf(base)}`)}
      path={`${PATH}/${encodeURIComponent(id)}`}
      fields={FIELDS}
      valuesOf={valuesOf}
      changesOf={changesOf}
      act="Save"
      back="keys"
    />
  );
}

export function Key({ id }: { readonly id: string }) {
  const { isAdmin, mayChange, caller } = useRights();
  const owners = useOwners();
  const isOwn = ({ owner_id }: ApiKeyResource) => owner_id === caller?.id;
  return (
    <Thing<ApiKeyResource>
      place="keys"
      id={id}
      one="API key"
      nameOf={nameOf}
      isMine={(key) => isAdmin || (mayChange && isOwn(key))}
      hasOwnHistory={isOwn}
      left={(key) => (
        <section class="sheet">
          <div class="pad">
            <p>Owner {ownerName(owners, key.owner_id)}</p>
            <p>
              Expires: <End {...key} />
            </p>
            <p class="quiet">
              Created <Time at={key.created_at} />
            </p>
          </div>
        </section>
      )}
      ends={(key) => (
        <p>
          {key.id === caller?.api_key_id
            ? 'This page signed in with it: it signs out.'
            : 'Whoever uses it is refused from the next request on.'}
        </p>
      )}
    />
  );
}
