import { useEffect, useState } from 'preact/hooks';
import type { SshCredentialResource } from '../../src/api/ssh-credentials/ssh-credentials.resource.js';
import { call, callForTag, newIdempotencyKey } from './api.js';
import { useById } from './by-id.js';
import { useRights } from './caller.js';
import { Diff } from './history.js';
import { type Column, List, useList } from './list.js';
import { groupName, OwnerFilter, servedBy, useEdges, useGroups, useOwners } from './names.js';
import { goTo, hrefTo, type Route, withFilter } from './route.js';
import { Choice, Mark, nameOf, plain, Question, Time } from './show.js';
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
/** A word for each reason, and what helps. Only a missing rule has a rule to add. */
const REASONS: Readonly<Record<string, readonly [word: string, help: string]>> = {
  not_permitted: ['no rule', ''],
  source_not_allowed: ['network', 'it came from outside of its networks'],
  expired: ['expired', 'its time was over'],
  owner_inactive: ['owner', 'its owner is not active: an admin activates a user or bot'],
  not_reserved: ['not reserved', 'names below this host are for accounts that reserve them'],
  reserved_elsewhere: ['reserved', 'it is for another account or credential'],
};

const WEEK_MS = 7 * 86_400_000;
/** Whole hours: the address of the read stays the same between two of them. */
const weekAgo = (): string => new Date(Math.floor((Date.now() - WEEK_MS) / 3_600_000) * 3_600_000).toISOString();

export function Refused({ route }: { readonly route: Route }) {
  const { isAdmin, mayReadRecords } = useRights();
  const [asked, ask] = useState<Decision>();
  const owners = useOwners();
  const reason = route.query.get('reason') ?? '';
  const list = useList<Decision>(mayReadRecords ? '/bind_decisions' : undefined, 'bind_decisions', {
    query: { allowed: 'false', since: weekAgo(), reason, owner_id: route.query.get('owner') ?? undefined },
    before: route.query.get('before'),
    isLive: true,
  });
  const deviceOf = useById<SshCredentialResource>(
    '/ssh_credentials',
    (list.items ?? []).map(({ credential_id }) => credential_id),
  );
  const columns: Column<Decision>[] = [
    { name: 'When', cell: ({ decided_at }) => <Time at={decided_at} /> },
    {
      name: 'Device',
      cell: ({ credential_id, source }) => {
        const device = deviceOf(credential_id);
        return (
          <>
            <a href={hrefTo(['credentials', credential_id])}>{device === undefined ? credential_id : nameOf(device)}</a>
            {source !== null && <span class="quiet">from {source}</span>}
          </>
        );
      },
    },
    { name: 'Wanted', kind: 'long', cell: ({ target }) => <code>{plain(textOfTarget(target))}</code> },
    {
      name: 'Why',
      cell: ({ reason: why, needs }) => {
        const [word, help] = REASONS[why] ?? [why, ''];
        return (
          <>
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
          </>
        );
      },
    },
    {
      name: 'What helps',
      cell: (decision) => {
        const { reason: why, needs, credential_id } = decision;
        if (why === 'not_permitted')
          return (
            needs !== null &&
            deviceOf(credential_id) !== undefined && (
              <button type="button" onClick={() => ask(decision)}>
                Add the rule
              </button>
            )
          );
        const word = { expired: 'Expiry', source_not_allowed: 'Networks' }[why];
        return (
          word !== undefined && (
            <a class="button" href={hrefTo(['credentials', credential_id, 'edit'])}>
              {word}
            </a>
          )
        );
      },
    },
  ];
  return (
    <>
      <List
        route={route}
        title="Refused binds"
        note="the last 7 days"
        list={list}
        columns={isAdmin ? columns : columns.slice(0, -1)}
        empty="Nothing was refused. A bind that a rule does not permit stands here with the rule that it needs."
      >
        <Choice
          id="reason"
          label="Why"
          value={reason}
          options={[['', 'Every reason'], ...Object.entries(REASONS).map(([value, [word]]) => [value, word] as const)]}
          onChoose={(value) => goTo(withFilter(route, 'reason', value))}
        />
        <OwnerFilter route={route} owners={owners} />
      </List>
      {asked !== undefined && <AddRule decision={asked} onClose={() => ask(undefined)} />}
    </>
  );
}

/** Whoever holds a stolen key chooses what is refused: so it says who asked, from where, and what else the rule opens. */
function AddRule({ decision, onClose }: { readonly decision: Decision; readonly onClose: () => void }) {
  const path = `/ssh_credentials/${encodeURIComponent(decision.credential_id)}`;
  const [read, setRead] = useState<{ data: SshCredentialResource; tag: string }>();
  const { label } = decision.target;
  const joined = useGroups().filter(({ labels }) => label !== undefined && labels[label.key] === label.value);
  const edges = useEdges();
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
        {joined.length === 0
          ? 'No tunnel group of the newest 100 has this label, so it opens nothing else here.'
          : 'It also lets this key join '}
        {joined.map((group) => `${groupName(group)}, ${servedBy(edges, group.id)}`).join('; ')}
      </p>
    </Question>
  );
}
