import type { ComponentChildren } from 'preact';
import { nextOf, type Query } from './api.js';
import { type Reading, useReading } from './reading.js';
import { hrefTo, type Route } from './route.js';
import { Heading, Trouble } from './show.js';

/** A list of the API: pages of 100, newest first, whose page stands in the address. */
export interface Listed<T> extends Reading<unknown> {
  readonly items: readonly T[] | undefined;
  readonly next: string | undefined;
}

export function useList<T>(
  path: string | undefined,
  listKey: string,
  { query = {}, before, isLive = false }: { query?: Query; before?: string | null; isLive?: boolean } = {},
): Listed<T> {
  const read = useReading<Record<string, unknown>>(
    path,
    { limit: '100', ...query, before_id: before ?? undefined },
    isLive,
  );
  const next = nextOf((read.data?.next_page_uri ?? null) as string | null);
  return { ...read, items: read.data?.[listKey] as readonly T[] | undefined, next };
}

const NO_FILTERS = ['before', 'before_offline', 'as_of', 'kind'];
export const isFiltered = ({ query }: Route): boolean => [...query.keys()].some((name) => !NO_FILTERS.includes(name));

export interface Column<T> {
  readonly name: string;
  /** `less`: not on a phone. */
  readonly kind?: 'less' | 'figure' | 'figure less' | 'long';
  readonly cell: (item: T) => ComponentChildren;
}

interface ListProps<T> {
  readonly route: Route;
  readonly title: string;
  readonly list: Listed<T>;
  readonly columns: readonly Column<T>[];
  /** The first step, for who sees nothing. */
  readonly empty: ComponentChildren;
  /** The words of the button that adds one. */
  readonly add?: string | false;
  readonly note?: string;
  /** The filters. */
  readonly children?: ComponentChildren;
}

export function List<T extends { readonly id: string }>(props: ListProps<T>) {
  const { route, title, list, columns, empty, add, note, children } = props;
  const { items, next } = list;
  const query = Object.fromEntries(route.query);
  const older = next === undefined ? undefined : hrefTo(route.path, { ...query, before: next });
  return (
    <>
      <Heading title={title}>
        {note && <small>{note}</small>}
        {add && (
          <span class="do">
            <a class="button first" href={hrefTo([...route.path.slice(0, 1), 'new'], { kind: query.kind })}>
              {add}
            </a>
          </span>
        )}
      </Heading>
      <Trouble failure={list.failure} />
      {children && <div class="row">{children}</div>}
      {items?.length === 0 && (
        <section class="sheet">
          <p class="pad">
            {older !== undefined ? (
              <>
                Nothing fits among the newest of these. <a href={older}>Look at older ones</a>
              </>
            ) : isFiltered(route) ? (
              'Nothing fits these filters.'
            ) : (
              empty
            )}
          </p>
        </section>
      )}
      <Table
        title={title}
        items={items ?? []}
        columns={columns}
        newest={query.before ? hrefTo(route.path, { ...query, before: undefined }) : undefined}
        older={older}
      />
    </>
  );
}

interface TableProps<T> {
  readonly title: string;
  readonly items: readonly T[];
  readonly columns: readonly Column<T>[];
  readonly newest: string | undefined;
  readonly older: string | undefined;
}

export function Table<T extends { readonly id: string }>({ title, items, columns, newest, older }: TableProps<T>) {
  if (items.length === 0) return null;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table scrolls by keyboard
    <section class="sheet" tabIndex={0} aria-label={`List: ${title}`}>
      <table>
        <thead>
          <tr>
            {columns.map(({ name, kind }) => (
              <th key={name} class={kind}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {items.map((item) => (
            <tr key={item.id}>
              {columns.map(({ name, kind, cell }) => (
                <td key={name} class={kind}>
                  {cell(item)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <div class="pages">
        <small>{items.length} on this page</small>
        <span>
          {newest && <a href={newest}>Newest</a>} {older && <a href={older}>Older</a>}
        </span>
      </div>
    </section>
  );
}
