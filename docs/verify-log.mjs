#!/usr/bin/env node
// Checks an exported log against a signed checkpoint, without the service and its code: node verify-log.mjs EXPORT CHECKPOINT KEY
// EXPORT is the output of `audit export`, CHECKPOINT that of GET /log/checkpoint, KEY that of GET /log/key. Read it: it is short.
import { createHash, createPublicKey, verify } from 'node:crypto';
import { createReadStream, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [exportFile, checkpointFile, keyFile] = process.argv.slice(2);
const sha256 = (...parts) => createHash('sha256').update(Buffer.concat(parts)).digest();
const refuse = (what) => {
  console.log(`REFUSED: ${what}`);
  process.exit(1);
};

// A key is name+id+base64(1, 32 bytes of Ed25519); the id is the beginning of the hash of the name and the key.
const [, name, id, keyText] =
  /^([^+]+)[+]([^+]+)[+](.+)/.exec(readFileSync(keyFile, 'utf8')) ?? refuse('the key is no key');
const keyBytes = Buffer.from(keyText, 'base64');
if (
  sha256(Buffer.from(`${name}\n`), keyBytes)
    .subarray(0, 4)
    .toString('hex') !== id
)
  refuse('the key is damaged');
const der = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), keyBytes.subarray(1)]);
const key = createPublicKey({ key: der, format: 'der', type: 'spki' });

// A checkpoint is: origin, number of events, root of the tree; an empty line; lines with signatures.
const note = readFileSync(checkpointFile, 'utf8');
const text = note.slice(0, note.indexOf('\n\n') + 1);
const line =
  note.split('\n').find((one) => one.startsWith(`— ${name} `)) ?? refuse('the checkpoint has no signature of this key');
const signature = Buffer.from(line.split(' ')[2], 'base64').subarray(4);
if (!verify(null, Buffer.from(text), key, signature)) refuse('the signature of the checkpoint is wrong');
const [origin, sizeText, rootText] = text.split('\n');
const size = Number(sizeText);

// The hash of an event: a zero byte, and its fields, each text after its length in bytes. Times are microseconds.
const field = (value) => `${Buffer.byteLength(value)}:${value},`;
const micros = (time) => BigInt(Date.parse(`${time.slice(0, 23)}Z`)) * 1000n + BigInt(time.slice(23, 26));
const leafOf = (e) =>
  sha256(
    Buffer.from(
      `\0${field(e.account_id)}${e.position},${field(e.stream_id)}${e.stream_version},${e.event_id},${field(e.type)}` +
        `${field(e.data)}${field(e.metadata)}${micros(e.occurred_at)},${micros(e.recorded_at)},`,
    ),
  );

// Complete subtrees, the largest first, as RFC 6962 has them: two neighbours of one size become one.
const subtrees = [];
const add = (leaf) => {
  let tree = { size: 1, hash: leaf };
  while (subtrees.at(-1)?.size === tree.size) {
    tree = { size: 2 * tree.size, hash: sha256(Buffer.from([1]), subtrees.pop().hash, tree.hash) };
  }
  subtrees.push(tree);
};

let events = 0;
for await (const eventLine of createInterface({ input: createReadStream(exportFile) })) {
  const event = JSON.parse(eventLine);
  events += 1;
  if (event.position !== events) refuse(`line ${events} has position ${event.position}`);
  const leaf = leafOf(event);
  if (leaf.toString('hex') !== event.leaf_hash) refuse(`position ${events}: the event does not have its hash`);
  if (events <= size) add(leaf);
}
if (events < size) refuse(`the export has ${events} events, and the checkpoint covers ${size}`);
const root = subtrees.reduceRight(
  (right, { hash }) => (right ? sha256(Buffer.from([1]), hash, right) : hash),
  undefined,
);
if ((root ?? sha256()).toString('base64') !== rootText)
  refuse(`the first ${size} events are not those that were signed`);
console.log(`OK: the first ${size} of ${events} events are those that ${origin} signed`);
