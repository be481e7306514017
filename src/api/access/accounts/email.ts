import { isEmail } from 'class-validator';

/** ASCII only, so that upper and lower case mean the same here and in every database. */
export const isEmailAddress = (text: string): boolean => isEmail(text, { allow_utf8_local_part: false });
