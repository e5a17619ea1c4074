/** The page: a film, a stage to show it on, plots below, and the player that goes through it. */

import { Vector3 } from "three";
import { Film } from "film";
import { follow } from "live";
import { Marks } from "marks";
import { Panel } from "panel";
import { Plots } from "plots";
import { Shapes } from "shapes";
import { Stage } from "stage";

const KEPT = 6000; // moments of a running environment
const LAG = 0.05; // of the picture behind a running environment, so that it moves evenly [s]
const SELDOM = 150; // how often all but the scene is drawn where there is no graphics card [ms]
const REDRAWN = 400; // how often plots of a running environment are drawn anew [ms]

class Player {
  constructor(scene) {
    this.live = Boolean(scene.live);
    this.film = new Film(scene, this.live ? KEPT : Infinity);
    this.stage = new Stage(document.getElementById("view"), this.film);
    this.shapes = new Shapes(this.film, this.stage.scene, this.stage.terrain);
    this.marks = new Marks(this.film, this.stage.scene);
    const seek = (time) => this.seek(time);
    this.plots = new Plots(document.getElementById("plots"), this.film, seek);
    this.time = this.film.first;
    this.speed = 1;
    this.playing = true;
    this.stale = true; // whether the scene must be put where `time` is
    this.drawnPlots = 0;
    this.told = { at: 0, text: "" };
    this.focus = new Vector3();
    this.panel = new Panel(this, this.live);
    const watcher = new ResizeObserver(() => this.layOut());
    watcher.observe(document.getElementById("stage"));
    watcher.observe(document.getElementById("plots"));
    if (this.live) follow(this, this.panel, scene.live);
    this.facts = document.getElementById("facts");
    requestAnimationFrame((now) => this.tick(now, now));
  }

  // What the controls do

  toggle() {
    if (!this.playing && !this.live && this.time >= this.film.last) this.time = this.film.first;
    this.playing = !this.playing;
    this.refresh();
  }

  seek(time) {
    this.playing = false;
    this.time = Math.min(Math.max(time, this.film.first), this.film.last);
    this.refresh();
  }

  step(count) {
    const { frame, share } = this.film.locate(this.time);
    const wanted = frame + count + (count < 0 && share > 0 ? 1 : 0);
    const at = Math.min(Math.max(wanted, 0), this.film.length - 1);
    if (at >= 0) this.seek(this.film.time.data[at]);
  }

  dress(name) {
    this.stage.dress(name);
    this.plots.theme = name;
    this.layOut();
  }

  layOut() {
    this.stage.resize();
    this.layOutPlots();
  }

  layOutPlots() {
    this.plots.redraw();
    this.told.at = 0; // the cursors are gone, too
    this.refresh();
  }

  refresh() {
    this.stale = true;
  }

  // A running environment

  begin() {
    this.time = 0;
    this.refresh();
  }

  grown() {
    const now = performance.now();
    if (now - this.drawnPlots < REDRAWN) return;
    this.drawnPlots = now;
    this.layOutPlots();
  }

  // Time passes

  tick(now, before) {
    requestAnimationFrame((next) => this.tick(next, now));
    const took = Math.min(0.001 * (now - before), 0.25);
    if (this.playing) this.advance(took);
    if (this.stale && this.film.length) this.place();
    this.stage.draw(0.001 * (now - before));
  }

  advance(took) {
    const { first, last } = this.film;
    if (this.live) {
      // At the world's pace, a little behind; what is far behind catches up
      const wanted = last - LAG;
      const next = this.time + took;
      this.time = Math.max(Math.abs(next - wanted) > 5 * LAG ? wanted : Math.min(next, last), first);
    } else {
      this.time += took * this.speed;
      if (this.time >= last) {
        this.time = last;
        this.playing = false;
      }
    }
    this.refresh();
  }

  /** Put everything where it is at `time`. */
  place() {
    this.stale = false;
    const place = this.film.locate(this.time);
    this.shapes.update(place);
    this.marks.update(place, this.time);
    this.stage.goTo(this.film.point("focus", place, this.focus));
    this.stage.changed = true;
    const now = performance.now();
    if (this.playing && this.stage.soft && now - this.told.at < SELDOM) return;
    this.told.at = now;
    this.plots.point(this.time, place.frame);
    this.panel.update();
    this.tell(place);
  }

  /** Readings in the corner: those that are one number, and the number with its command. */
  tell({ frame }) {
    const words = [];
    this.film.scene.plots.forEach((plot, k) => {
      const { width, data } = this.film.readings[k];
      if (width > 2 || plot.log || words.length > 2) return;
      const values = Array.from(data.subarray(frame * width, (frame + 1) * width));
      if (!values.every(Number.isFinite)) return;
      const digits = plot.unit === "N" ? 0 : 2;
      words.push([plot.name, `${values.map((x) => x.toFixed(digits)).join(" / ")} ${plot.unit}`]);
    });
    const text = words.map((pair) => pair.join("\n")).join("\n");
    if (text === this.told.text) return;
    this.told.text = text;
    this.facts.replaceChildren(
      ...words.map(([name, value]) => {
        const group = document.createElement("div");
        const [term, description] = [document.createElement("dt"), document.createElement("dd")];
        term.textContent = name;
        description.textContent = value;
        group.append(term, description);
        return group;
      })
    );
  }
}

export function start(scene) {
  window.dynenvs = new Player(scene);
}
