// Short sounds at a table: a move, a capture, the end of a game. They are off until a person switches
// them on, which this browser keeps. WebAudio makes them; there are no files.

/** @typedef {{ pitch: number, seconds: number, after?: number }} Tone */

const KEY = "panza-sound";
/**
 * The tones of each sound: pitches in hertz, and times in seconds.
 * @type {{ move: Tone[], capture: Tone[], end: Tone[] }}
 */
const SOUNDS = {
  move: [{ pitch: 520, seconds: 0.07 }],
  capture: [{ pitch: 390, seconds: 0.07 }, { pitch: 260, seconds: 0.1, after: 0.06 }],
  end: [{ pitch: 392, seconds: 0.16 }, { pitch: 523, seconds: 0.16, after: 0.14 }, { pitch: 659, seconds: 0.3, after: 0.28 }],
};
const LOUDNESS = 0.12;

/** @type {{ context: AudioContext | null }} */
const own = { context: null };

function isOn() {
  try {
    return localStorage.getItem(KEY) === "on";
  } catch {
    return false;
  }
}

/**
 * Makes a button switch sounds on and off.
 * @param {HTMLElement} button
 */
export function offerSound(button) {
  const show = () => button.setAttribute("aria-pressed", String(isOn()));
  button.addEventListener("click", () => {
    try {
      localStorage.setItem(KEY, isOn() ? "off" : "on");
    } catch {
      // Without storage they stay off.
    }
    show();
    makeSound("move");
  });
  show();
}

/** @param {keyof typeof SOUNDS} kind */
export function makeSound(kind) {
  // Browsers allow sounds once somebody has done something on the page.
  if (!isOn() || !navigator.userActivation?.hasBeenActive) return;
  own.context ??= new AudioContext();
  const { context } = own;
  for (const { pitch, seconds, after = 0 } of SOUNDS[kind]) {
    const [tone, volume] = [context.createOscillator(), context.createGain()];
    const begin = context.currentTime + after;
    tone.type = "triangle";
    tone.frequency.value = pitch;
    volume.gain.setValueAtTime(LOUDNESS, begin);
    volume.gain.exponentialRampToValueAtTime(0.001, begin + seconds);
    tone.connect(volume).connect(context.destination);
    tone.start(begin);
    tone.stop(begin + seconds);
  }
}
