import { describe, expect, it } from '@jest/globals';
import { keyText, newCheckpointKey, parseCheckpointKeys } from './checkpoint-key.js';

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
