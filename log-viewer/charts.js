// Draws a match's figures with plotly.js, which is loaded on demand and optional. A chart is drawn
// when it becomes visible, and again when its record, its scope, the theme or the chosen turn
// changes. The chosen turn is a band behind the lines. A click on a chart chooses the turn under
// the pointer. All charts over time share one span: zooming one zooms all.

import { FIGURES, onAxis, turnTimes } from "./figures.js";
import { element, fill } from "./page.js";

const PALETTES = {
  light: {
    lines: [
      "#2f6bd8",
      "#d9700d",
      "#168a56",
      "#8a4fd0",
      "#c2376f",
      "#0f8aa0",
      "#8d6b10",
      "#5c6878",
      "#a33b3b",
      "#5b7d17",
      "#3f51b5",
      "#99582a",
    ],
    strong: "#1b2430",
    text: "#46515f",
    grid: "#e2e6eb",
    marks: "#c3cad3",
    band: "#2f6bd8",
    hover: "#ffffff",
  },
  dark: {
    lines: [
      "#6ea2ff",
      "#ffa24d",
      "#4fc98d",
      "#bd92f5",
      "#f07cab",
      "#4fc3d6",
      "#d9b44a",
      "#9aa7b8",
      "#e98080",
      "#a5c95a",
      "#8c9eff",
      "#d19a66",
    ],
    strong: "#eef2f7",
    text: "#a9b4c2",
    grid: "#2b323c",
    marks: "#3d4753",
    band: "#6ea2ff",
    hover: "#1d232b",
  },
};

/** More marks than this are no help to anyone: then every second turn has one, or every third. */
const MOST_MARKS = 60;

export class Charts {
  /** `choose(step)` is called when somebody clicks on a turn. */
  constructor(place, choose) {
    this.place = place;
    this.choose = choose;
    this.record = null;
    this.turn = null;
    this.scope = null;
    /** The span of time that somebody has zoomed to, or null. */
    this.span = null;
    this.cards = [];
    this.plotly = null;
    this.isLoading = false;
    this.isMissing = false;
    this.dark = window.matchMedia("(prefers-color-scheme: dark)");
    this.dark.addEventListener("change", () => this.refresh());
    this.sight = new IntersectionObserver((entries) => this.seen(entries), { rootMargin: "150px" });
  }

  /** Begins to load plotly.js. It is large, and getting it to run takes longer than everything else on the page. */
  load() {
    if (this.isLoading) return;
    this.isLoading = true;
    const loaded = () => {
      this.plotly = window.Plotly ?? null;
      this.isMissing = this.plotly === null;
      if (this.record !== null) this.show(this.record, this.turn);
    };
    const on = { load: loaded, error: loaded };
    document.head.append(element("script", { src: "/assets/plotly.min.js", on }));
  }

  /** Shows a record, which may have grown, at a turn. */
  show(record, turn) {
    this.record = record;
    this.turn = turn;
    if (this.isMissing) {
      fill(this.place, element("p", { class: "quiet" }, "The charts are not here: plotly.min.js could not be loaded."));
      return;
    }
    const figures = FIGURES.filter((figure) => figure.exists(record));
    if (figures.map(({ id }) => id).join() !== this.cards.map(({ figure }) => figure.id).join()) this.setUp(figures);
    this.refresh();
  }

  setUp(figures) {
    for (const card of this.cards) {
      this.sight.unobserve(card.frame);
      // A chart that is still being drawn would stumble over its end.
      card.drawing?.then(() => this.plotly.purge(card.chart));
    }
    this.cards = figures.map((figure) => {
      const chart = element("div", { class: "chart", id: `chart-${figure.id}` });
      const title = element("h3", { id: `title-${figure.id}` }, figure.title, element("small", null, figure.note));
      const frame = element(
        "figure",
        { class: "card chart-card", "aria-labelledby": `title-${figure.id}` },
        title,
        chart,
      );
      return { figure, frame, chart, isSeen: false, isDrawn: false, isStale: true, drawing: null };
    });
    fill(
      this.place,
      this.cards.length === 0 && element("p", { class: "quiet" }, "There are no figures yet."),
      this.cards.map((card) => card.frame),
    );
    for (const card of this.cards) this.sight.observe(card.frame);
  }

  seen(entries) {
    for (const entry of entries) {
      const card = this.cards.find((card) => card.frame === entry.target);
      if (card === undefined) continue;
      card.isSeen = entry.isIntersecting;
      if (card.isSeen && card.isStale) this.draw(card);
    }
  }

  /** The chosen turn is another one. */
  setTurn(turn) {
    if (turn === this.turn) return;
    this.turn = turn;
    if (this.scope !== null) this.setScope(turn);
    else for (const card of this.cards) this.mark(card);
  }

  /** One turn alone, or the whole match (null). */
  setScope(turn) {
    this.scope = turn;
    this.span = null;
    this.refresh();
  }

  refresh() {
    for (const card of this.cards) {
      card.isStale = true;
      if (card.isSeen) this.draw(card);
    }
  }

  draw(card) {
    if (this.plotly === null || this.record === null) return;
    const { figure, chart } = card;
    const scope = figure.over === "time" ? this.scope : null;
    const { traces, axes } = figure.build(this.record, scope);
    const palette = this.dark.matches ? PALETTES.dark : PALETTES.light;
    const data = traces.map((trace) => styled(trace, palette));
    const layout = layoutOf(figure, axes, palette, traces, scope);
    if (figure.over === "time") Object.assign(layout.xaxis, this.spanOf(scope));
    layout.shapes = this.shapes(figure, palette);
    card.drawing = this.plotly.react(chart, data, layout, {
      responsive: true,
      displaylogo: false,
      modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
    });
    if (!card.isDrawn) {
      chart.on("plotly_click", (event) => this.clicked(figure, event.points[0]));
      if (figure.over === "time") chart.on("plotly_relayout", (event) => this.zoomed(event));
      card.isDrawn = true;
    }
    card.isStale = false;
  }

  /** Which span the axis of time shows. */
  spanOf(scope) {
    const uirevision = JSON.stringify([this.span, scope?.step ?? null]);
    if (this.span !== null) return { range: this.span, autorange: false, uirevision };
    const turn = scope === null ? undefined : turnTimes(this.record).find(({ step }) => step === scope.step);
    if (turn === undefined) return { autorange: true, uirevision };
    return { range: [onAxis(turn.from), onAxis(turn.to)], autorange: false, uirevision };
  }

  zoomed(event) {
    if (event["xaxis.autorange"] === true) this.span = null;
    else if (event["xaxis.range[0]"] !== undefined) this.span = [event["xaxis.range[0]"], event["xaxis.range[1]"]];
    else return;
    for (const other of this.cards) {
      if (other.figure.over !== "time") continue;
      other.isStale = true;
      if (other.isSeen) this.draw(other);
    }
  }

  mark(card) {
    if (!card.isDrawn) return;
    if (!card.isSeen) {
      card.isStale = true;
      return;
    }
    const palette = this.dark.matches ? PALETTES.dark : PALETTES.light;
    this.plotly.relayout(card.chart, { shapes: this.shapes(card.figure, palette) });
  }

  /** Lines where turns begin, and a band for the chosen one. */
  shapes(figure, palette) {
    if (figure.over === "turns") {
      return this.turn === null ? [] : [band(this.turn.step - 0.5, this.turn.step + 0.5, palette)];
    }
    if (this.scope !== null) return [];
    const shapes = [];
    const times = turnTimes(this.record);
    const stride = Math.ceil(times.length / (isNarrow() ? MOST_MARKS / 3 : MOST_MARKS));
    for (let index = 1; index < times.length; index += stride) {
      const x = onAxis(times[index].from);
      const line = { color: palette.marks, width: 1, dash: "dot" };
      shapes.push({ type: "line", xref: "x", yref: "paper", x0: x, x1: x, y0: 0, y1: 1, layer: "below", line });
    }
    const chosen = times.find(({ step }) => step === this.turn?.step);
    if (chosen !== undefined) shapes.push(band(onAxis(chosen.from), onAxis(chosen.to), palette));
    return shapes;
  }

  clicked(figure, point) {
    if (point === undefined) return;
    if (figure.over === "turns") this.choose(Math.round(Number(point.x)));
    else {
      const at = point.data.x[point.pointIndex];
      const turn = turnTimes(this.record).findLast(({ from }) => onAxis(from) <= at);
      if (turn !== undefined) this.choose(turn.step);
    }
  }
}

function band(from, to, palette) {
  return {
    type: "rect",
    xref: "x",
    yref: "paper",
    x0: from,
    x1: to,
    y0: 0,
    y1: 1,
    layer: "below",
    fillcolor: palette.band,
    opacity: 0.13,
    line: { width: 0 },
  };
}

function styled(trace, palette) {
  const colour = trace.colour === "strong" ? palette.strong : palette.lines[trace.colour % palette.lines.length];
  const style = {
    name: escaped(trace.name),
    x: trace.x,
    y: trace.y,
    text: trace.text.map(escaped),
    hovertemplate: `%{text}<extra>${escaped(trace.name)}</extra>`,
    yaxis: trace.right ? "y2" : "y",
  };
  if (trace.bars) return { ...style, type: "bar", textposition: "none", marker: { color: colour } };
  if (trace.points)
    return {
      ...style,
      type: "scatter",
      mode: "markers",
      marker: { color: colour, size: trace.x.length > 60 ? 4 : 7, symbol: "diamond" },
    };
  const line = { color: colour, width: trace.colour === "strong" ? 2.4 : 1.5, dash: trace.dashed ? "dash" : "solid" };
  const filled = trace.filled ? { fill: "tozeroy", fillcolor: `${colour}26` } : {};
  const stacked = trace.stacked ? { stackgroup: "one", fillcolor: `${colour}99` } : {};
  // A line of one point would not be seen.
  const mode = trace.x.length < 3 && !trace.stacked ? "lines+markers" : "lines";
  return { ...style, type: "scatter", mode, line, ...filled, ...stacked };
}

/** A text that plotly.js shows as it is: it takes some markup for what it means. */
function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function layoutOf(figure, axes, palette, traces, scope) {
  const axis = {
    gridcolor: palette.grid,
    linecolor: palette.grid,
    zeroline: false,
    automargin: true,
    tickcolor: palette.grid,
  };
  const share = { tickformat: ".1~%" };
  const layout = {
    height: 270,
    margin: { l: 48, r: axes.right ? 48 : 14, t: 8, b: 30 },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: "system-ui, sans-serif", size: 12, color: palette.text },
    hovermode: "x unified",
    hoverlabel: { bgcolor: palette.hover, bordercolor: palette.marks, font: { color: palette.strong } },
    showlegend: traces.length > 1 && !(isNarrow() && traces.length > 6),
    legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, font: { size: 11 }, itemwidth: 30 },
    modebar: { orientation: "v", bgcolor: "rgba(0,0,0,0)", color: palette.marks, activecolor: palette.band },
    dragmode: window.matchMedia("(pointer: coarse)").matches ? false : "zoom",
    // Zoom and hidden lines stay as long as it is the same picture.
    uirevision: `${figure.id} ${scope?.step ?? "all"}`,
    xaxis:
      figure.over === "time"
        ? { ...axis, ...timeAxis() }
        : { ...axis, title: { text: "turn", standoff: 4 }, tickformat: "d" },
    yaxis: {
      ...axis,
      title: { text: axes.left, standoff: 6 },
      rangemode: "tozero",
      ...(axes.leftIsShare ? share : {}),
    },
  };
  if (axes.isGoal) Object.assign(layout.yaxis, { range: [-3, 103], dtick: 25 });
  if (axes.right) {
    const right = {
      ...axis,
      title: { text: axes.right, standoff: 6 },
      overlaying: "y",
      side: "right",
      showgrid: false,
      rangemode: "tozero",
    };
    layout.yaxis2 = { ...right, ...(axes.rightIsShare ? share : {}) };
  }
  return layout;
}

function isNarrow() {
  return window.innerWidth < 600;
}

function timeAxis() {
  return {
    type: "date",
    tickangle: 0,
    nticks: isNarrow() ? 4 : 8,
    hoverformat: "%-H:%M:%S",
    tickformatstops: [
      { dtickrange: [null, 1000], value: "%-M:%S.%2f" },
      { dtickrange: [1000, 3_600_000], value: "%-H:%M:%S" },
      { dtickrange: [3_600_000, null], value: "%-H:%M" },
    ],
  };
}
