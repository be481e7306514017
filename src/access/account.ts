/** Storage format: these types are what the log holds. Add fields as optional; for any other change add a new version. */
export type AccountEvent = { readonly type: 'account_created.v1'; readonly data: { readonly name: string } };

export interface Account {
  readonly name: string;
}

export function evolve(_state: Account | undefined, event: AccountEvent): Account {
  return { name: event.data.name };
}

export const create =
  (args: { name: string }) =>
  (state: Account | undefined): readonly AccountEvent[] =>
    state === undefined ? [{ type: 'account_created.v1', data: { name: args.name } }] : [];
