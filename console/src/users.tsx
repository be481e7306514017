import type { BotUserResource } from '../../src/api/access/accounts/bot-users.resource.js';
import type { UserResource } from '../../src/api/access/accounts/users.resource.js';
import { useRights } from './caller.js';
import { type Change, type Field, Form, type Values } from './form.js';
import { type Column, List, useList } from './list.js';
import { useReading } from './reading.js';
import { goTo, hrefTo, type Route, withFilter } from './route.js';
import { Choice, Mark, plain, Time } from './show.js';
import { Thing } from './thing.js';

/** A user has an email address, and a bot a name. */
type Person = (UserResource | BotUserResource) & { readonly role?: string };
const personName = (person: Person): string => plain('email' in person ? person.email : person.name);
const isBot = (id: string): boolean => id.startsWith('bot_');
const ROLES = ['member', 'auditor', 'admin'] as const;

const State = ({ active }: { readonly active: boolean }) =>
  active ? <Mark kind="on">active</Mark> : <Mark kind="warn">inactive</Mark>;

export function People({ route }: { readonly route: Route }) {
  const { isAdmin } = useRights();
  const kind = route.query.get('kind') === 'bots' ? 'bot_users' : 'users';
  const list = useList<Person>(`/${kind}`, kind, { before: route.query.get('before') });
  const columns: Column<Person>[] = [
    { name: 'Name', cell: (person) => <a href={hrefTo(['people', person.id])}>{personName(person)}</a> },
    ...(kind === 'users' ? [{ name: 'Role', cell: ({ role }: Person) => role }] : []),
    { name: 'State', cell: ({ active }) => <State active={active} /> },
    { name: 'Created', kind: 'less', cell: ({ created_at }) => <Time at={created_at} /> },
  ];
  return (
    <List
      route={route}
      title="Users and bots"
      list={list}
      columns={columns}
      add={isAdmin && (kind === 'users' ? 'Add a user' : 'Add a bot')}
      empty="A bot is a program that owns credentials and API keys."
    >
      <Choice
        id="kind"
        label="Show"
        value={kind === 'users' ? '' : 'bots'}
        options={[
          ['', 'Users'],
          ['bots', 'Bots'],
        ]}
        onChoose={(value) => goTo(withFilter(route, 'kind', value))}
      />
    </List>
  );
}

const ROLE: Field = { name: 'role', label: 'Role', options: ROLES.map((role) => [role, role] as const) };
const ACTIVE: Field = {
  ...{ name: 'active', label: 'State', hint: 'The keys of who is inactive are refused.' },
  options: [
    ['true', 'active'],
    ['false', 'inactive'],
  ],
};

export function NewPerson({ route }: { readonly route: Route }) {
  const bot = route.query.get('kind') === 'bots';
  const name: Field = { name: 'name', label: bot ? 'Name of the bot' : 'Email address', isRequired: true };
  const creation = ({ name: typed = '', role }: Values): readonly Change[] =>
    bot
      ? [['POST', '', { name: typed.trim() }], ...(role === 'member' ? [] : [['PUT', '/role', { role }] as const])]
      : [['POST', '', { email: typed.trim(), role }]];
  return (
    <Form<Person>
      title={() => (bot ? 'Add a bot' : 'Add a user')}
      path={bot ? '/bot_users' : '/users'}
      isNew
      fields={[name, ROLE]}
      valuesOf={() => ({ name: '', role: 'member' })}
      changesOf={creation}
      act={bot ? 'Add the bot' : 'Add the user'}
      back="people"
    />
  );
}

const useRole = (id: string) =>
  useReading<{ role: string }>(isBot(id) ? `/bot_users/${encodeURIComponent(id)}/role` : undefined).data?.role;

export function EditPerson({ id }: { readonly id: string }) {
  const bot = isBot(id);
  const roleOfBot = useRole(id);
  if (bot && roleOfBot === undefined) return null;
  const valuesOf = (base: Person | undefined): Values => ({
    ...{ role: base?.role ?? roleOfBot ?? 'member', active: String(base?.active ?? true) },
    ...(base !== undefined && 'name' in base && { name: base.name }),
  });
  const changesOf = (values: Values, was: Values): readonly Change[] => {
    const { name, role } = values;
    const body = {
      ...(values.active !== was.active && { active: values.active === 'true' }),
      ...(name !== was.name && { name }),
      ...(!bot && role !== was.role && { role }),
    };
    return [
      ...(Object.keys(body).length > 0 ? [['PATCH', '', body] as const] : []),
      ...(bot && role !== was.role ? [['PUT', '/role', { role }] as const] : []),
    ];
  };
  return (
    <Form<Person>
      title={(base) => (base === undefined ? 'Change' : `Change ${personName(base)}`)}
      path={`${bot ? '/bot_users' : '/users'}/${encodeURIComponent(id)}`}
      fields={[...(bot ? [{ name: 'name', label: 'Name of the bot' }] : []), ROLE, ACTIVE]}
      valuesOf={valuesOf}
      changesOf={changesOf}
      act="Save"
      back="people"
    />
  );
}

export function Person({ id }: { readonly id: string }) {
  const { isAdmin } = useRights();
  const roleOfBot = useRole(id);
  return (
    <Thing<Person>
      place="people"
      id={id}
      one={isBot(id) ? 'Bot' : 'User'}
      nameOf={personName}
      marks={({ active }) => <State active={active} />}
      isMine={() => isAdmin}
      left={(person) => (
        <section class="sheet">
          <div class="pad">
            <p>
              Role: <b>{person.role ?? roleOfBot ?? 'not known'}</b>
            </p>
            <p class="quiet">
              Created <Time at={person.created_at} />
            </p>
            <p>
              <a href={hrefTo(['credentials'], { owner: id })}>Its credentials</a>
            </p>
          </div>
        </section>
      )}
      ends={() => <Ends id={id} />}
      typed={personName}
    />
  );
}

/** A delete names what ends. */
function Ends({ id }: { readonly id: string }) {
  const { items, next } = useList('/ssh_credentials', 'ssh_credentials', { query: { owner_id: id } });
  const count = next === undefined ? items?.length : 'more than 100';
  return (
    <p>
      {items === undefined
        ? 'Reading its credentials.'
        : `Its API keys and its SSH credentials (${count}) are deleted too, and their connections end.`}
    </p>
  );
}
