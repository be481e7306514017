import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type Printing, printItems } from './table.js';

const ITEMS = [
  { id: 'a', name: 'a long name' },
  { id: 'bcd', name: 'with\ta tab' },
];
const COLUMNS = { ID: ({ id }: { id: string }) => id, NAME: ({ name }: { name: string }) => name };

describe('items are printed', () => {
  const isTTY = process.stdout.isTTY;
  let printed: string;
  beforeEach(() => {
    printed = '';
    jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
      printed += String(text);
      return true;
    });
  });
  afterEach(() => {
    jest.restoreAllMocks();
    process.stdout.isTTY = isTTY;
  });

  const printedOn = (terminal: boolean, options: Printing = {}, items = ITEMS): string => {
    process.stdout.isTTY = terminal;
    printItems(items, COLUMNS, options);
    return printed;
  };

  it('on a terminal as a table with titles', () => {
    expect(printedOn(true)).toBe('ID   NAME\na    a long name\nbcd  with a tab\n');
  });

  it('on a terminal as nothing, if there are none', () => {
    expect(printedOn(true, {}, [])).toBe('');
  });

  it('elsewhere as lines with tabs between the columns, and no further tab', () => {
    expect(printedOn(false)).toBe('a\ta long name\nbcd\twith a tab\n');
  });

  it.each([true, false])('with --json as they are, one on a line, on a terminal: %s', (terminal) => {
    expect(printedOn(terminal, { json: true })).toBe(ITEMS.map((item) => `${JSON.stringify(item)}\n`).join(''));
  });
});
