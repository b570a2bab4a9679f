// eslint-disable-next-line
export type paths = any;
