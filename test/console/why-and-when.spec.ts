import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { ConsolePage, openChromium } from '../support/console-page.js';
import { eventually } from '../support/eventually.js';
import { newPublicKey } from '../support/keys.js';
import { OwnGateway } from '../support/own-gateway.js';
import { addUser } from '../support/principals.js';
import { ADMIN_KEY } from '../support/service.js';
import { logIn } from '../support/ssh-client.js';

/** Why something was refused, who changed a rule, and what was so at a moment: in a real Chromium, with real ssh. */
let own: OwnGateway;
let browser: Browser;
let tab: ConsolePage;
beforeAll(async () => {
  own = await OwnGateway.start();
  browser = await openChromium();
}, 120_000);
afterEach(async () => {
  await tab?.close();
});

const openAs = async (key: string): Promise<ConsolePage> => {
  tab = await ConsolePage.openAs(browser, own.service.app.url, key);
  return tab;
};

const newCredential = async (description: string, acl: string[]): Promise<string> => {
  const { body } = await own.service.admin.post('/ssh_credentials', { public_key: newPublicKey(), description, acl });
  return body.id;
};

describe('a refused bind', () => {
  it('has its reason and the rule that it needs; "Leave it" has the focus, and the rule is added as the diff says', async () => {
    const key = await own.newCredential('bind:app=till');
    await own.service.admin.patch(`/ssh_credentials/${key.id}`, { description: 'till-017' });
    await own.service.admin.post('/backends/tunnel_group', { labels: { app: 'kitchen' }, description: 'kitchens' });
    await logIn(own.port, key, '-R', 'app=kitchen:0:127.0.0.1:1').then(
      (login) => login.close(),
      () => undefined,
    );
    const { page } = await openAs(ADMIN_KEY);
    await page.getByRole('link', { name: 'Refused' }).click();
    const row = page.getByRole('row').filter({ hasText: 'till-017' });
    await row.getByText('no rule').waitFor();
    await row.getByText('bind:app=kitchen').waitFor();
    expect(await tab.axeFaults()).toEqual([]);
    await row.getByRole('button', { name: 'Add the rule' }).click();
    const dialog = page.getByRole('dialog', { name: 'Let till-017 bind app=kitchen?' });
    await dialog.getByText('+ bind:app=kitchen').waitFor();
    await dialog.getByText('join kitchens').waitFor();
    await dialog.getByText('from 127.0.0.1').waitFor();
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Leave it');
    expect(await tab.axeFaults()).toEqual([]);
    await dialog.getByRole('button', { name: 'Add it' }).click();
    await dialog.waitFor({ state: 'hidden' });
    const { body } = await own.service.admin.get(`/ssh_credentials/${key.id}`);
    expect(body.acl).toEqual(['bind:app=till', 'bind:app=kitchen']);
  }, 60_000);

  it('for its network has no rule to add: its action leads to the networks', async () => {
    const key = await own.newCredential('bind:app=web');
    await own.service.admin.put(`/ssh_credentials/${key.id}/source_restriction`, { cidrs: ['198.51.100.0/24'] });
    await own.service.admin.patch(`/ssh_credentials/${key.id}`, { description: 'till-of-another-net' });
    await logIn(own.port, key, '-R', 'app=web:0:127.0.0.1:1').then(
      (login) => login.close(),
      () => undefined,
    );
    const { page } = await openAs(ADMIN_KEY);
    await tab.goTo('#/refused?reason=source_not_allowed', 'Refused binds');
    const row = page.getByRole('row').filter({ hasText: 'till-of-another-net' }).first();
    await row.getByText('network', { exact: true }).waitFor();
    expect(await row.getByRole('button').count()).toBe(0);
    await row.getByRole('link', { name: 'Networks' }).click();
    await page.getByRole('heading', { level: 1, name: 'Change till-of-another-net' }).waitFor();
  }, 60_000);

  it('is not offered to a member', async () => {
    const user = await addUser(own.service, 'member');
    const { page } = await openAs(user.client.token ?? '');
    expect(await page.getByRole('link', { name: 'Refused' }).count()).toBe(0);
    await tab.goTo('#/refused', 'Refused binds');
    expect(tab.statuses.filter((status) => status >= 400)).toEqual([]);
  });
});

describe('a credential', () => {
  it('is changed in rules, networks and expiry; the history says who and what', async () => {
    const id = await newCredential('camera', ['bind:app=camera']);
    const { page } = await openAs(ADMIN_KEY);
    await tab.goTo(`#/credentials/${id}/edit`, 'Change camera');
    await page.getByLabel('May bind').fill('bind:app=*');
    await page.getByLabel('Only from these networks').fill('198.51.100.0/24');
    await page.getByLabel('Expires').fill('2031-03-01T12:00:00');
    await page.getByText('+ bind:app=*').waitFor();
    expect(await tab.axeFaults()).toEqual([]);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { level: 1, name: 'camera', exact: true }).waitFor();
    await page.getByText('+ bind:app=*').waitFor();
    await page.getByText('- bind:app=camera').waitFor();
    await page.getByText('admin@localhost').first().waitFor();
    expect(await tab.axeFaults()).toEqual([]);
    const { body } = await own.service.admin.get(`/ssh_credentials/${id}`);
    expect(body).toMatchObject({ acl: ['bind:app=*'], source_cidrs: ['198.51.100.0/24'] });
    expect(body.expires_at).toMatch(/^2031-/);
    await tab.goTo(`#/credentials/${id}/edit`, 'Change camera');
    await page.getByLabel('Only from these networks').fill('');
    await page.getByLabel('Expires').fill('');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { level: 1, name: 'camera', exact: true }).waitFor();
    const after = await own.service.admin.get(`/ssh_credentials/${id}`);
    expect(Object.keys(after.body)).not.toContain('expires_at');
    expect(Object.keys(after.body)).not.toContain('source_cidrs');
  }, 60_000);

  it('keeps what was saved when a later part is refused, and goes on from there', async () => {
    const id = await newCredential('in parts', ['bind:app=a']);
    const { page } = await openAs(ADMIN_KEY);
    await tab.goTo(`#/credentials/${id}/edit`, 'Change in parts');
    await page.getByLabel('May bind').fill('bind:app=b');
    await page.getByLabel('Only from these networks').fill('nonsense');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Only from these networks').fill('198.51.100.0/24');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { level: 1, name: 'in parts', exact: true }).waitFor();
    const { body } = await own.service.admin.get(`/ssh_credentials/${id}`);
    expect(body).toMatchObject({ acl: ['bind:app=b'], source_cidrs: ['198.51.100.0/24'] });
  }, 60_000);

  it('that somebody else changed meanwhile keeps their change, and shows it', async () => {
    const id = await newCredential('shared', ['bind:app=a']);
    const { page } = await openAs(ADMIN_KEY);
    await tab.goTo(`#/credentials/${id}/edit`, 'Change shared');
    await own.service.admin.patch(`/ssh_credentials/${id}`, { acl: ['bind:app=theirs'] });
    await page.getByLabel('May bind').fill('bind:app=mine');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('+ bind:app=theirs').waitFor();
    expect((await own.service.admin.get(`/ssh_credentials/${id}`)).body.acl).toEqual(['bind:app=theirs']);
    await page.getByRole('button', { name: 'Begin again with theirs' }).click();
    await eventually(async () => expect(await page.getByLabel('May bind').inputValue()).toBe('bind:app=theirs'));
  }, 60_000);

  it('is deleted after a question that names its open tunnels', async () => {
    const key = await own.newCredential('bind:app=doomed');
    await own.service.admin.patch(`/ssh_credentials/${key.id}`, { description: 'doomed' });
    const login = await own.bind(key, 'app=doomed:0');
    const { page } = await openAs(ADMIN_KEY);
    await page.getByText('app=doomed').waitFor();
    await tab.goTo(`#/credentials/${key.id}`, 'doomed');
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByText('Open now: app=doomed').waitFor();
    expect(await tab.axeFaults()).toEqual([]);
    await page.getByRole('button', { name: 'Delete it' }).click();
    await page.getByRole('heading', { level: 1, name: 'Credentials' }).waitFor();
    expect((await own.service.admin.get(`/ssh_credentials/${key.id}`)).status).toBe(404);
    await login.close();
  }, 60_000);
});

describe('as of a moment', () => {
  it('the page shows what was so, answers checks as of then, and changes nothing', async () => {
    const id = await newCredential('till-then', ['bind:app=then']);
    const then = new Date(Date.now() + 1_100);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    await own.service.admin.patch(`/ssh_credentials/${id}`, { acl: ['bind:app=now'] });
    const { page } = await openAs(ADMIN_KEY);
    await tab.goTo(`#/credentials/${id}`, 'till-then');
    await page.getByRole('button', { name: 'As of now' }).click();
    await page.getByLabel('or after a change of what this page shows').waitFor();
    expect(await tab.axeFaults()).toEqual([]);
    await page.getByLabel('Time,').fill(
      await page.evaluate(`(() => {
      const at = new Date(${then.getTime()});
      return new Date(at - at.getTimezoneOffset() * 60000).toISOString().slice(0, 19);
    })()`),
    );
    await page.getByRole('button', { name: 'Show it' }).click();
    await page.getByText('What you see was so then').waitFor();
    await page.getByRole('listitem').getByText('bind:app=then', { exact: true }).waitFor();
    expect(await page.getByRole('link', { name: 'Change' }).count()).toBe(0);
    expect(await page.getByRole('button', { name: 'Delete' }).count()).toBe(0);
    await page.getByLabel('Target').fill('app=then');
    await page.getByRole('button', { name: 'Ask' }).click();
    await page.getByText('Yes.').waitFor();
    expect(await tab.axeFaults()).toEqual([]);
    await page.getByRole('link', { name: 'Credentials' }).click();
    await page.getByText('What you see was so then').waitFor();
    await page.getByRole('row').filter({ hasText: 'bind:app=then' }).waitFor();
    await tab.goTo(
      `${new URL(page.url()).hash.replace('credentials', `credentials/${id}/edit`)}`,
      'Nothing can be changed here',
    );
    await page.getByRole('link', { name: 'Now', exact: true }).click();
    await page.getByText('have no state as of a moment').waitFor();
    expect(await tab.axeFaults()).toEqual([]);
    await page.getByRole('link', { name: 'Back to now' }).first().click();
    await page.getByRole('heading', { level: 1, name: 'Now' }).waitFor();
    expect(page.url()).not.toContain('as_of');
    expect(tab.statuses.filter((status) => status >= 400)).toEqual([]);
  }, 60_000);
});
