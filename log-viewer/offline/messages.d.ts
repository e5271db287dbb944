// What the page and the worker of the one file send each other. Only the type check reads this file.

/** From the page: first what to start with, then requests; now and then whether it is alive. */
export type FromPage = Start | Request | { isAlive: true };

export interface Start {
  /** The module: gzip in base64. */
  module: string;
  /** What the browser keeps, by name. */
  kept: [name: string, text: string][];
  /** Other modules that search its match too. */
  companions: number;
}

export interface Request {
  id: number;
  method: string;
  address: string;
  body: string;
}

/** From the worker: an answer, what is to be kept from now on, a sign of life, or why it has ended. */
export type FromWorker = ({ id: number } & Reply) | { kept: Change[] } | { isAlive: true } | { ended: string };

/** A text to be kept under a name in place of the one before; null, where nothing is to be kept. */
export type Change = [name: string, text: string | null];

export interface Reply {
  status: number;
  type: string;
  body: Uint8Array<ArrayBuffer>;
}

/** The module, as the worker uses it. */
export interface Module {
  /** An answer, or the key under which it comes later. */
  request(method: string, address: string, body: string): Reply | number;
  /** Works for some milliseconds; then it may rest for as many as this returns. */
  work(milliseconds: number): number;
  /** An answer that was waited for, or null. */
  finished(): ({ key: number } & Reply) | null;
}
