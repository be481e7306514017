import { beforeAll, describe, expect, it } from '@jest/globals';
import { OwnGateway } from '../support/own-gateway.js';
import { type Circumstances, SecurityKey, startAgent } from '../support/security-key.js';
import { logIn } from '../support/ssh-client.js';

let trial: OwnGateway;
beforeAll(async () => {
  trial = await OwnGateway.start();
});

type Sign = (key: SecurityKey, message: Buffer) => Buffer;

/** Whether OpenSSH, with an agent that signs so, gets a tunnel. */
async function getsTunnel(key: SecurityKey, sign: Sign): Promise<boolean> {
  const { socket, pair } = await startAgent(key, (message) => sign(key, message));
  await trial.createCredential(pair, ['bind:team=blue']);
  const login = await logIn(trial.port, pair, '-o', `IdentityAgent=${socket}`, '-R', 'team=blue:0:127.0.0.1:1');
  await login.close();
  return login.isOpen;
}

const badSignatures = async (): Promise<number> =>
  Number(/logins_total\{outcome="bad_signature"\} (\d+)/.exec(await trial.metrics())?.[1] ?? 0);

const signedIn =
  (circumstances: Circumstances): Sign =>
  (key, message) =>
    key.sign(message, circumstances);

/** `at` counts from the end if it is negative: the numbers of ECDSA have no fixed length. */
function changed(bytes: Buffer, at: number): Buffer {
  const other = Buffer.from(bytes);
  const n = at < 0 ? other.length + at : at;
  other.writeUInt8(other.readUInt8(n) ^ 1, n);
  return other;
}

describe.each([['sk-ssh-ed25519@openssh.com'], ['sk-ecdsa-sha2-nistp256@openssh.com']] as const)(
  'a FIDO key of the type %s',
  (type) => {
    it('brings up a tunnel of OpenSSH', async () => {
      expect(await getsTunnel(new SecurityKey(type), signedIn({}))).toBe(true);
    });

    it.each<[string, Sign]>([
      ['nobody touched the token', signedIn({ flags: 0 })],
      ['another key signed', (_, message) => new SecurityKey(type).sign(message)],
      ['another message was signed', (key, message) => key.sign(changed(message, 8))],
    ])('lets nobody in if %s', async (_, sign) => {
      const before = await badSignatures();
      expect(await getsTunnel(new SecurityKey(type), sign)).toBe(false);
      expect(await badSignatures()).toBe(before + 1);
    });
  },
);
