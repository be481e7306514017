import { type Reading, useReading } from './reading.js';
import { goTo, type Route, withFilter } from './route.js';
import { Choice, plain } from './show.js';

interface Owner {
  readonly id: string;
  readonly name: string;
}

/** The newest users and bots of the account, who own what there is. */
export function useOwners(): readonly Owner[] {
  const users: Reading<{ users: { id: string; email: string }[] }> = useReading('/users', { limit: '100' });
  const bots: Reading<{ bot_users: { id: string; name: string }[] }> = useReading('/bot_users', {
    limit: '100',
  });
  return [
    ...(users.data?.users ?? []).map(({ id, email }) => ({ id, name: plain(email) })),
    ...(bots.data?.bot_users ?? []).map(({ id, name }) => ({ id, name: plain(name) })),
  ];
}

export const ownerName = (owners: readonly Owner[], id: string): string =>
  owners.find((owner) => owner.id === id)?.name ?? id;

export function OwnerFilter({ route, owners }: { readonly route: Route; readonly owners: readonly Owner[] }) {
  return (
    <Choice
      id="owner"
      label="Owner"
      value={route.query.get('owner') ?? ''}
      options={[['', 'Everyone'], ...owners.map(({ id, name }) => [id, name] as const)]}
      onChoose={(owner) => goTo(withFilter(route, 'owner', owner))}
    />
  );
}
