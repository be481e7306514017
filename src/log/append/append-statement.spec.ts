import { describe, expect, it } from '@jest/globals';
import { appendStatement } from './append-statement.js';
import { prepareAppend } from './prepared-append.js';

const CONTROL_CHARACTERS = String.fromCharCode(...Array(0x20).keys());

const appendOf = (id: string, text: string) =>
  prepareAppend(
    {
      accountId: 'ac_1',
      metadata: { actor: 'usr_1', user_agent: text },
      occurredAt: new Date(0),
      streams: [
        {
          model: { tables: [], events: {} },
          id,
          before: undefined,
          events: [{ type: 'noted.v1', data: { text } }],
          after: undefined,
        },
      ],
    },
    0,
  );

describe('the statement of a batch', () => {
  it('keeps the texts of its events apart, whatever characters their callers sent', () => {
    const texts = [CONTROL_CHARACTERS, 'plain, "quoted"', '\u007f\u009f'];
    const { text, values } = appendStatement(
      'ac_1',
      texts.map((one, n) => appendOf(`sshcr_${n}`, one)),
    );
    const [, separator = ''] = /string_to_array\(\$3, '(.)'\)/su.exec(text) ?? [];
    const [ids, , , , data, metadata] = values.slice(2).map((column) => column.split(separator));
    expect(ids).toEqual(['sshcr_0', 'sshcr_1', 'sshcr_2']);
    expect(data).toEqual(texts.map((one) => JSON.stringify({ text: one })));
    expect(metadata).toEqual(texts.map((one) => JSON.stringify({ actor: 'usr_1', user_agent: one })));
  });
});
