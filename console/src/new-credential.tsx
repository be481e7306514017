import { useRef, useState } from 'preact/hooks';
import { call, type Failure, newIdempotencyKey } from './api.js';
import { useRights } from './caller.js';
import { useOwners } from './people.js';
import { goTo, hrefTo } from './route.js';
import { Heading, linesOf, Trouble } from './show.js';
import { Tester } from './tester.js';

/** What is wrong with a field is said by the API's own sentence. */
export function NewCredential() {
  const { isAdmin, caller } = useRights();
  const owners = useOwners();
  const [fields, setFields] = useState({ description: '', key: '', rules: '', networks: '', expires: '', owner: '' });
  const [failure, setFailure] = useState<Failure>();
  const [isBusy, setBusy] = useState(false);
  /** A second press of the button, or one after a lost answer, makes nothing twice. */
  const sent = useRef({ text: '', key: '' });
  const set = (name: keyof typeof fields) => (event: { currentTarget: { value: string } }) => {
    const { value } = event.currentTarget;
    setFields((before) => ({ ...before, [name]: value }));
  };
  const read = async (file: File | undefined) => {
    if (file === undefined) return;
    const key = (await file.slice(0, 65_536).text()).trim();
    setFields((before) => ({ ...before, key }));
  };
  const create = async (event: Event) => {
    event.preventDefault();
    const networks = linesOf(fields.networks.replaceAll(',', '\n'));
    const body = {
      ...{ public_key: fields.key.trim(), description: fields.description.trim(), acl: linesOf(fields.rules) },
      ...(networks.length > 0 && { source_cidrs: networks }),
      ...(fields.expires && { expires_at: new Date(fields.expires).toISOString() }),
      ...(fields.owner && { owner_id: fields.owner }),
    };
    const text = JSON.stringify(body);
    if (sent.current.text !== text) sent.current = { text, key: newIdempotencyKey() };
    setBusy(true);
    setFailure(undefined);
    await call<{ id: string }>('POST', '/ssh_credentials', {
      body,
      headers: { 'idempotency-key': sent.current.key },
    }).then(({ id }) => goTo(hrefTo(['credentials', id])), setFailure);
    setBusy(false);
  };
  return (
    <>
      <Heading title="Add a key" />
      <div class="pair">
        <section class="sheet">
          <form class="pad" onSubmit={(event) => void create(event)}>
            <p>
              <label for="description">Name of the device</label>
              <input id="description" class="wide" value={fields.description} onInput={set('description')} />
            </p>
            <p>
              <label for="file">Public key, as a file</label>
              <input
                id="file"
                type="file"
                accept=".pub"
                onChange={({ currentTarget }) => void read(currentTarget.files?.[0])}
              />
            </p>
            <p>
              <label for="key">or as text</label>
              <textarea
                id="key"
                rows={3}
                required
                placeholder="ssh-ed25519 AAAA..."
                value={fields.key}
                onInput={set('key')}
              />
            </p>
            <p>
              <label for="rules">May bind, one rule a line</label>
              <textarea
                id="rules"
                rows={3}
                placeholder={'bind:app=till\nbind:*.graz.example.com'}
                aria-describedby="rules-hint"
                value={fields.rules}
                onInput={set('rules')}
              />
              <small id="rules-hint">Without a rule it may bind anything.</small>
            </p>
            <p>
              <label for="networks">Only from these networks</label>
              <input
                id="networks"
                class="wide mono"
                placeholder="198.51.100.0/24"
                aria-describedby="networks-hint"
                value={fields.networks}
                onInput={set('networks')}
              />
              <small id="networks-hint">Empty: from anywhere.</small>
            </p>
            <div class="row">
              <div>
                <label for="expires">Expires</label>
                <input id="expires" type="datetime-local" value={fields.expires} onInput={set('expires')} />
              </div>
              {isAdmin && (
                <div>
                  <label for="of">Owner</label>
                  <select id="of" value={fields.owner} onChange={set('owner')}>
                    <option value="">{caller?.name ?? 'me'}</option>
                    {owners
                      .filter(({ id }) => id !== caller?.id)
                      .map(({ id, name }) => (
                        <option key={id} value={id}>
                          {name}
                        </option>
                      ))}
                  </select>
                </div>
              )}
            </div>
            <Trouble failure={failure} />
            <button type="submit" class="first" disabled={isBusy}>
              Add the key
            </button>
          </form>
        </section>
        <section class="sheet">
          <div class="pad">
            <Tester acl={linesOf(fields.rules)} />
          </div>
        </section>
      </div>
    </>
  );
}
