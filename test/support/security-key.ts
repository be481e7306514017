import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stopAtEnd } from './leftovers.js';
import type { KeyPair } from './ssh-client.js';
import { byte, text, uint32 } from './ssh-messages.js';

type KeyType = 'sk-ssh-ed25519@openssh.com' | 'sk-ecdsa-sha2-nistp256@openssh.com';

const APPLICATION = 'ssh:';
const POINT_BYTES = { ed25519: 32, p256: 65 };
const sha256 = (bytes: string | Buffer): Buffer => createHash('sha256').update(bytes).digest();

/** The data that a token signs in addition to the message. */
export interface Circumstances {
  readonly application?: string;
  /** 1: a person touched it. */
  readonly flags?: number;
  readonly counter?: number;
}

/** A FIDO key that signs as a token does (OpenSSH, PROTOCOL.u2f). */
export class SecurityKey {
  private readonly privateKey: KeyObject;
  readonly blob: Buffer;

  constructor(readonly type: KeyType) {
    const isEd25519 = type === 'sk-ssh-ed25519@openssh.com';
    const pair = isEd25519 ? generateKeyPairSync('ed25519') : generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.privateKey = pair.privateKey;
    const point = pair.publicKey
      .export({ format: 'der', type: 'spki' })
      .subarray(-(isEd25519 ? POINT_BYTES.ed25519 : POINT_BYTES.p256));
    const curve = isEd25519 ? [] : [text('nistp256')];
    this.blob = Buffer.concat([text(type), ...curve, text(point), text(APPLICATION)]);
  }

  get publicKey(): string {
    return `${this.type} ${this.blob.toString('base64')} token`;
  }

  /** The signature in SSH format, with its type. */
  sign(message: Buffer, circumstances: Circumstances = {}): Buffer {
    const { signature, end } = this.signParts(message, circumstances);
    return Buffer.concat([text(this.type), text(signature), end]);
  }

  signParts(message: Buffer, { application = APPLICATION, flags = 1, counter = 7 }: Circumstances = {}) {
    const end = Buffer.concat([byte(flags), uint32(counter)]);
    const signed = Buffer.concat([sha256(application), end, sha256(message)]);
    if (this.type === 'sk-ssh-ed25519@openssh.com') return { signature: sign(null, signed, this.privateKey), end };
    const numbers = sign('sha256', signed, { key: this.privateKey, dsaEncoding: 'ieee-p1363' });
    return { signature: Buffer.concat([mpint(numbers.subarray(0, 32)), mpint(numbers.subarray(32))]), end };
  }
}

/** A positive number in the shortest SSH form. */
function mpint(digits: Buffer): Buffer {
  const shortest = digits.subarray(digits.findIndex((digit) => digit !== 0));
  return text((shortest[0] ?? 0) < 0x80 ? shortest : Buffer.concat([byte(0), shortest]));
}

const IDENTITIES = { asked: 11, answer: 12 };
const SIGN = { asked: 13, answer: 14 };
const FAILURE = 5;

/** An SSH agent that has only this key. `makeSignature`: its answer to a request for a signature. */
export async function startAgent(
  key: SecurityKey,
  makeSignature = (message: Buffer): Buffer => key.sign(message),
): Promise<{ readonly socket: string; readonly pair: KeyPair }> {
  const folder = await mkdtemp(join(tmpdir(), 'tas-agent-'));
  const socket = join(folder, 'socket');
  // The public half: ssh asks the agent for the other one.
  const pair = { file: join(folder, 'key.pub'), publicKey: key.publicKey };
  await writeFile(pair.file, `${key.publicKey}\n`);
  const answerTo = (request: Buffer): Buffer => {
    if (request[0] === IDENTITIES.asked)
      return Buffer.concat([byte(IDENTITIES.answer), uint32(1), text(key.blob), text('token')]);
    if (request[0] !== SIGN.asked) return byte(FAILURE);
    const message = field(request, 1 + 4 + key.blob.length);
    return Buffer.concat([byte(SIGN.answer), text(makeSignature(message))]);
  };
  const server = createServer((client) => serve(client, answerTo)).listen(socket);
  stopAtEnd(async () => {
    server.close();
    await rm(folder, { recursive: true, force: true });
  });
  return { socket, pair };
}

function serve(client: Socket, answerTo: (request: Buffer) => Buffer): void {
  let received = Buffer.alloc(0);
  client
    .on('error', () => undefined)
    .on('data', (data: Buffer) => {
      received = Buffer.concat([received, data]);
      while (received.length >= 4 && received.length >= 4 + received.readUInt32BE()) {
        const request = field(received, 0);
        received = received.subarray(4 + request.length);
        client.write(text(answerTo(request)));
      }
    });
}

const field = (bytes: Buffer, at: number): Buffer => bytes.subarray(at + 4, at + 4 + bytes.readUInt32BE(at));
