import { useState } from 'preact/hooks';
import type { IpPolicyResource } from '../../src/api/ip-policies/ip-policies.resource.js';
import type { IpPolicyRuleResource } from '../../src/api/ip-policies/ip-policy-rules.resource.js';
import { call, type Failure, newIdempotencyKey } from './api.js';
import { useRights } from './caller.js';
import { type Change, Form, type Values } from './form.js';
import { type Column, List, useList } from './list.js';
import { useEdges } from './names.js';
import { hrefTo, type Route } from './route.js';
import { Choice, Mark, nameOf, plain, Question, Time, Trouble } from './show.js';
import { Thing } from './thing.js';

const PATH = '/ip_policies';

export function Policies({ route }: { readonly route: Route }) {
  const { mayChange } = useRights();
  const list = useList<IpPolicyResource>(PATH, 'ip_policies', { before: route.query.get('before') });
  const columns: Column<IpPolicyResource>[] = [
    { name: 'IP policy', cell: (policy) => <a href={hrefTo(['policies', policy.id])}>{nameOf(policy)}</a> },
    { name: 'Created', cell: ({ created_at }) => <Time at={created_at} /> },
  ];
  return (
    <List
      route={route}
      title="IP policies"
      list={list}
      columns={columns}
      add={mayChange && 'Add an IP policy'}
      empty="An IP policy is a list of networks that an edge lets in or keeps out."
    />
  );
}

const valuesOf = (base: IpPolicyResource | undefined): Values => ({ description: base?.description ?? '' });
const creation = ({ description }: Values): readonly Change[] => [['POST', '', { description }]];
const changesOf = ({ description }: Values): readonly Change[] => [['PATCH', '', { description }]];

export function PolicyForm({ id }: { readonly id: string }) {
  const isNew = id === 'new';
  return (
    <Form<IpPolicyResource>
      title={(base) => (base === undefined ? 'Add an IP policy' : `Change ${nameOf(base)}`)}
      path={isNew ? PATH : `${PATH}/${encodeURIComponent(id)}`}
      isNew={isNew}
      fields={[{ name: 'description', label: 'Name of the policy' }]}
      valuesOf={valuesOf}
      changesOf={isNew ? creation : changesOf}
      act={isNew ? 'Add the policy' : 'Save'}
      back="policies"
    />
  );
}

export function Policy({ id }: { readonly id: string }) {
  const { mayChange } = useRights();
  const edges = useEdges().filter(({ ip_restriction }) => ip_restriction?.ip_policies.some((one) => one.id === id));
  const names = edges.map(({ description, hostports }) => plain(description || (hostports[0] ?? ''))).join(', ');
  return (
    <Thing<IpPolicyResource>
      place="policies"
      id={id}
      one="IP policy"
      nameOf={nameOf}
      isMine={() => mayChange}
      left={() => (
        <section class="sheet">
          <div class="pad">
            <p class="quiet">{names ? `Used by ${names}` : 'Used by no edge of the newest 100'}</p>
            <Rules policyId={id} />
          </div>
        </section>
      )}
      ends={() => <p>{names ? `${names} then let nobody in.` : 'No edge of the newest 100 names it.'}</p>}
    />
  );
}

function Rules({ policyId }: { readonly policyId: string }) {
  const { mayChange } = useRights();
  const list = useList<IpPolicyRuleResource>('/ip_policy_rules', 'ip_policy_rules', {
    query: { ip_policy_id: policyId },
  });
  const [action, setAction] = useState<string>('allow');
  const [cidr, setCidr] = useState('');
  const [failure, setFailure] = useState<Failure>();
  const [asked, ask] = useState<IpPolicyRuleResource>();
  const add = (event: Event) => {
    event.preventDefault();
    setFailure(undefined);
    const options = {
      body: { ip_policy_id: policyId, action, cidr: cidr.trim() },
      headers: { 'idempotency-key': newIdempotencyKey() },
    };
    void call('POST', '/ip_policy_rules', options).then(() => {
      setCidr('');
      list.again();
    }, setFailure);
  };
  return (
    <>
      <h2>Rules</h2>
      {list.items?.length === 0 && <p>No rule: an edge with this policy alone lets nobody in.</p>}
      <table>
        <tbody>
          {list.items?.map((rule) => (
            <tr key={rule.id}>
              <td>
                <Mark kind={rule.action === 'allow' ? 'on' : 'bad'}>{rule.action}</Mark> <code>{rule.cidr}</code>
                <span class="quiet">{plain(rule.description)}</span>
              </td>
              {mayChange && (
                <td class="figure">
                  <button type="button" class="end" onClick={() => ask(rule)}>
                    Delete
                  </button>
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
      {list.next !== undefined && <p class="quiet">The newest 100 rules.</p>}
      <Trouble failure={failure ?? list.failure} />
      {mayChange && (
        <form class="row" onSubmit={add}>
          <Choice
            id="action"
            label="Add"
            value={action}
            options={['allow', 'deny'].map((one) => [one, one] as const)}
            onChoose={setAction}
          />
          <div class="grow">
            <label for="cidr">Network or address</label>
            <input
              id="cidr"
              class="mono"
              required
              placeholder="203.0.113.0/24"
              value={cidr}
              onInput={({ currentTarget }) => setCidr(currentTarget.value)}
            />
          </div>
          <button type="submit">Add the rule</button>
        </form>
      )}
      {asked !== undefined && (
        <Question
          title={`Delete ${asked.action} ${asked.cidr}?`}
          act="Delete it"
          onAct={() =>
            call('DELETE', `/ip_policy_rules/${encodeURIComponent(asked.id)}`, {
              headers: { 'idempotency-key': newIdempotencyKey() },
            }).then(list.again)
          }
          onClose={() => ask(undefined)}
        >
          <p>
            {asked.action === 'allow'
              ? 'Its addresses are no longer let in, unless another rule allows them. Their open connections end.'
              : 'Its addresses are let in if another rule allows them.'}
          </p>
        </Question>
      )}
    </>
  );
}
