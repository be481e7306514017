import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Browser } from '../support/browser.js';
import { newPublicKey } from '../support/keys.js';
import { ADMIN_KEY, GATEWAY, type Service, startService } from '../support/service.js';

/** The page at /docs in a real browser, with gateway tokens set: then it has a field for each kind of token. */
let service: Service;
let browser: Browser;
beforeAll(async () => {
  service = await startService(GATEWAY);
  browser = await Browser.open();
}, 120_000);
afterAll(async () => {
  await service.stop();
});

const AUTHORIZE = '.auth-wrapper .authorize';

it('/docs takes a typed key for an API key, and the next call is answered', async () => {
  const { body } = await service.admin.post('/ssh_credentials', {
    public_key: newPublicKey(),
    description: 'seen here',
  });
  await browser.visit(`${service.app.url}/docs`);
  for (const times of [1, 2]) {
    await browser.click(AUTHORIZE);
    await browser.until(
      `document.getElementById('auth-bearer-value') && document.getElementById('auth-gateway-value')`,
    );
    expect([times, await browser.run('return document.activeElement.id')]).toEqual([times, 'auth-bearer-value']);
    if (times === 1) await browser.click('.btn-done');
  }
  await browser.type(ADMIN_KEY);
  expect(await browser.run(`return document.getElementById('auth-gateway-value').value`)).toBe('');
  await browser.click('.auth-container .auth.authorize');
  await browser.click('.btn-done');
  const operation = '[id$="listSshCredentials"]';
  await browser.click('[data-tag="SSH credentials"]');
  await browser.click(`${operation} button.opblock-summary-control`);
  await browser.click(`${operation} .try-out__btn`);
  await browser.click(`${operation} .execute`);
  await browser.until(`document.querySelector('${operation} .live-responses-table .response-col_status')`);
  const answer = await browser.run(`return document.querySelector('${operation} .live-responses-table').innerText`);
  expect(answer).toMatch(/^\s*200/m);
  expect(answer).toContain(body.id);
}, 120_000);

it('/docs shows closed tags at first, and an opened call on at most two screens', async () => {
  await browser.visit(`${service.app.url}/docs`);
  await browser.until(`document.querySelectorAll('.opblock-tag').length > 10`);
  expect(await browser.run(`return document.querySelectorAll('.opblock').length`)).toBe(0);
  await browser.click('[data-tag="SSH credentials"]');
  const heights: Record<string, unknown> = {};
  for (const id of ['createSshCredential', 'getSshCredential', 'updateSshCredential', 'deleteSshCredential']) {
    const operation = `[id$="-${id}"]`;
    await browser.click(`${operation} button.opblock-summary-control`);
    await browser.until(`document.querySelector('${operation} .responses-table .response')`);
    const measure = `document.querySelector('${operation}').getBoundingClientRect().height / window.innerHeight`;
    heights[id] = await browser.run(`return Math.ceil(${measure})`);
    await browser.click(`${operation} button.opblock-summary-control`);
  }
  for (const [id, screens] of Object.entries(heights))
    expect([id, Number(screens) <= 2 || screens]).toEqual([id, true]);
}, 120_000);
