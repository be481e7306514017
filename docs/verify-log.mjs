#!/usr/bin/env node
// Checks an exported log against a signed checkpoint, without the service and its code:
// node verify-log.mjs EXPORT CHECKPOINT KEY [KEYS]
// EXPORT is GET /log/export or `audit export`, CHECKPOINT is GET /log/checkpoint or of `audit witness`, KEY is GET /log/key or a
// witness's. KEYS is GET /events?type=api_key_created.v1 as lines (Accept: application/x-ndjson): only these may be hidden.
import { createHash, createPublicKey, verify } from 'node:crypto';
import { createReadStream, readFileSync } from 'node:fs';

// Exit codes: 0 is OK, 1 REFUSED, 2 an argument or a file that cannot be read. A file's control characters could hide a line.
const say = (line) => console.log(line.replace(/\p{Cc}/gu, (control) => encodeURIComponent(control)));
const end = (code, line) => process.exit(say(line) ?? code);
const refuse = (what) => end(1, `REFUSED: ${what}`);
process.on('uncaughtException', (error) => end(2, error.message));
const [exportFile, checkpointFile, keyFile, keysFile] = process.argv.slice(2);
if (![5, 6].includes(process.argv.length)) end(2, 'usage: node verify-log.mjs EXPORT CHECKPOINT KEY [KEYS]');
const mayHide =
  keysFile &&
  new Set(
    readFileSync(keysFile, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((one) => JSON.parse(one).logposition),
  );
const sha256 = (...parts) => createHash('sha256').update(Buffer.concat(parts)).digest();

// A key is name+id+base64(1, or 4 for a witness; 32 bytes of Ed25519); the id begins the hash of the name and the key.
const KEY = /^([^+\s]+)[+]([0-9a-f]{8})[+]([A-Za-z0-9+/]+=*)\s*$/;
const [, name, id, keyText] = KEY.exec(readFileSync(keyFile, 'utf8')) ?? refuse('the key is no key');
const keyBytes = Buffer.from(keyText, 'base64');
const expectedId = sha256(Buffer.from(`${name}\n`), keyBytes).subarray(0, 4);
if (expectedId.toString('hex') !== id || keyBytes.length !== 33) refuse('the key is damaged');
const der = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), keyBytes.subarray(1)]);
const key = createPublicKey({ key: der, format: 'der', type: 'spki' });

// A checkpoint is: origin, number of events, root of the tree; an empty line; lines with signatures.
const note = readFileSync(checkpointFile, 'utf8');
const text = note.slice(0, note.indexOf('\n\n') + 1);
const line = note.split('\n').find((one) => one.startsWith(`— ${name} `)) ?? refuse('it is not signed by this key');
const signature = Buffer.from(line.split(' ')[2] ?? '', 'base64');
if (signature.length < 68) refuse('the signature of the checkpoint is cut');
const time = keyBytes[0] === 4 ? signature.readBigUInt64BE(4) : undefined; // A witness signs when it saw the checkpoint.
const signed = Buffer.from(time === undefined ? text : `cosignature/v1\ntime ${time}\n${text}`);
const isSigned = verify(null, signed, key, signature.subarray(time === undefined ? 4 : 12));
if (!signature.subarray(0, 4).equals(expectedId) || !isSigned) refuse('the signature of the checkpoint is wrong');
const [, origin, sizeText, rootText] = /^(.+)\n(0|[1-9]\d*)\n(.+)\n/.exec(text) ?? refuse('the checkpoint is none');
if (time === undefined && origin !== name) refuse(`the checkpoint is that of ${origin}`);
const size = Number(sizeText);

// The hash of an event: a zero byte, and its fields, each text after its length in bytes. Times are microseconds.
const field = (value) => `${Buffer.byteLength(value)}:${value},`; // Throws for a value that is no text.
const micros = (time) => BigInt(Date.parse(`${time.slice(0, 23)}Z`)) * 1000n + BigInt(time.slice(23, 26));
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const isWritten = (e) =>
  TIME.test(e.occurred_at) && TIME.test(e.recorded_at) && UUID.test(e.event_id) && Number.isInteger(e.stream_version);
const leafOf = (e) => {
  const identity = `\0${field(e.account_id)}${e.position},${field(e.stream_id)}${e.stream_version},${e.event_id},`;
  const content = `${field(e.type)}${field(e.data)}${field(e.metadata)}`;
  return sha256(Buffer.from(`${identity}${content}${micros(e.occurred_at)},${micros(e.recorded_at)},`)).toString('hex');
};

// Complete subtrees, the largest first, as RFC 6962 has them: two neighbours of one size become one.
const subtrees = [];
const node = (left, right) => sha256(Buffer.from([1]), left, right);
const add = (hash, size = 1) =>
  subtrees.at(-1)?.size === size ? add(node(subtrees.pop().hash, hash), 2 * size) : subtrees.push({ size, hash });

// Of a hidden event there is the hash alone, so that nobody who reads the export can guess a key.
const isHidden = (e) => e.hidden === true && Object.keys(e).length === 3 && /^[0-9a-f]{64}$/.test(e.leaf_hash);
const hidden = [];

let [events, rest] = [0, ''];
for await (const chunk of createReadStream(exportFile, 'utf8')) {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop();
  for (const one of lines) {
    events += 1;
    try {
      const event = JSON.parse(one);
      if (event.position !== events) refuse(`line ${events} has position ${JSON.stringify(event.position)}`);
      if (isHidden(event)) hidden.push(events);
      else if (!origin.endsWith(`/${event.account_id}`)) refuse(`line ${events} is of account ${event.account_id}`);
      const isTrue = () => typeof event.event_id === 'string' && isWritten(event) && leafOf(event) === event.leaf_hash;
      if (hidden.at(-1) !== events && !isTrue()) refuse(`position ${events}: the event does not have its hash`);
      if (events <= size) add(Buffer.from(event.leaf_hash, 'hex'));
    } catch {
      refuse(`line ${events} is no event`);
    }
  }
}
if (rest !== '') refuse('the export ends in the middle of a line');
if (events < size) refuse(`the export has ${events} events, and the checkpoint covers ${size}`);
const root = subtrees.reduceRight((right, { hash }) => (right ? node(hash, right) : hash), undefined) ?? sha256();
if (root.toString('base64') !== rootText) refuse(`the first ${size} events are not those that were signed`);
const wrong = hidden.find((position) => mayHide && !mayHide.has(position));
if (wrong !== undefined) refuse(`position ${wrong} is hidden, and is no creation of an API key`);
say(`OK: the first ${size} of ${events} events are those that ${origin} signed`);
if (hidden.length > 0) say(`hidden, with their hashes alone: ${hidden.join(', ')}`);
if (events > size) say(`not covered by the checkpoint: ${events - size} newer`);
