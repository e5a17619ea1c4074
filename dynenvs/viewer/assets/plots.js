/** Readings over time: small plots on canvases, with a cursor that goes with the player. */

const COLORS = {
  light: ["#2f6fd0", "#e0662e", "#2b9a6f", "#8e56b8", "#c79a1b", "#cf4863", "#3c97a8", "#6d7686"],
  dark: ["#6aa8ff", "#ff9a62", "#5ccf9f", "#c394ee", "#ecc453", "#ff7f97", "#67c8da", "#a9b3c4"],
};
const MOST_LINES = 12; // of a plot that are named
const LEFT = 46; // room for the numbers of the axis [px]

/** Round numbers between two ends, about `count` of them. */
function ticks(low, high, count) {
  const raw = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((k) => k * power).find((k) => k >= raw);
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high + 1e-9 * step; k++) found.push(k * step);
  return found;
}

const spoken = (x) => {
  if (x === 0) return "0";
  const size = Math.abs(x);
  return size >= 1e4 || size < 1e-3 ? x.toExponential(0) : String(Number(x.toPrecision(3)));
};

class Plot {
  constructor(parent, film, index, seek) {
    this.film = film;
    this.index = index;
    this.plot = film.scene.plots[index];
    this.element = document.createElement("figure");
    const caption = document.createElement("figcaption");
    caption.innerHTML = '<b></b> <small></small><span class="value"></span>';
    caption.querySelector("b").textContent = this.plot.name;
    caption.querySelector("small").textContent = this.plot.unit;
    this.value = caption.querySelector(".value");
    this.canvas = document.createElement("canvas");
    this.element.append(caption, this.canvas);
    parent.append(this.element);
    this.lines = document.createElement("canvas"); // what does not move
    const point = (event) => {
      const box = this.canvas.getBoundingClientRect();
      const share = (event.clientX - box.left - LEFT) / (box.width - LEFT - 6);
      seek(this.start + Math.min(Math.max(share, 0), 1) * (this.stop - this.start));
    };
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      point(event);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (event.buttons) point(event);
    });
  }

  /** The range of all numbers, with room; of logarithms if the axis is one. */
  range() {
    const rows = this.film.readings[this.index];
    let low = Infinity;
    let high = -Infinity;
    for (let i = 0; i < rows.used; i++) {
      const value = this.height(rows.data[i]);
      if (!Number.isFinite(value)) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
    if (low > high) return [0, 1];
    if (this.plot.log) return [Math.floor(low), Math.max(Math.ceil(high), Math.floor(low) + 1)];
    const room = 0.08 * (high - low) || 0.5 * Math.abs(high) || 1;
    return [low - room, high + room];
  }

  height(value) {
    return this.plot.log ? Math.log10(Math.max(value, 1e-18)) : value;
  }

  /** Draw all that does not move with the cursor. */
  redraw(theme) {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (!width) return;
    const ratio = Math.min(window.devicePixelRatio, 2);
    for (const canvas of [this.canvas, this.lines]) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    Object.assign(this, { width, tall: height, ratio, theme });
    this.start = this.film.first;
    this.stop = Math.max(this.film.last, this.start + 1e-9);
    const [low, high] = this.range();
    this.x = (time) => LEFT + ((time - this.start) / (this.stop - this.start)) * (width - LEFT - 6);
    this.y = (value) => height - 8 - ((value - low) / (high - low)) * (height - 16);
    const pen = this.lines.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.font = "11px system-ui, sans-serif";
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    const [faint, text] = theme === "dark" ? ["#ffffff18", "#9aa7b8"] : ["#00000014", "#68758a"];
    for (const tick of ticks(low, high, 4)) {
      if (this.plot.log && tick !== Math.round(tick)) continue;
      pen.fillStyle = text;
      pen.fillText(this.plot.log ? `1e${tick}` : spoken(tick), LEFT - 7, this.y(tick));
      pen.fillStyle = faint;
      pen.fillRect(LEFT, Math.round(this.y(tick)), width - LEFT - 6, 1);
    }
    this.plot.lines.forEach((_, line) => this.curve(pen, line));
  }

  curve(pen, line) {
    const rows = this.film.readings[this.index];
    const { data: time } = this.film.time;
    const every = Math.max(1, Math.floor(this.film.length / (2 * this.width)));
    const command = this.plot.lines[line] === "command";
    pen.strokeStyle = this.color(line);
    pen.lineWidth = this.plot.lines.length > 4 ? 1.1 : 1.6;
    pen.setLineDash(command ? [5, 4] : []);
    pen.lineJoin = "round";
    pen.beginPath();
    let drawing = false;
    for (let i = 0; i < this.film.length; i += every) {
      const value = this.height(rows.data[i * rows.width + line]);
      if (Number.isFinite(value)) {
        const [x, y] = [this.x(time[i]), this.y(value)];
        if (drawing) pen.lineTo(x, y);
        else pen.moveTo(x, y);
      }
      drawing = Number.isFinite(value);
    }
    pen.stroke();
    pen.setLineDash([]);
  }

  color(line) {
    const colors = COLORS[this.theme];
    return colors[line % colors.length];
  }

  /** The lines, and the cursor at a time. */
  point(time, frame) {
    if (!this.width) return;
    const pen = this.canvas.getContext("2d");
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    pen.drawImage(this.lines, 0, 0);
    pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    const x = this.x(time);
    pen.fillStyle = this.theme === "dark" ? "#ffffffb0" : "#26303fa0";
    pen.fillRect(x - 0.6, 4, 1.2, this.tall - 8);
    const rows = this.film.readings[this.index];
    const values = [];
    for (let line = 0; line < Math.min(rows.width, MOST_LINES); line++) {
      const value = rows.data[frame * rows.width + line];
      values.push(value);
      pen.fillStyle = this.color(line);
      pen.beginPath();
      pen.arc(x, this.y(this.height(value)), 2.6, 0, 7);
      pen.fill();
    }
    const few = values.length <= 3 ? values : [];
    this.value.textContent = few.map((value) => spoken(Number(value.toPrecision(3)))).join(" / ");
  }
}

export class Plots {
  constructor(parent, film, seek) {
    this.parent = parent;
    this.film = film;
    this.seek = seek;
    this.open = new Map();
    this.theme = "light";
  }

  toggle(index, on) {
    if (on && !this.open.has(index)) {
      this.open.set(index, new Plot(this.parent, this.film, index, this.seek));
    } else if (!on && this.open.has(index)) {
      this.open.get(index).element.remove();
      this.open.delete(index);
    }
    this.parent.hidden = this.open.size === 0;
  }

  redraw() {
    for (const plot of this.open.values()) plot.redraw(this.theme);
  }

  point(time, frame) {
    for (const plot of this.open.values()) plot.point(time, frame);
  }
}
