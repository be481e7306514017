import { expect, it } from '@jest/globals';
import { StreamOrder } from './stream-order.js';

const models = [{ events: { 'made.v1': { isStart: true }, 'changed.v1': {} } }] as unknown as ConstructorParameters<
  typeof StreamOrder
>[0];
let position = 0;
const event = (stream_id: string, stream_version: number, type = 'changed.v1') => {
  position += 1;
  return { stream_id, stream_version, type, position };
};

it('a hidden event of which nothing is told may be the first of one stream, and no later one', () => {
  const order = new StreamOrder(models);
  const NOT_NEXT = 'its stream_version does not follow the previous one of its stream';
  expect(order.faultOf(event('a_0', 2))).toBe(NOT_NEXT);
  order.hide();
  expect(order.faultOf(event('a_1', 3))).toBe(NOT_NEXT);
  expect(order.faultOf(event('a_2', 2))).toBeUndefined();
  expect(order.faultOf(event('a_2', 3))).toBeUndefined();
  expect(order.faultOf(event('a_3', 2))).toBe(NOT_NEXT);
  expect(order.faultOf(event('a_4', 1, 'made.v1'))).toBeUndefined();
});
