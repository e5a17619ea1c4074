/** The controls: play, scrub, speed, what is shown, plots, dark or light, keys. */

const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4];
const MARKS = {
  forces: ["Forces", "f"],
  cones: ["Friction cones", "k"],
  centre: ["Centre of mass", "m"],
  footsteps: ["Footsteps", "t"],
};
const FIRST = { forces: true, cones: false, centre: false, footsteps: true };
const KEYS = [
  ["space", "play, pause"],
  ["← →", "a step back, on"],
  ["home, end", "start, end"],
  ["[ ]", "slower, faster"],
  ["f k m t", "forces, cones, centre of mass, footsteps"],
  ["g", "follow the robot"],
  ["v", "visual meshes or the shapes that touch"],
  ["0", "camera as at first"],
  ["drag, wheel", "turn, zoom (right button: move)"],
];
const LIVE_KEYS = [
  ["w s", "faster, slower"],
  ["a d", "to the left, right"],
  ["q e", "turn left, right"],
  ["p", "push the robot"],
  ["r", "begin again"],
];

const byId = (id) => document.getElementById(id);

/** A button that is on or off. */
function toggle(parent, label, key, on, change) {
  const button = document.createElement("button");
  button.className = "toggle";
  button.textContent = label;
  button.title = `${label} (${key})`;
  const set = (value) => {
    button.setAttribute("aria-pressed", String(value));
    change(value);
  };
  button.addEventListener("click", () => set(button.getAttribute("aria-pressed") !== "true"));
  parent.append(button);
  set(on);
  return button;
}

export class Panel {
  /** `player` is what the controls act on: see main.js. */
  constructor(player, live) {
    this.player = player;
    this.keys = new Map();
    this.scrub = byId("scrub");
    this.clock = byId("clock");
    this.play = byId("play");
    this.speed = byId("speed");
    this.play.addEventListener("click", () => player.toggle());
    this.scrub.addEventListener("input", () => player.seek(Number(this.scrub.value)));
    for (const speed of SPEEDS) this.speed.append(new Option(`${speed}×`, speed));
    this.speed.value = 1;
    this.speed.addEventListener("change", () => (player.speed = Number(this.speed.value)));
    this.speed.parentElement.hidden = live;
    this.makeMarks();
    this.makeChoice();
    this.makeTheme();
    this.makeHelp(live);
    this.makeKeys();
    document.body.classList.toggle("live", live);
  }

  makeMarks() {
    const { player } = this;
    const parent = byId("marks");
    for (const kind of player.marks.kinds) {
      const [label, key] = MARKS[kind];
      const first = FIRST[kind] && !(kind === "forces" && player.film.scene.crowded);
      const button = toggle(parent, label, key, first, (on) => {
        player.marks.show(kind, on);
        player.refresh();
      });
      this.keys.set(key, () => button.click());
    }
    const { follows } = player.film.scene.camera;
    const button = toggle(parent, "Follow", "g", follows, (on) => {
      player.stage.follows = on;
      if (on) player.stage.changed = true;
      player.refresh();
    });
    this.keys.set("g", () => button.click());
    if (!player.shapes.clad) return;
    const touching = toggle(parent, "Collision shapes", "v", false, (on) => {
      player.shapes.show(on);
      player.stage.changed = true;
      player.refresh();
    });
    this.keys.set("v", () => touching.click());
  }

  makeChoice() {
    const { plots, chosen } = this.player.film.scene;
    const parent = byId("plot-list");
    plots.forEach((plot, index) => {
      const label = document.createElement("label");
      const box = document.createElement("input");
      box.type = "checkbox";
      box.checked = chosen.includes(plot.name);
      label.append(box, ` ${plot.name}`);
      parent.append(label);
      const set = () => {
        this.player.plots.toggle(index, box.checked);
        this.player.layOut();
      };
      box.addEventListener("change", set);
      set();
    });
    const choice = byId("choice");
    choice.hidden = plots.length === 0;
    document.addEventListener("pointerdown", (event) => {
      if (!choice.contains(event.target)) choice.open = false;
    });
  }

  makeTheme() {
    const wanted = window.matchMedia("(prefers-color-scheme: dark)");
    const dress = (name) => {
      document.documentElement.dataset.theme = name;
      this.player.dress(name);
    };
    byId("theme").addEventListener("click", () => {
      dress(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
    });
    dress(wanted.matches ? "dark" : "light");
  }

  makeHelp(live) {
    const keys = byId("keys");
    for (const [key, what] of live ? [...LIVE_KEYS, ...KEYS] : KEYS) {
      const row = document.createElement("p");
      row.append(document.createElement("kbd"), what);
      row.firstChild.textContent = key;
      keys.append(row);
    }
    byId("help").addEventListener("click", () => (keys.hidden = !keys.hidden));
    this.keys.set("h", () => byId("help").click());
    this.keys.set("?", () => byId("help").click());
  }

  makeKeys() {
    const { player, keys } = this;
    keys.set(" ", () => player.toggle());
    keys.set("ArrowLeft", () => player.step(-1));
    keys.set("ArrowRight", () => player.step(1));
    keys.set("Home", () => player.seek(player.film.first));
    keys.set("End", () => player.seek(player.film.last));
    keys.set("[", () => this.faster(-1));
    keys.set("]", () => this.faster(1));
    keys.set("0", () => player.stage.lookHome());
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.target.tagName === "SELECT") return;
      const act = keys.get(event.key) || keys.get(event.key.toLowerCase());
      if (!act) return;
      event.preventDefault();
      act();
    });
  }

  faster(way) {
    const at = Math.min(Math.max(SPEEDS.indexOf(this.player.speed) + way, 0), SPEEDS.length - 1);
    this.player.speed = SPEEDS[at];
    this.speed.value = SPEEDS[at];
  }

  /** Say what the player does now. */
  update() {
    const { player, scrub } = this;
    const { first, last } = player.film;
    scrub.min = first;
    scrub.max = last;
    scrub.value = player.time;
    const share = last > first ? (player.time - first) / (last - first) : 1;
    scrub.style.setProperty("--share", `${100 * share}%`);
    this.clock.textContent = `${player.time.toFixed(2)} / ${last.toFixed(2)} s`;
    this.play.classList.toggle("playing", player.playing);
  }
}
