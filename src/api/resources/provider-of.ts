import type { Abstract, FactoryProvider, Type } from '@nestjs/common';

type Tokens<Parts extends unknown[]> = { [Index in keyof Parts]: Type<Parts[Index]> | Abstract<Parts[Index]> | symbol };

/** Provides an object of a class that does not know Nest, made of the providers with these tokens. */
export const providerOf = <Made, Parts extends unknown[]>(
  made: new (...parts: Parts) => Made,
  ...inject: Tokens<Parts>
): FactoryProvider<Made> => ({
  provide: made,
  useFactory: (...parts) => new made(...(parts as Parts)),
  inject,
});
