// The charts of a match, for the modules that show them.

import type { MatchRecord } from "./record.js";
import type { Turn } from "./types.d.ts";

export class Charts {
  constructor(place: HTMLElement, choose: (step: number) => void);
  load(): void;
  show(record: MatchRecord, turn: Turn | null): void;
  setTurn(turn: Turn | null): void;
  setScope(turn: Turn | null): void;
}
