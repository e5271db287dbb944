// Draws a match's figures with uPlot. A chart is drawn when it becomes visible, and again when its
// record, its scope, the theme or the chosen turn changes. The chosen turn is a band behind the
// lines. A click on a chart chooses the turn under the pointer. All charts over time share one
// span: zooming one zooms all.

import { FIGURES, onAxis, turnTimes } from "./figures.js";
import { drawn, element, fill, refill } from "./page.js";
import { lineColour } from "./roles.js";
import { FONT, PALETTES, aligned, bandsOf, colourOf, frameOf, seriesOf, swatch, time } from "./plots.js";

/** @import uPlot from "./uplot.js" */
/** @import { MatchRecord } from "./record.js" */
/** @import { Card, ChartAxes, Figure, Span, Trace, Turn } from "./types.d.ts" */

const HEIGHT = 240;
/** Marks that are nearer to each other than this are no help: then only some turns have one. */
const MARK_SPACE = 10;
/** How far from the pointer the points are that it shows. */
const HOVER_REACH = 30;

const ICONS = { in: "M8 3v10M3 8h10", out: "M3 8h10", save: "M8 2v8M4.5 7L8 10.5 11.5 7M3 13.5h10" };

export class Charts {
  /**
   * `choose(step)` is called when somebody clicks on a turn.
   * @param {HTMLElement} place
   * @param {(step: number) => void} choose
   */
  constructor(place, choose) {
    this.place = place;
    this.choose = choose;
    /** @type {MatchRecord | null} */
    this.record = null;
    /** @type {Turn | null} */
    this.turn = null;
    /** @type {Turn | null} */
    this.scope = null;
    /**
     * What somebody has zoomed to on the axis of time and on that of turns, or null.
     * @type {{ time: Span | null, turns: Span | null }}
     */
    this.spans = { time: null, turns: null };
    /** @type {Card[]} */
    this.cards = [];
    /** @type {typeof uPlot | null} */
    this.UPlot = null;
    this.isMissing = false;
    /** The colour of our role. @type {string | null} */
    this.own = null;
    this.dark = window.matchMedia("(prefers-color-scheme: dark)");
    this.dark.addEventListener("change", () => this.refresh());
    this.sight = new IntersectionObserver((entries) => this.seen(entries), { rootMargin: "150px" });
    this.sizes = new ResizeObserver((entries) => {
      for (const { target } of entries) {
        const card = this.cards.find(({ chart }) => chart === target);
        card?.chart.plot?.setSize({ width: target.clientWidth, height: HEIGHT });
      }
    });
    this.load();
  }

  /** The rest of the page does not need the library, so it is not waited for. */
  async load() {
    try {
      this.UPlot = (await import("./uplot.js")).default;
    } catch {
      this.isMissing = true;
    }
    if (this.record !== null) this.show(this.record, this.turn);
  }

  /** The colours of the lines; what is said of our role has that role's. */
  get palette() {
    const palette = this.dark.matches ? PALETTES.dark : PALETTES.light;
    return { ...palette, strong: this.own ?? palette.strong };
  }

  /**
   * Shows a record, which may have grown, at a turn.
   * @param {MatchRecord} record
   * @param {Turn | null} turn
   */
  show(record, turn) {
    if (record !== this.record) {
      this.fit("time");
      this.fit("turns");
    }
    this.record = record;
    this.turn = turn;
    if (this.isMissing) {
      fill(this.place, element("p", { class: "quiet" }, "The charts are not here: uplot.js could not be loaded."));
      return;
    }
    const figures = FIGURES.filter((figure) => figure.exists(record));
    if (figures.map(({ id }) => id).join() !== this.cards.map(({ figure }) => figure.id).join()) this.setUp(figures);
    this.refresh();
  }

  /** @param {Figure[]} figures */
  setUp(figures) {
    this.sight.disconnect();
    this.sizes.disconnect();
    for (const card of this.cards) card.chart.plot?.destroy();
    this.cards = figures.map((figure) => this.cardOf(figure));
    fill(
      this.place,
      this.cards.length === 0 && element("p", { class: "quiet" }, "There are no figures yet."),
      this.cards.map((card) => card.frame),
    );
    for (const card of this.cards) {
      this.sight.observe(card.frame);
      this.sizes.observe(card.chart);
    }
  }

  /** @param {Figure} figure */
  cardOf(figure) {
    const title = element("h3", { id: `title-${figure.id}` }, figure.title, element("small", null, noteOf(figure, this.record)));
    /**
     * @param {keyof typeof ICONS} icon
     * @param {string} label
     * @param {() => void} act
     */
    const button = (icon, label, act) =>
      element(
        "button",
        { type: "button", title: label, "aria-label": `${label}: ${figure.title}`, on: { click: act } },
        drawn("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, drawn("path", { d: ICONS[icon] })),
      );
    const tools = [
      button("in", "Zoom in", () => this.zoom(card, 0.5)),
      button("out", "Zoom out", () => this.zoom(card, 2)),
      button("save", "Save as a picture", () => this.save(card)),
    ];
    const legend = element("div", { class: "chart-legend", role: "group", "aria-label": `Lines: ${figure.title}` });
    /** @type {Card["chart"]} */
    const chart = element("div", { class: "chart", id: `chart-${figure.id}` });
    const hover = element("div", { class: "chart-hover", hidden: true });
    const frame = element(
      "figure",
      { class: "card chart-card", "aria-labelledby": `title-${figure.id}` },
      element("div", { class: "chart-head" }, title, element("div", { class: "chart-tools" }, tools)),
      legend,
      chart,
    );
    /** @type {Card} */
    const card = {
      figure,
      frame,
      legend,
      chart,
      hover,
      isSeen: false,
      isStale: true,
      hidden: new Set(),
      heights: {},
      key: null,
      traces: [],
      data: [[]],
      scope: null,
    };
    return card;
  }

  /** @param {IntersectionObserverEntry[]} entries */
  seen(entries) {
    for (const entry of entries) {
      const card = this.cards.find((card) => card.frame === entry.target);
      if (card === undefined) continue;
      card.isSeen = entry.isIntersecting;
      if (card.isSeen && card.isStale) this.draw(card);
    }
  }

  /**
   * The chosen turn is another one.
   * @param {Turn | null} turn
   */
  setTurn(turn) {
    if (turn === this.turn) return;
    this.turn = turn;
    if (this.scope !== null) this.setScope(turn);
    else for (const card of this.cards) this.renew(card, (plot) => plot.redraw(false));
  }

  /**
   * One turn alone, or the whole match (null).
   * @param {Turn | null} turn
   */
  setScope(turn) {
    this.scope = turn;
    this.fit("time");
    this.refresh();
  }

  /**
   * Forgets what somebody has zoomed to.
   * @param {Figure["over"]} over
   */
  fit(over) {
    this.spans[over] = null;
    for (const card of this.cards) if (card.figure.over === over) card.heights = {};
  }

  refresh() {
    const place = this.record?.roles.indexOf(this.record.role ?? "") ?? -1;
    this.own = place < 0 ? null : lineColour(place);
    for (const card of this.cards) this.renew(card, () => this.draw(card));
  }

  /**
   * Does something with a chart now if it is seen; otherwise it is drawn once it is.
   * @param {Card} card
   * @param {(plot: uPlot) => void} act
   */
  renew(card, act) {
    if (!card.isSeen) card.isStale = true;
    else if (card.chart.plot === undefined) this.draw(card);
    else act(card.chart.plot);
  }

  /** @param {Card} card */
  draw(card) {
    if (this.UPlot === null || this.record === null) return;
    const { figure, chart } = card;
    const scope = figure.over === "time" ? this.scope : null;
    const { traces, axes } = figure.build(this.record, scope);
    const data = aligned(traces, card.hidden);
    Object.assign(card, { traces, scope, data, isStale: false });
    const names = traces.map(({ name }) => name);
    const key = JSON.stringify([names, axes, this.dark.matches, [...card.hidden]]);
    if (card.key === key && chart.plot !== undefined) {
      chart.plot.setData(data);
      return;
    }
    card.key = key;
    chart.plot?.destroy();
    const plot = new this.UPlot(this.optionsOf(this.UPlot, card, axes), data, chart);
    chart.plot = plot;
    plot.over.append(card.hover);
    plot.over.addEventListener("click", (event) => this.clicked(card, plot, event));
    /** @type {HTMLElement | null} */
    const across = chart.querySelector(".u-axis");
    across?.classList.add("across");
    across?.addEventListener("pointerdown", (event) => this.pan(card, across, event));
    refill(card.legend, traces.length > 1 && traces.map((trace) => this.legendEntry(card, trace)));
  }

  /**
   * @param {typeof uPlot} UPlot
   * @param {Card} card
   * @param {ChartAxes} axes
   * @returns {uPlot.Options}
   */
  optionsOf(UPlot, card, axes) {
    const { palette } = this;
    const { figure, chart, traces } = card;
    const frame = frameOf(figure, axes, palette, () => card.heights);
    return {
      ...frame,
      width: chart.clientWidth,
      height: HEIGHT,
      legend: { show: false },
      scales: { ...frame.scales, x: { time: false, range: () => this.spanOf(card) } },
      series: [{}, ...traces.map((trace) => seriesOf(UPlot, card, trace, palette))],
      bands: bandsOf(card, palette),
      cursor: {
        y: false,
        // A box where it is dragged across and down, otherwise a strip.
        drag: { x: true, y: true, uni: 30, dist: 5, setScale: false },
        hover: { prox: figure.over === "time" ? HOVER_REACH : null, skip: [null, undefined] },
        points: { size: 7 },
        bind: {
          dblclick: () => () => {
            this.zoomTo(card, null);
            return null;
          },
        },
      },
      hooks: {
        drawClear: [(plot) => this.drawTurns(card, plot)],
        setCursor: [(plot) => this.showHover(card, plot)],
        setSelect: [(plot) => this.selected(card, plot)],
      },
    };
  }

  /**
   * @param {Card} card
   * @param {Trace} trace
   */
  legendEntry(card, trace) {
    /** @param {string} name */
    const isShown = (name) => !card.hidden.has(name);
    /** @param {string} name */
    const isOwn = (name) => name === trace.name;
    const names = card.traces.map(({ name }) => name);
    /** @param {(name: string) => boolean} isWanted */
    const show = (isWanted) => {
      card.hidden = new Set(names.filter((name) => !isWanted(name)));
      this.draw(card);
    };
    return element(
      "button",
      {
        type: "button",
        "aria-pressed": String(isShown(trace.name)),
        title: "Click: show or hide. Double click: show alone, or all.",
        on: {
          click: () => show((name) => isShown(name) !== isOwn(name)),
          dblclick: () => show(names.every((name) => isShown(name) === isOwn(name)) ? () => true : isOwn),
        },
      },
      swatch(trace, this.palette),
      trace.name,
    );
  }

  /**
   * Which span the horizontal axis shows.
   * @param {Card} card
   */
  spanOf(card) {
    return this.spans[card.figure.over] ?? this.wholeOf(card);
  }

  /** The turns with their times; none while there is no record. */
  get times() {
    return this.record === null ? [] : turnTimes(this.record);
  }

  /**
   * @param {Card} card
   * @returns {Span}
   */
  wholeOf({ figure, scope, data: [xs] }) {
    const turn = scope === null ? undefined : this.times.find(({ step }) => step === scope.step);
    if (turn !== undefined && turn.to > turn.from) return [onAxis(turn.from), onAxis(turn.to)];
    const [from, to] = [xs[0] ?? 0, xs.at(-1) ?? 1];
    if (figure.over === "turns") return [Math.ceil(from) - 0.5, Math.floor(to) + 0.5];
    const margin = (to - from || 1) / 100;
    return [from - margin, to + margin];
  }

  /**
   * Shows a span on this chart and on all with the same axis; null is everything.
   * @param {Card} card
   * @param {Span | null} span
   */
  zoomTo(card, span) {
    const { over } = card.figure;
    this.spans[over] = span;
    if (span === null) card.heights = {};
    for (const other of this.cards) {
      if (other.figure.over === over) this.renew(other, (plot) => plot.setData(plot.data));
    }
  }

  /**
   * @param {Card} card
   * @param {number} factor
   */
  zoom(card, factor) {
    const [[from, to], [first, last]] = [this.spanOf(card), this.wholeOf(card)];
    const [middle, reach] = [(from + to) / 2, ((to - from) / 2) * factor];
    this.zoomTo(card, factor > 1 && 2 * reach >= last - first ? null : [middle - reach, middle + reach]);
  }

  /**
   * Somebody has dragged over a part of the chart.
   * @param {Card} card
   * @param {uPlot} plot
   */
  selected(card, plot) {
    const { left, top, width, height } = plot.select;
    if (width === 0 || height === 0) return;
    if (height < plot.over.clientHeight) {
      for (const scale of /** @type {const} */ (["left", "right"])) {
        card.heights[scale] = [plot.posToVal(top + height, scale), plot.posToVal(top, scale)];
      }
    }
    /** @type {Span} */
    const span =
      width < plot.over.clientWidth ? [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")] : this.spanOf(card);
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.zoomTo(card, span);
  }

  /**
   * Moves the span along while the axis is dragged.
   * @param {Card} card
   * @param {HTMLElement} axis
   * @param {PointerEvent} down
   */
  pan(card, axis, down) {
    const [from, to] = this.spanOf(card);
    axis.setPointerCapture(down.pointerId);
    axis.onpointermove = ({ clientX }) => {
      const width = card.chart.plot?.over.clientWidth ?? 1;
      const by = ((down.clientX - clientX) / width) * (to - from);
      this.zoomTo(card, [from + by, to + by]);
    };
    axis.onlostpointercapture = () => (axis.onpointermove = null);
  }

  /**
   * Lines where turns begin, and a band for the chosen one.
   * @param {Card} card
   * @param {uPlot} plot
   */
  drawTurns({ figure }, plot) {
    const { ctx, bbox } = plot;
    /** @param {number} value */
    const at = (value) => plot.valToPos(value, "x", true);
    /**
     * @param {number} from
     * @param {number} to
     */
    const band = (from, to) => {
      ctx.fillStyle = this.palette.band;
      ctx.globalAlpha = 0.13;
      ctx.fillRect(at(from), bbox.top, at(to) - at(from), bbox.height);
    };
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    if (figure.over === "turns") {
      if (this.turn !== null) band(this.turn.step - 0.5, this.turn.step + 0.5);
    } else if (this.scope === null) {
      const { times } = this;
      const stride = Math.ceil((times.length * MARK_SPACE) / plot.over.clientWidth);
      ctx.strokeStyle = this.palette.marks;
      ctx.lineWidth = devicePixelRatio;
      ctx.setLineDash([devicePixelRatio, 3 * devicePixelRatio]);
      ctx.beginPath();
      for (let index = 1; index < times.length; index += stride) {
        const x = at(onAxis(times[index].from));
        ctx.moveTo(x, bbox.top);
        ctx.lineTo(x, bbox.top + bbox.height);
      }
      ctx.stroke();
      const chosen = times.find(({ step }) => step === this.turn?.step);
      if (chosen !== undefined) band(onAxis(chosen.from), onAxis(chosen.to));
    }
    ctx.restore();
  }

  /**
   * Says what the points near the pointer are, beside it.
   * @param {Card} card
   * @param {uPlot} plot
   */
  showHover({ figure, traces, hover }, plot) {
    const { left = -1, idxs = [] } = plot.cursor;
    const found = traces.flatMap((trace, index) => {
      const place = left < 0 || !plot.series[index + 1].show ? null : idxs[index + 1];
      return place == null ? [] : [{ trace, x: plot.data[0][place] }];
    });
    hover.hidden = found.length === 0;
    if (hover.hidden) return;
    fill(
      hover,
      element("b", null, figure.over === "time" ? time(found[0].x) : `turn ${found[0].x}`),
      found.map(({ trace, x }) =>
        element("div", null, swatch(trace, this.palette), `${trace.name}: ${trace.text[trace.x.indexOf(x)]}`),
      ),
    );
    const [width, room] = [hover.offsetWidth, plot.over.clientWidth];
    const beside = left + 12 + width <= room ? left + 12 : left - 12 - width;
    hover.style.left = `${Math.max(0, Math.min(room - width, beside))}px`;
  }

  /**
   * @param {Card} card
   * @param {uPlot} plot
   * @param {MouseEvent} event
   */
  clicked({ figure }, plot, event) {
    const x = plot.posToVal(event.clientX - plot.over.getBoundingClientRect().left, "x");
    const turn =
      figure.over === "turns"
        ? this.record?.turns.find(({ step }) => step === Math.round(x))
        : this.times.findLast(({ from }) => onAxis(from) <= x);
    if (turn !== undefined) this.choose(turn.step);
  }

  /**
   * Saves what a chart shows, with its title and the names of its lines.
   * @param {Card} card
   */
  save({ figure, frame, chart, traces, hidden }) {
    const canvas = chart.plot?.ctx.canvas;
    if (canvas === undefined) return;
    const head = 48;
    const picture = element("canvas", { width: canvas.width, height: canvas.height + head * devicePixelRatio });
    const ctx = /** @type {CanvasRenderingContext2D} */ (picture.getContext("2d"));
    ctx.fillStyle = getComputedStyle(frame).backgroundColor;
    ctx.fillRect(0, 0, picture.width, picture.height);
    ctx.drawImage(canvas, 0, head * devicePixelRatio);
    ctx.scale(devicePixelRatio, devicePixelRatio);
    ctx.fillStyle = this.palette.text;
    ctx.font = `bold ${FONT}`;
    ctx.fillText(figure.title, 12, 18);
    ctx.font = FONT;
    let x = 12;
    for (const trace of traces.filter(({ name }) => !hidden.has(name))) {
      ctx.fillStyle = colourOf(trace, this.palette);
      ctx.fillRect(x, 29, 10, 10);
      ctx.fillStyle = this.palette.text;
      ctx.fillText(trace.name, x + 14, 38);
      x += 28 + ctx.measureText(trace.name).width;
    }
    element("a", { href: picture.toDataURL(), download: `${figure.id}.png` }).click();
  }
}

/**
 * @param {Figure} figure
 * @param {MatchRecord | null} record
 */
function noteOf({ note }, record) {
  if (typeof note === "string") return note;
  return record === null ? "" : note(record);
}
