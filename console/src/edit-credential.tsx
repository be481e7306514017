import { useEffect, useState } from 'preact/hooks';
import type { SshCredentialResource } from '../../src/api/ssh-credentials/ssh-credentials.resource.js';
import { callForTag, type Failure, newIdempotencyKey } from './api.js';
import { forgetCredentials } from './credentials-by-id.js';
import { Diff } from './history.js';
import { goTo, hrefTo } from './route.js';
import { Heading, linesOf, nameOf, Trouble } from './show.js';
import { Tester } from './tester.js';

interface Read {
  readonly data: SshCredentialResource;
  readonly tag: string;
}

/** A `datetime-local` has the zone of the browser. */
const localTime = (time: string | undefined): string => {
  if (time === undefined) return '';
  const at = new Date(time);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
};

const fieldsOf = ({ description, acl, source_cidrs, expires_at }: SshCredentialResource) => ({
  description,
  rules: acl.join('\n'),
  networks: (source_cidrs ?? []).join('\n'),
  expires: localTime(expires_at),
});

/** Every edit sends the ETag that it began with. If somebody was first, their change is shown beside. */
export function EditCredential({ id }: { readonly id: string }) {
  const path = `/ssh_credentials/${encodeURIComponent(id)}`;
  const [base, setBase] = useState<Read>();
  const [theirs, setTheirs] = useState<Read>();
  const [fields, setFields] = useState({ description: '', rules: '', networks: '', expires: '' });
  const [failure, setFailure] = useState<Failure>();
  const read = () => callForTag<SshCredentialResource>('GET', path);
  const begin = (with_: Read) => {
    setBase(with_);
    setTheirs(undefined);
    setFailure(undefined);
    setFields(fieldsOf(with_.data));
  };
  useEffect(() => {
    read().then(begin, setFailure);
  }, [path]);
  if (base === undefined)
    return (
      <>
        <Heading title="Change a credential" />
        <Trouble failure={failure} />
      </>
    );
  const set = (name: keyof typeof fields) => (event: { currentTarget: { value: string } }) => {
    const { value } = event.currentTarget;
    setFields((before) => ({ ...before, [name]: value }));
  };
  const was = fieldsOf(base.data);
  const save = async (event: Event) => {
    event.preventDefault();
    setFailure(undefined);
    let { tag } = base;
    // Each is an event of its own, so each goes on from the version that the one before made.
    const send = async (method: string, at: string, body?: object) => {
      const headers = { 'if-match': tag, 'idempotency-key': newIdempotencyKey() };
      const answer = await callForTag(method, `${path}${at}`, { headers, ...(body !== undefined && { body }) });
      tag = answer.tag || (await read()).tag;
    };
    try {
      if (fields.description !== was.description || fields.rules !== was.rules)
        await send('PATCH', '', { description: fields.description, acl: linesOf(fields.rules) });
      if (fields.networks !== was.networks) {
        const cidrs = linesOf(fields.networks);
        await (cidrs.length > 0
          ? send('PUT', '/source_restriction', { cidrs })
          : send('DELETE', '/source_restriction'));
      }
      if (fields.expires !== was.expires)
        await (fields.expires
          ? send('PUT', '/expiry', { expires_at: new Date(fields.expires).toISOString() })
          : send('DELETE', '/expiry'));
      forgetCredentials();
      goTo(hrefTo(['credentials', id]));
    } catch (caught) {
      setFailure(caught as Failure);
      // A part may be saved: the next try begins after it, and still meets what others change.
      if (tag !== base.tag)
        await read().then(
          ({ data }) => setBase({ data, tag }),
          () => undefined,
        );
      if ((caught as Failure).status === 412) await read().then(setTheirs, () => undefined);
    }
  };
  return (
    <>
      <Heading title={`Change ${nameOf(base.data)}`} />
      <div class="pair">
        <section class="sheet">
          <form class="pad" onSubmit={(event) => void save(event)}>
            <p>
              <label for="description">Name of the device</label>
              <input id="description" class="wide" value={fields.description} onInput={set('description')} />
            </p>
            <p>
              <label for="rules">May bind, one rule a line</label>
              <textarea id="rules" rows={5} value={fields.rules} onInput={set('rules')} aria-describedby="rules-hint" />
              <small id="rules-hint">Without a rule it may bind anything.</small>
            </p>
            <p>
              <label for="networks">Only from these networks, one a line</label>
              <textarea id="networks" rows={2} value={fields.networks} onInput={set('networks')} />
            </p>
            <p>
              <label for="expires">Expires (empty: never)</label>
              <input id="expires" type="datetime-local" step={1} value={fields.expires} onInput={set('expires')} />
            </p>
            <Trouble failure={failure} />
            {theirs !== undefined && (
              <div role="status">
                <p>Meanwhile somebody changed it:</p>
                <Diff name="name" from={was.description} to={theirs.data.description} />
                <Diff name="rules" from={base.data.acl} to={theirs.data.acl} />
                <Diff name="networks" from={base.data.source_cidrs} to={theirs.data.source_cidrs} />
                <Diff name="expires" from={base.data.expires_at} to={theirs.data.expires_at} />
                <p>
                  <button type="button" onClick={() => begin(theirs)}>
                    Begin again with theirs
                  </button>
                </p>
              </div>
            )}
            <p>
              <button type="submit" class="first">
                Save
              </button>{' '}
              <a class="button" href={hrefTo(['credentials', id])}>
                Leave it
              </a>
            </p>
          </form>
        </section>
        <section class="sheet">
          <div class="pad">
            <Diff name="what changes in the rules" from={base.data.acl} to={linesOf(fields.rules)} />
            <Tester acl={linesOf(fields.rules)} />
          </div>
        </section>
      </div>
    </>
  );
}
