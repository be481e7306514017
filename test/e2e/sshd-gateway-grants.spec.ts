import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { expectBytesBothWays, freePortOf, GATEWAY_TOKEN, GatewayTrial } from '../support/gateway-trial.js';
import { newSecurityKey } from '../support/keys.js';
import { newKeyPair } from '../support/ssh-client.js';

let trial: GatewayTrial;
beforeAll(async () => {
  trial = await GatewayTrial.start();
});

describe('several credentials of one key', () => {
  it('permit their union, without deleted credentials', async () => {
    const key = await trial.newCredential('bind:app.example.test');
    await trial.createCredential(key, ['bind:*.wild.example.test']);
    const [port, other] = [await freePortOf('app.example.test'), await freePortOf('a.wild.example.test')];
    const both = await trial.bind(key, `app.example.test:${port}`, `a.wild.example.test:${other}`);
    await expectBytesBothWays('app.example.test', port);
    await expectBytesBothWays('a.wild.example.test', other);
    await both.close();

    expect(await trial.admin.delete(`/ssh_credentials/${key.id}`)).toMatchObject({ status: 204 });
    await trial.expectDenied(key, 'app.example.test:7001');
    await trial.expectTunnel(key, 'a.wild.example.test');
  });

  it('with thousands of rules still accept the key', async () => {
    const key = await newKeyPair();
    for (const n of [1, 2, 3, 4, 5]) {
      const rules = Array.from({ length: 999 }, (_, i) => `bind:host-${n}-${i}.example.test`);
      await trial.createCredential(key, n === 1 ? ['bind:app.example.test', ...rules] : rules);
    }
    await trial.expectTunnel(key, 'app.example.test');
  });
});

it('a rule for a port at any host permits that port, and no other', async () => {
  const port = await freePortOf('app.example.test');
  const key = await trial.newCredential(`bind:*:${port}`);
  const bound = await trial.bind(key, `app.example.test:${port}`);
  await expectBytesBothWays('app.example.test', port);
  await bound.close();
  await trial.expectDenied(key, `app.example.test:${await freePortOf('app.example.test')}`);
});

describe('a FIDO key', () => {
  it('has a line that OpenSSH reads and sshd accepts for that key', async () => {
    const line = newSecurityKey();
    const key = await newKeyPair();
    // Only the public half, like a key whose token is absent: ssh offers it and sshd looks it up, but ssh cannot sign.
    await writeFile(`${key.file}.pub`, line);
    await writeFile(key.file, '');
    const id = await trial.createCredential({ ...key, publicKey: line }, ['bind:app.example.test']);
    const [type, blob = ''] = line.split(' ');
    const fingerprint = `SHA256:${createHash('sha256').update(Buffer.from(blob, 'base64')).digest('base64').replace(/=+$/, '')}`;

    const query = new URLSearchParams({ type: String(type), fingerprint });
    const answer = await fetch(`${trial.admin.url}/ssh_gateway/authorized_keys?${query}`, {
      headers: { authorization: `Bearer ${GATEWAY_TOKEN}` },
    });
    const printed = await answer.text();
    expect(printed.trimEnd()).toBe(
      `restrict,port-forwarding,permitlisten="app.example.test:*" ${type} ${blob} ${id}@1`,
    );
    expect(execFileSync('ssh-keygen', ['-l', '-f', '-'], { input: printed, encoding: 'utf8' })).toBe(
      `256 ${fingerprint} ${id}@1 (ED25519-SK)\n`,
    );

    await trial.expectNotLetIn({ ...key, file: `${key.file}.pub` });
    await trial.gateway.logged(`Accepted key ED25519-SK ${fingerprint} found at`);
  });
});

describe('while the service is down', () => {
  it('every login is refused, open tunnels continue, and logins work again afterwards', async () => {
    const key = await trial.newCredential('bind:app.example.test');
    const port = await freePortOf('app.example.test');
    const live = await trial.bind(key, `app.example.test:${port}`);
    await trial.stopService();
    await trial.expectNotLetIn(key);
    await trial.gateway.logged('failed, status 7');
    await expectBytesBothWays('app.example.test', port);
    await live.close();

    await trial.startServiceAgain();
    await trial.expectTunnel(key, 'app.example.test');
  });
});
