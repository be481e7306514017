import { writeFile } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { ConsolePage, openChromium } from '../support/console-page.js';
import { eventually } from '../support/eventually.js';
import { newPublicKey } from '../support/keys.js';
import { OwnGateway } from '../support/own-gateway.js';
import { addUser } from '../support/principals.js';
import { ADMIN_KEY, startService } from '../support/service.js';

/** The console in a real Chromium, on the real service with a real gateway and real ssh. */
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

const open = async (options = {}): Promise<ConsolePage> => {
  tab = await ConsolePage.open(browser, own.service.app.url, options);
  return tab;
};
const openAs = async (key: string, options = {}): Promise<ConsolePage> => {
  tab = await ConsolePage.openAs(browser, own.service.app.url, key, options);
  return tab;
};

/** A device with an open tunnel. */
async function device(description: string, label: string) {
  const key = await own.newCredential(`bind:${label}`);
  await own.service.admin.patch(`/ssh_credentials/${key.id}`, { description });
  const login = await own.bind(key, `${label}:0`);
  await eventually(async () => {
    const { body } = await own.service.admin.get(`/tunnel_sessions?credential_id=${key.id}`);
    expect(body.tunnel_sessions[0]?.tunnels).toHaveLength(1);
  });
  return { ...key, login };
}

describe('the page', () => {
  it('is one that no other origin frames, and whose opener it does not reach', async () => {
    const { page } = await open();
    const server = createServer((_, response) => {
      response.setHeader('content-type', 'text/html');
      response.end(`<iframe src="${tab.url}"></iframe><a href="${tab.url}" target="_blank" rel="opener">open</a>`);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const other = await tab.context.newPage();
    await other.goto(`http://localhost:${(server.address() as AddressInfo).port}`);
    expect(await other.frames()[1]?.evaluate(`document.querySelector('#app') !== null`)).toBeFalsy();
    const [opened] = await Promise.all([tab.context.waitForEvent('page'), other.getByText('open').click()]);
    await opened.waitForLoadState();
    expect(await opened.evaluate('window.opener')).toBeNull();
    server.close();
    expect(await page.title()).toBe('Sign in · tunnel-access');
  });

  it('keeps the key out of addresses and of what outlives the tab; a new tab asks again', async () => {
    const { page, context } = await openAs(ADMIN_KEY);
    expect(page.url()).not.toContain(ADMIN_KEY);
    expect(await page.evaluate('({ ...localStorage })')).toEqual({});
    await page.reload();
    await page.getByRole('heading', { name: 'Now' }).waitFor();
    const second = await context.newPage();
    await second.goto(tab.url);
    await second.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.reload();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  });

  it('says why it signs out when the key is deleted', async () => {
    const user = await addUser(own.service, 'member');
    const { page } = await openAs(user.client.token ?? '');
    await own.service.admin.delete(`/api_keys/${user.keyId}`);
    await page.getByText('no longer takes this key').waitFor();
    expect(await tab.axeFaults()).toEqual([]);
  });

  it('refuses a wrong key with the sentence of the API and a way out', async () => {
    const { page } = await open();
    await page.getByLabel('API key').fill('wrong');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('an admin can make one').waitFor();
  });

  it('asks for a reload when the service has another page', async () => {
    await open();
    await tab.page.clock.install();
    await tab.page.reload();
    await tab.signIn(ADMIN_KEY);
    await tab.page.route('**/console', (route) => route.fulfill({ body: '<script src="/console/other.js"></script>' }));
    await tab.page.clock.fastForward(61_000);
    await tab.page.getByRole('button', { name: 'Reload' }).waitFor();
  });

  it('warns before a key is typed over plain HTTP', async () => {
    const { page } = await open();
    expect(await page.getByText('plain HTTP').count()).toBe(0);
    await page.addInitScript(`Object.defineProperty(globalThis, 'isSecureContext', { value: false })`);
    await page.reload();
    await page.getByText('whoever is on the way can read the key').waitFor();
  });
});

describe('who is there', () => {
  it('shows a device within 5 s, stops it by keyboard, and then shows how it ended', async () => {
    const { page } = await openAs(ADMIN_KEY);
    const till = await device('till-017', 'app=till');
    const row = page.getByRole('row').filter({ hasText: 'till-017' });
    await row.getByText('app=till').waitFor({ timeout: 7_000 });
    await row.getByText('127.0.0.1').waitFor();
    const stop = row.getByRole('button', { name: 'Stop' });
    await stop.focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.getByText('app=till').waitFor();
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Leave it');
    expect(await tab.axeFaults()).toEqual([]);
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'hidden' });
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Stop');
    await page.keyboard.press('Enter');
    await eventually(async () => expect(await page.evaluate('document.activeElement.textContent')).toBe('Leave it'));
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Enter');
    await row.getByText('offline').waitFor({ timeout: 20_000 });
    await row.getByText('stopped').waitFor({ timeout: 20_000 });
    expect(await row.getByRole('button').count()).toBe(0);
    await till.login.close();
  }, 120_000);

  it('keeps what it read when the service is away, and says when that was', async () => {
    const till = await device('till-018', 'app=till18');
    const { page } = await openAs(ADMIN_KEY);
    await page.getByText('app=till18').waitFor();
    await page.route('**/tunnel_sessions*', (route) => route.abort());
    await page.getByText('The service does not answer').waitFor();
    await page.getByText('as read at').waitFor();
    expect(await page.getByText('app=till18').count()).toBe(1);
    await tab.forgetFaults();
    await till.login.close();
  }, 60_000);

  it('has filters in the address, and goes back and forward', async () => {
    const { page } = await openAs(ADMIN_KEY);
    await page.getByLabel('Show', { exact: true }).selectOption('Offline');
    await eventually(async () => expect(page.url()).toMatch(/show=offline/));
    await page.goBack();
    await eventually(async () => expect(await page.getByLabel('Show', { exact: true }).inputValue()).toBe(''));
  });
});

describe('credentials', () => {
  it("are made from a .pub file, with the API's sentence for what is wrong and a tester beside the rules", async () => {
    const { page } = await openAs(ADMIN_KEY);
    await page.getByRole('link', { name: 'Credentials' }).click();
    await page.getByRole('link', { name: 'Add a key' }).click();
    await page.getByLabel('Name of the device').fill('<img src=x onerror="document.title=1">');
    const file = join(process.env.TMPDIR ?? '/tmp', `console-${process.pid}.pub`);
    await writeFile(file, 'not a key');
    await page.getByLabel('Public key, as a file').setInputFiles(file);
    await page.getByRole('button', { name: 'Add the key' }).click();
    await page.getByRole('alert').waitFor();
    await writeFile(file, `${newPublicKey()}\n`);
    await page.getByLabel('Public key, as a file').setInputFiles([]);
    await page.getByLabel('Public key, as a file').setInputFiles(file);
    await page.getByLabel('May bind').fill('bind:app=till\nbind:*.graz.example.com');
    await page.getByLabel('Target').fill('app=kitchen');
    await page.getByRole('button', { name: 'Ask' }).click();
    await page.getByText('bind:app=kitchen').waitFor();
    await page.getByLabel('Only from these networks').fill('10.0.0.0/8');
    await page.getByLabel('Target').fill('app=till');
    await page.getByLabel('From', { exact: true }).fill('10.1.2.3');
    await page.getByRole('button', { name: 'Ask' }).click();
    await page.getByText('Yes.').waitFor();
    await page.getByLabel('From', { exact: true }).fill('192.0.2.1');
    await page.getByRole('button', { name: 'Ask' }).click();
    await page.getByText('It is not permitted from there').waitFor();
    await page.getByLabel('From', { exact: true }).fill('');
    await page.getByLabel('Only from these networks').fill('');
    await page.getByLabel('Target').fill('till.graz.example.com');
    await page.keyboard.press('Enter');
    await page.getByText('Yes.').waitFor();
    expect(await tab.axeFaults()).toEqual([]);
    await page.getByRole('button', { name: 'Add the key' }).click();
    await page.getByRole('heading', { level: 1, name: '<img src=x' }).waitFor();
    expect(await page.locator('main img').count()).toBe(0);
    expect(await page.title()).toContain('<img src=x');
    expect(await tab.axeFaults()).toEqual([]);
  }, 60_000);

  it('are tested from an address, and show the line for ssh', async () => {
    const { body } = await own.service.admin.post('/ssh_credentials', {
      ...{ public_key: newPublicKey(), description: 'tester', acl: ['bind:app.example.com:443'] },
      source_cidrs: ['10.0.0.0/8'],
    });
    const { page } = await openAs(ADMIN_KEY);
    await tab.goTo(`#/credentials/${body.id}`, 'tester');
    await page.getByLabel('Target').fill('app.example.com:443');
    await page.getByLabel('From', { exact: true }).fill('10.1.2.3');
    await page.getByRole('button', { name: 'Ask' }).click();
    await page.getByText('Yes.').waitFor();
    await page.getByLabel('From', { exact: true }).fill('192.0.2.1');
    await page.getByRole('button', { name: 'Ask' }).click();
    await page.getByText('It is not permitted from there').waitFor();
    await page.getByText('GATEWAY_PUBLIC_ADDRESS').or(page.getByText('-R app.example.com:443')).waitFor();
  });

  it('of the next page stand behind "Older", and an empty list shows the first step', async () => {
    const user = await addUser(own.service, 'member');
    const { page } = await openAs(user.client.token ?? '');
    await tab.goTo(`#/credentials?state=online&owner=${user.id}`, 'Credentials');
    await page.getByText('Nothing fits these filters').waitFor();
    await own.service.admin.post('/ssh_credentials', {
      ...{ public_key: newPublicKey(), owner_id: user.id, description: 'Till of Graz' },
    });
    await tab.goTo(`#/credentials?owner=${user.id}`, 'Credentials');
    await page.getByLabel('Name or metadata').fill('nobody');
    await page.keyboard.press('Enter');
    await page.getByText('Nothing fits these filters').waitFor();
    await page.getByLabel('Name or metadata').fill('graz');
    await page.keyboard.press('Enter');
    await page.getByText('1 on this page').waitFor();
    for (let i = 0; i < 100; i += 1)
      await own.service.admin.post('/ssh_credentials', { public_key: newPublicKey(), owner_id: user.id });
    await tab.goTo(`#/credentials?owner=${user.id}`, 'Credentials');
    await page.getByText('100 on this page').waitFor();
    await page.getByRole('link', { name: 'Older' }).click();
    await page.getByText('1 on this page').waitFor();
    await page.getByRole('link', { name: 'Newest' }).click();
    await page.getByText('100 on this page').waitFor();
  }, 60_000);
});

it.each(['admin', 'member', 'auditor'] as const)(
  'what a role may not do is not offered: as %s no call is refused, and no page is wider than a phone',
  async (role) => {
    const till = await device(`till of ${role}`, `app=${role}`);
    const user = await addUser(own.service, role);
    const { page } = await openAs(user.client.token ?? '', { viewport: { width: 375, height: 700 } });
    for (const [hash, heading] of [
      ['#/now?show=offline', 'Now'],
      ['#/credentials', 'Credentials'],
      ['#/credentials/new', 'Add a key'],
      [`#/credentials/${till.id}`, `till of ${role}`],
      ['#/now', 'Now'],
    ] as const) {
      if (role !== 'admin' && hash.endsWith('new')) continue;
      await tab.goTo(hash, heading);
      await page.waitForLoadState('networkidle').catch(() => undefined);
      expect([hash, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([hash, 375]);
      expect({ hash, faults: await tab.axeFaults() }).toEqual({ hash, faults: [] });
    }
    expect((await page.getByRole('button', { name: 'Stop' }).count()) > 0).toBe(role === 'admin');
    expect(tab.statuses.filter((status) => status >= 400)).toEqual([]);
    await till.login.close();
  },
  120_000,
);

it.each([
  [403, 'ask an admin'],
  [429, 'wait 7 seconds'],
  [503, 'nothing is lost'],
] as const)('an answer of %i has a sentence with the way out', async (status, wayOut) => {
  const { page } = await openAs(ADMIN_KEY);
  await page.route('**/ssh_credentials?*', (route) =>
    route.fulfill({
      ...{ status, headers: { 'retry-after': '7' }, contentType: 'application/json' },
      body: JSON.stringify({ error_code: 'ERR_TAS_400', status_code: status, msg: 'No.', details: {} }),
    }),
  );
  await tab.goTo('#/credentials', 'Credentials');
  await page.getByRole('alert').getByText(wayOut).waitFor();
  // The answers were made up.
  await tab.forgetFaults();
});

it('shows characters that draw over the page, or turn it, as a question mark', async () => {
  const { body } = await own.service.admin.post('/ssh_credentials', {
    ...{ public_key: `${newPublicKey()} of\u202eecived`, description: 'till\u202e710' },
  });
  const { page } = await openAs(ADMIN_KEY);
  await tab.goTo(`#/credentials/${body.id}`, 'till?710');
  await page
    .getByText(/of\?ecived/)
    .first()
    .waitFor();
});

it('works behind a proxy that serves it below a path', async () => {
  const service = await startService({ publicUrl: 'https://tunnels.example.com/access' });
  const proxy = createServer(({ url = '', method, headers }, response) => {
    const path = url.replace(/^\/access/, '');
    request(service.app.url + path, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    }).end();
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const behind = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/access`;
  tab = await ConsolePage.openAs(browser, behind, ADMIN_KEY);
  await tab.page.getByRole('link', { name: 'Credentials' }).click();
  await tab.page.getByText('Add the first').waitFor();
  proxy.close();
  await service.stop();
}, 60_000);
