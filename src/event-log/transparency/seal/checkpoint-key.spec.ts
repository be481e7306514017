import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import {
  findEmbeddedKeys,
  keyText,
  newCheckpointKey,
  openEmbeddedKeys,
  parseCheckpointKeys,
} from './checkpoint-key.js';

const [OLD, NEW] = [newCheckpointKey('old.example.com'), newCheckpointKey('new.example.com')];

describe('CHECKPOINT_KEY', () => {
  it.each([
    [`${keyText(OLD)}`, ['old.example.com']],
    [`${keyText(OLD)}\n${keyText(NEW)}\n`, ['old.example.com', 'new.example.com']],
    [`${keyText(NEW)} \t ${keyText(OLD)}`, ['new.example.com', 'old.example.com']],
  ])('may hold several keys, oldest first, of which the last one signs', (text, names) => {
    const { known, signing } = parseCheckpointKeys(text);
    expect(known.map(({ name }) => name)).toEqual(names);
    expect(signing).toEqual(known.at(-1));
  });

  it.each([
    [`${keyText(OLD)} ${keyText(NEW).slice(0, -4)}`, 'is not a key as'],
    [`${keyText(OLD)} ${keyText(newCheckpointKey(OLD.name))}`, 'has two keys with the name old.example.com'],
    ['/nonexistent/key', 'cannot be read'],
  ])('is refused if one is no key, or two have a name, without a word of the secret', (text, said) => {
    let message = '';
    try {
      parseCheckpointKeys(text);
    } catch (error) {
      message = String(error);
    }
    expect(message).toContain(said);
    expect(message).not.toContain(OLD.seed.toString('base64'));
  });
});

describe('the file checkpoint-key of an embedded database', () => {
  it('is made once; a key that is added at its end signs from then on, and a damaged one is refused', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tas-keys-'));
    const file = join(folder, 'checkpoint-key');
    expect(await findEmbeddedKeys(folder)).toBeUndefined();
    const made = await openEmbeddedKeys(folder);
    expect([made.isNew, made.path]).toEqual([true, file]);
    await appendFile(file, `${keyText(NEW)}\n`);
    expect(parseCheckpointKeys(file).known).toEqual([made.keys.signing, NEW]);
    expect(await openEmbeddedKeys(folder)).toMatchObject({ isNew: false, keys: { signing: NEW } });
    await writeFile(file, keyText(NEW).slice(0, -4));
    await expect(findEmbeddedKeys(folder)).rejects.toThrow(/checkpoint-key holds no key .*: put a copy of it back/);
    await rm(folder, { recursive: true });
  });
});
