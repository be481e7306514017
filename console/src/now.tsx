import { useState } from 'preact/hooks';
import type { SshCredentialResource } from '../../src/api/ssh-credentials/ssh-credentials.resource.js';
import type { TunnelSessionResource } from '../../src/api/tunnel-sessions/tunnel-sessions.resource.js';
import { call, nextOf } from './api.js';
import { useById } from './by-id.js';
import { useRights } from './caller.js';
import { type Column, isFiltered, Table } from './list.js';
import { OwnerFilter, ownerName, useOwners } from './names.js';
import { useReading } from './reading.js';
import { goTo, hrefTo, type Route, withFilter } from './route.js';
import { bytesText, Choice, Heading, Mark, nameOf, plain, Question, Time, Trouble } from './show.js';
import { type TargetForm, textOfTarget } from './target.js';

interface Sessions {
  readonly tunnel_sessions: readonly TunnelSessionResource[];
  readonly next_page_uri: string | null;
}
interface Credentials {
  readonly ssh_credentials: readonly SshCredentialResource[];
  readonly next_page_uri: string | null;
}
interface End {
  readonly credential_id: string;
  readonly reason: string;
  readonly source: string | null;
}
interface Records {
  readonly tunnel_session_records: readonly End[];
}

const SHOWN = { '': 'All devices', open: 'Open now', offline: 'Offline', gone: 'Not seen for 30 days' } as const;
const DAY_MS = 86_400_000;
/** Whole days, so that the address of a read stays the same between two of them. */
const daysAgo = (days: number): string => new Date((Math.floor(Date.now() / DAY_MS) - days) * DAY_MS).toISOString();

/** How a session ended, in words. */
const ENDS: Readonly<Record<string, string>> = {
  client: 'left',
  lost: 'line lost',
  stopped: 'stopped',
  gateway_lost: 'gateway lost',
};
const endText = (reason: string): string => ENDS[reason] ?? plain(reason.replaceAll('_', ' '));

const textsOf = (session: TunnelSessionResource): string[] =>
  session.tunnels.flatMap(({ targets }) => (targets as TargetForm[]).map(textOfTarget));

/** A device that is there by its session, or one that is away. */
interface Row {
  readonly id: string;
  readonly session?: TunnelSessionResource;
  readonly device?: SshCredentialResource;
}

function Away({ device: { usage }, end }: { readonly device: SshCredentialResource; readonly end: End | undefined }) {
  const seen = usage?.last_seen_at ?? null;
  return (
    <>
      <Mark>{usage?.online === null ? 'not known' : 'offline'}</Mark>
      <span class="quiet">
        {seen === null ? 'never seen' : <Time at={seen} />}
        {end !== undefined && `, ${endText(end.reason)}`}
      </span>
    </>
  );
}

/** Who is there: open sessions, then devices that are offline. Read again every 5 s. */
export function Now({ route }: { readonly route: Route }) {
  const { mayChange, mayReadRecords, isAdmin, caller } = useRights();
  const [asked, ask] = useState<{ readonly session: TunnelSessionResource; readonly verb: 'stop' | 'restart' }>();
  const show = route.query.get('show') ?? '';
  const owner_id = route.query.get('owner') ?? undefined;
  const before = (name: string) => route.query.get(name) ?? undefined;
  const owners = useOwners();
  const wantsOpen = show === '' || show === 'open';
  const sessions = useReading<Sessions>(
    wantsOpen ? '/tunnel_sessions' : undefined,
    { limit: '100', owner_id, before_id: before('before') },
    true,
  );
  const offline = useReading<Credentials>(
    show === 'open' ? undefined : '/ssh_credentials',
    {
      ...{ limit: '100', include: 'usage', online: 'false', owner_id, before_id: before('before_offline') },
      last_seen_before: show === 'gone' ? daysAgo(30) : undefined,
    },
    true,
  );
  const records = useReading<Records>(mayReadRecords ? '/tunnel_session_records' : undefined, { limit: '100' }, true);
  const open = sessions.data?.tunnel_sessions ?? [];
  const away = offline.data?.ssh_credentials ?? [];
  const deviceOf = useById<SshCredentialResource>(
    '/ssh_credentials',
    open.map(({ credential }) => credential.id),
  );
  const nameOfSession = ({ credential }: TunnelSessionResource): string => {
    const device = deviceOf(credential.id);
    return device === undefined ? credential.id : nameOf(device);
  };
  /** Who was never seen has no end. */
  const endOf = ({ id, usage }: SshCredentialResource) =>
    usage?.last_seen_at == null
      ? undefined
      : records.data?.tunnel_session_records.find(({ credential_id }) => credential_id === id);
  const failure = sessions.failure ?? offline.failure;
  const readAt = sessions.readAt ?? offline.readAt;
  const olderOpen = nextOf(sessions.data?.next_page_uri ?? null);
  const olderAway = nextOf(offline.data?.next_page_uri ?? null);
  const more = (count: number, next: string | undefined) => (next === undefined ? `${count}` : `over ${count}`);
  const query = Object.fromEntries(route.query);
  const mayStop = ({ owner_id: owner }: TunnelSessionResource) => isAdmin || (mayChange && owner === caller?.id);

  const rows: readonly Row[] = [
    ...open.map((session) => ({ id: session.id, session })),
    ...away.map((device) => ({ id: device.id, device })),
  ];
  const columns: readonly Column<Row>[] = [
    {
      name: 'Device',
      cell: ({ session, device }) => (
        <>
          <a href={hrefTo(['credentials', session?.credential.id ?? device?.id ?? ''])}>
            {session ? nameOfSession(session) : device && nameOf(device)}
          </a>
          <span class="quiet">{ownerName(owners, session?.owner_id ?? device?.owner_id ?? '')}</span>
        </>
      ),
    },
    {
      name: 'Serves',
      cell: ({ session, device }) =>
        session ? (
          <>
            {textsOf(session).map((text) => (
              <code key={text}>{text} </code>
            ))}
            {session.tunnels.length === 0 ? <Mark kind="warn">no tunnel</Mark> : <Mark kind="on">open</Mark>}{' '}
            {session.doubled && <Mark kind="bad">key used twice</Mark>}
          </>
        ) : (
          device && <Away device={device} end={endOf(device)} />
        ),
    },
    { name: 'From', kind: 'less', cell: ({ session, device }) => session?.ip ?? (device && endOf(device)?.source) },
    { name: 'Since', cell: ({ session }) => session && <Time at={session.started_at} ago={false} /> },
    { name: 'In', kind: 'figure less', cell: ({ session }) => session && bytesText(session.bytes_in) },
    { name: 'Out', kind: 'figure less', cell: ({ session }) => session && bytesText(session.bytes_out) },
    {
      name: 'End',
      kind: 'figure',
      cell: ({ session }) =>
        session &&
        mayStop(session) && (
          <>
            <button type="button" onClick={() => ask({ session, verb: 'restart' })}>
              Restart
            </button>{' '}
            <button type="button" class="end" onClick={() => ask({ session, verb: 'stop' })}>
              Stop
            </button>
          </>
        ),
    },
  ];

  return (
    <>
      <Heading title="Now">
        <small>
          {readAt === undefined ? 'reading' : failure === undefined ? 'read again every 5 s' : ''}
          {failure !== undefined && readAt !== undefined && `as read at ${readAt.toLocaleTimeString('en-GB')}`}
        </small>
      </Heading>
      <Trouble failure={failure} />
      {readAt !== undefined && (
        <div class="figures">
          {sessions.data !== undefined && (
            <div>
              <b>
                {more(
                  open.reduce((sum, { tunnels }) => sum + tunnels.length, 0),
                  olderOpen,
                )}
              </b>
              <small>
                open tunnels of {more(new Set(open.map(({ credential }) => credential.id)).size, olderOpen)} devices
              </small>
            </div>
          )}
          {offline.data !== undefined && (
            <div>
              <b>{more(away.length, olderAway)}</b>
              <small>{show === 'gone' ? 'not seen for 30 days' : 'offline'}</small>
            </div>
          )}
        </div>
      )}
      <div class="row">
        <Choice
          id="show"
          label="Show"
          value={show}
          options={Object.entries(SHOWN)}
          onChoose={(value) => goTo(withFilter(route, 'show', value))}
        />
        <OwnerFilter route={route} owners={owners} />
      </div>
      {readAt !== undefined && rows.length === 0 && (
        <section class="sheet">
          <div class="pad">
            <h2>Nobody is here</h2>
            {isFiltered(route) ? (
              <p>Nothing fits these filters.</p>
            ) : (
              <p>
                A device is here while its ssh connection is open.{' '}
                <a href={hrefTo(['credentials', 'new'])}>Add a key</a> first; the page of the credential has the line
                for ssh.
              </p>
            )}
          </div>
        </section>
      )}
      <Table
        title="Devices"
        items={rows}
        columns={mayChange ? columns : columns.slice(0, -1)}
        newest={query.before || query.before_offline ? hrefTo([], { show, owner: owner_id }) : undefined}
        older={
          (olderOpen ?? olderAway)
            ? hrefTo([], {
                ...query,
                ...(olderOpen !== undefined && { before: olderOpen }),
                ...(olderAway !== undefined && { before_offline: olderAway }),
              })
            : undefined
        }
      />
      {asked !== undefined && (
        <Question
          title={`${asked.verb === 'stop' ? 'Stop' : 'Restart'} the session of ${nameOfSession(asked.session)}?`}
          act={asked.verb === 'stop' ? 'Stop it' : 'Restart it'}
          onAct={() =>
            call('POST', `/tunnel_sessions/${asked.session.id}/${asked.verb}`, { body: {} }).then(() => {
              for (const reading of [sessions, offline, records]) reading.again();
            })
          }
          onClose={() => ask(undefined)}
        >
          <p>
            {asked.session.tunnels.length === 0
              ? 'It has no tunnel.'
              : `It ends: ${textsOf(asked.session).join(', ')}.`}{' '}
            {asked.verb === 'stop'
              ? 'The key stays valid: a client that tries again is let in.'
              : 'The client is asked to connect again.'}
          </p>
        </Question>
      )}
    </>
  );
}
