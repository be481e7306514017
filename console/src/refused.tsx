import { useEffect, useState } from 'preact/hooks';
import type { SshCredentialResource } from '../../src/api/ssh-credentials/ssh-credentials.resource.js';
import { call, callForTag, newIdempotencyKey, nextOf } from './api.js';
import { useRights } from './caller.js';
import { useCredentials } from './credentials-by-id.js';
import { Diff } from './history.js';
import { OwnerFilter, useOwners } from './people.js';
import { useReading } from './reading.js';
import { goTo, hrefTo, type Route, withFilter } from './route.js';
import { Choice, Heading, Mark, nameOf, Pages, plain, Question, Time, Trouble } from './show.js';
import { type TargetForm, textOfTarget } from './target.js';

interface Decision {
  readonly id: string;
  readonly decided_at: string;
  readonly reason: string;
  readonly needs: string | null;
  readonly target: TargetForm;
  readonly credential_id: string;
  readonly owner_id: string;
  readonly source: string | null;
}
interface Decisions {
  readonly bind_decisions: readonly Decision[];
  readonly next_page_uri: string | null;
}

/** A word for each reason, and what helps. Only a missing rule has a rule to add. */
const REASONS: Readonly<Record<string, readonly [word: string, help: string]>> = {
  not_permitted: ['no rule', ''],
  source_not_allowed: ['network', 'it came from outside of its networks'],
  expired: ['expired', 'its time was over'],
  owner_inactive: ['owner', 'its owner is not active: an admin activates a user or bot'],
  not_reserved: ['not reserved', 'names below this host are for accounts that reserve them'],
  reserved_elsewhere: ['reserved', 'another account has it'],
};

const WEEK_MS = 7 * 86_400_000;
/** Whole hours: the address of the read stays the same between two of them. */
const weekAgo = (): string => new Date(Math.floor((Date.now() - WEEK_MS) / 3_600_000) * 3_600_000).toISOString();

export function Refused({ route }: { readonly route: Route }) {
  const { isAdmin, mayReadRecords } = useRights();
  const [asked, ask] = useState<Decision>();
  const owners = useOwners();
  const reason = route.query.get('reason') ?? '';
  const before = route.query.get('before') ?? undefined;
  const { data, failure } = useReading<Decisions>(
    mayReadRecords ? '/bind_decisions' : undefined,
    {
      ...{ limit: '100', allowed: 'false', since: weekAgo(), reason },
      ...{ owner_id: route.query.get('owner') ?? undefined, before_id: before },
    },
    true,
  );
  const decisions = data?.bind_decisions ?? [];
  const devices = useCredentials(decisions.map(({ credential_id }) => credential_id));
  const older = nextOf(data?.next_page_uri ?? null);
  const query = Object.fromEntries(route.query);
  return (
    <>
      <Heading title="Refused binds">
        <small>the last 7 days</small>
      </Heading>
      <Trouble failure={failure} />
      <div class="row">
        <Choice
          id="reason"
          label="Why"
          value={reason}
          options={[['', 'Every reason'], ...Object.entries(REASONS).map(([value, [word]]) => [value, word] as const)]}
          onChoose={(value) => goTo(withFilter(route, 'reason', value))}
        />
        <OwnerFilter route={route} owners={owners} />
      </div>
      {data !== undefined && decisions.length === 0 && (
        <section class="sheet">
          <p class="pad">
            Nothing was refused. A bind that a rule does not permit stands here with the rule that it needs.
          </p>
        </section>
      )}
      {decisions.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table scrolls by keyboard
        <section class="sheet" tabIndex={0} aria-label="List of refused binds">
          <table>
            <thead>
              <tr>
                <th>When</th>
                <th>Device</th>
                <th>Wanted</th>
                <th>Why</th>
                {isAdmin && <th>What helps</th>}
              </tr>
            </thead>
            <tbody>
              {decisions.map((decision) => {
                const { id, decided_at, credential_id, source, target, needs } = decision;
                const device = devices.get(credential_id);
                const [word, help] = REASONS[decision.reason] ?? [decision.reason, ''];
                return (
                  <tr key={id}>
                    <td>
                      <Time at={decided_at} />
                    </td>
                    <td>
                      <a href={hrefTo(['credentials', credential_id])}>
                        {device === undefined ? credential_id : nameOf(device)}
                      </a>
                      {source !== null && <span class="quiet">from {source}</span>}
                    </td>
                    <td class="long">
                      <code>{plain(textOfTarget(target))}</code>
                    </td>
                    <td>
                      <Mark kind="bad">{word}</Mark>
                      <span class="quiet">
                        {needs === null ? (
                          help
                        ) : (
                          <>
                            needs <code>{plain(needs)}</code>
                          </>
                        )}
                      </span>
                    </td>
                    {isAdmin && (
                      <td>
                        {decision.reason === 'not_permitted' && needs !== null && device !== undefined && (
                          <button type="button" onClick={() => ask(decision)}>
                            Add the rule
                          </button>
                        )}
                        {(decision.reason === 'expired' || decision.reason === 'source_not_allowed') && (
                          <a class="button" href={hrefTo(['credentials', credential_id, 'edit'])}>
                            {decision.reason === 'expired' ? 'Expiry' : 'Networks'}
                          </a>
                        )}
                      </td>
                    )}
                  </tr>
                );
              })}
            </tbody>
          </table>
          <Pages
            count={decisions.length}
            newest={before === undefined ? undefined : hrefTo(['refused'], { ...query, before: undefined })}
            older={older === undefined ? undefined : hrefTo(['refused'], { ...query, before: older })}
          />
        </section>
      )}
      {asked !== undefined && <AddRule decision={asked} onClose={() => ask(undefined)} />}
    </>
  );
}

interface Group {
  readonly id: string;
  readonly description: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Whoever holds a stolen key chooses what is refused: so it says who asked, from where, and what else the rule opens. */
function AddRule({ decision, onClose }: { readonly decision: Decision; readonly onClose: () => void }) {
  const path = `/ssh_credentials/${encodeURIComponent(decision.credential_id)}`;
  const [read, setRead] = useState<{ data: SshCredentialResource; tag: string }>();
  const groups = useReading<{ backends: readonly Group[] }>('/backends/tunnel_group', { limit: '100' }).data?.backends;
  const { label } = decision.target;
  const joined = groups?.filter(({ labels }) => label !== undefined && labels[label.key] === label.value);
  useEffect(() => {
    callForTag<SshCredentialResource>('GET', path).then(setRead, () => undefined);
  }, [path]);
  if (read === undefined) return null;
  const rule = decision.needs ?? '';
  const add = () =>
    call('PATCH', path, {
      body: { acl: [...read.data.acl, rule] },
      headers: { 'if-match': read.tag, 'idempotency-key': newIdempotencyKey() },
    });
  const name = nameOf(read.data);
  return (
    <Question
      title={`Let ${name} bind ${plain(textOfTarget(decision.target))}?`}
      act="Add it"
      onAct={add}
      onClose={onClose}
    >
      <p>
        {name} asked <Time at={decision.decided_at} />
        {decision.source !== null && ` from ${decision.source}`}. Whoever holds its key chose what was asked.
      </p>
      <Diff from={read.data.acl} to={[...read.data.acl, rule]} />
      <p class="quiet">
        {joined === undefined || joined.length === 0
          ? 'No tunnel group of the newest 100 has this label, so it opens nothing else here.'
          : `It also lets this key join ${joined.map((group) => nameOf(group)).join(', ')}, which may be behind edges.`}
      </p>
    </Question>
  );
}
