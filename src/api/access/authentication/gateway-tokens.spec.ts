import { describe, expect, it } from '@jest/globals';
import { parseGatewayTokens } from './gateway-tokens.js';

const TOKEN = 'dGhlLXRva2VuLW9mLWEtZ2F0ZXdheQ==';
const ACCOUNT = 'ac_2Sd3gVzXW1vzFJpCFLqzmEJ9SgA';

function refusalOf(text: string): string {
  try {
    parseGatewayTokens(text);
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error(`accepted: ${text}`);
}

describe('parseGatewayTokens', () => {
  it('reads tokens alone, with a name, and with a name and an account', () => {
    const other = 'another-token-of-a-gateway';
    const third = 'a-third-token@with=more';
    expect(parseGatewayTokens(` ${TOKEN} , frankfurt-1=${other},9@${ACCOUNT}=${third}`)).toEqual([
      { token: TOKEN },
      { name: 'frankfurt-1', token: other },
      { name: '9', accountId: ACCOUNT, token: third },
    ]);
  });

  it.each([
    ['padding of base64', 'dGhlLXRva2VuLW9mLWdhdGV3YXk='],
    ['two signs of padding', TOKEN],
    ['padding after lower-case letters only', 'abcdefghijklmnopqrstuvw='],
    ['= after characters that no name has', 'a+token/of=a-generator-of-tokens'],
    ['= at its end many times', 'abc================='],
  ])('reads a token of earlier versions with %s as a token without a name', (_, token) => {
    expect(parseGatewayTokens(token)).toEqual([{ token }]);
  });

  it('reads the padding of a named token as part of the token', () => {
    expect(parseGatewayTokens(`edge=${TOKEN}`)).toEqual([{ name: 'edge', token: TOKEN }]);
  });

  it('keeps a token of earlier versions that looks like a name and a token, if it gets a name', () => {
    const token = 'key=0123456789abcdef0123';
    expect(parseGatewayTokens(`edge=${token}`)).toEqual([{ name: 'edge', token }]);
    expect(parseGatewayTokens(token)).toEqual([{ name: 'key', token: '0123456789abcdef0123' }]);
  });

  it.each([
    ['capital letters', `Frankfurt=${TOKEN}`],
    ['an underscore', `edge_1=${TOKEN}`],
    ['33 characters', `${'x'.repeat(33)}=${TOKEN}`],
    ['no characters', `=${TOKEN}`],
    ['an account without a name', `@${ACCOUNT}=${TOKEN}`],
    ['an empty account', `edge@=${TOKEN}`],
    ['an id that is no account', `edge@usr_2Sd3gVzXW1vzFJpCFLqzmEJ9SgA=${TOKEN}`],
    ['an account that is cut off', `edge@${ACCOUNT.slice(0, -1)}=${TOKEN}`],
    ['two accounts', `edge@${ACCOUNT}@${ACCOUNT}=${TOKEN}`],
  ])('refuses a name with %s: it says which entry, and quotes none', (_, entry) => {
    const refusal = refusalOf(`fine=another-token-of-a-gateway,${entry}`);
    expect(refusal).toMatch(/^entry 2 must be name=token or name@account=token, .* = in its middle needs a name too$/);
    expect(refusal).not.toContain(TOKEN);
  });

  it.each([
    ['a short token', `edge=${'x'.repeat(19)}`],
    ['a long token', `edge=${'x'.repeat(256)}`],
    ['a blank', 'edge=a token with blanks in it'],
    ['a short token without a name', `${'x'.repeat(18)}=`],
  ])('refuses %s, and quotes none', (_, entry) => {
    const refusal = refusalOf(entry);
    expect(refusal).toMatch(/^must be a comma-separated list of tokens of 20 to 255 printable ASCII .* \(entry 1\)$/);
    expect(refusal).not.toContain('xxx');
    expect(refusal).not.toContain('blanks in it');
  });

  it.each([
    ['name', `edge=${TOKEN},edge=another-token-of-a-gateway`],
    ['token', `edge=${TOKEN},${TOKEN}`],
    ['token', `edge=${TOKEN},other@${ACCOUNT}=${TOKEN}`],
    ['token', `${TOKEN},${TOKEN}`],
  ])('refuses one %s for two gateways, since an answer could not tell them apart', (field, list) => {
    const refusal = refusalOf(`fine=yet-another-token-of-a-gateway,${list}`);
    expect(refusal).toBe(`has one ${field} twice, in entry 2 and entry 3`);
  });
});
