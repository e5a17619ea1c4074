/** A recording: where bodies are and what contacts carry at each moment, and between two. */

const TYPES = { f4: Float32Array, f8: Float64Array, i4: Int32Array };

/** The numbers of an array that came as text. */
export function numbers(coded) {
  const bytes = Uint8Array.from(atob(coded.data), (letter) => letter.charCodeAt(0));
  return new TYPES[coded.dtype](bytes.buffer);
}

/** An array of rows that grows at its end and may lose rows at its start. */
class Rows {
  constructor(width, Type = Float32Array) {
    this.width = width;
    this.Type = Type;
    this.data = new Type(0);
    this.used = 0;
  }

  append(values) {
    const wanted = this.used + values.length;
    if (wanted > this.data.length) {
      const larger = new this.Type(Math.max(wanted, 2 * this.data.length));
      larger.set(this.data.subarray(0, this.used));
      this.data = larger;
    }
    this.data.set(values, this.used);
    this.used = wanted;
  }

  forget(rows) {
    this.data.copyWithin(0, rows * this.width, this.used);
    this.used -= rows * this.width;
  }
}

export class Film {
  /** `scene` is the document, `keep` how many moments are kept at most. */
  constructor(scene, keep = Infinity) {
    this.scene = scene;
    this.keep = keep;
    this.bodies = scene.bodies.length;
    this.time = new Rows(1, Float64Array);
    this.position = new Rows(3 * this.bodies);
    this.quaternion = new Rows(4 * this.bodies);
    this.center = new Rows(3);
    this.focus = new Rows(3);
    this.targets = [];
    this.contacts = [];
    this.prints = scene.prints ? [...scene.prints] : [];
    this.readings = scene.plots.map((plot) => new Rows(plot.lines.length));
    if (scene.frames) this.append(scene.frames);
  }

  get length() {
    return this.time.used;
  }

  get first() {
    return this.length ? this.time.data[0] : 0;
  }

  get last() {
    return this.length ? this.time.data[this.length - 1] : 0;
  }

  append(frames) {
    for (const name of ["time", "position", "quaternion", "center", "focus"]) {
      this[name].append(numbers(frames[name]));
    }
    const targets = numbers(frames.targets);
    const counts = numbers(frames.contacts.count);
    const arrays = ["points", "normals", "forces", "friction"].map((name) => [
      name,
      numbers(frames.contacts[name]),
      name === "friction" ? 1 : 3,
    ]);
    let at = 0;
    const size = targets.length / counts.length;
    counts.forEach((count, i) => {
      const contact = { count };
      for (const [name, data, width] of arrays) {
        contact[name] = data.subarray(at * width, (at + count) * width);
      }
      this.contacts.push(contact);
      this.targets.push(targets.subarray(i * size, (i + 1) * size));
      at += count;
    });
    frames.readings.forEach((coded, k) => this.readings[k].append(numbers(coded)));
    if (this.length > this.keep) this.forget(this.length - Math.floor(0.8 * this.keep));
  }

  forget(count) {
    for (const name of ["time", "position", "quaternion", "center", "focus"]) {
      this[name].forget(count);
    }
    this.contacts.splice(0, count);
    this.targets.splice(0, count);
    this.readings.forEach((rows) => rows.forget(count));
    const first = this.first;
    this.prints = this.prints.filter((print) => print.start >= first);
  }

  clear() {
    if (this.length) this.forget(this.length);
    this.prints = [];
  }

  /** The moment at or before `time`, and how far the way to the next one has gone. */
  locate(time) {
    const { data } = this.time;
    let low = 0;
    let high = this.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (data[middle] <= time) low = middle;
      else high = middle - 1;
    }
    if (low + 1 >= this.length) return { frame: low, share: 0 };
    const share = (time - data[low]) / (data[low + 1] - data[low]);
    return { frame: low, share: Math.min(Math.max(share, 0), 1) };
  }

  /** A point between two moments, into `result`: of "center" or "focus". */
  point(name, { frame, share }, result) {
    const { data } = this[name];
    const at = 3 * frame;
    const next = share > 0 ? at + 3 : at;
    result.set(
      data[at] + share * (data[next] - data[at]),
      data[at + 1] + share * (data[next + 1] - data[at + 1]),
      data[at + 2] + share * (data[next + 2] - data[at + 2])
    );
    return result;
  }

  /** Where a body is between two moments, into `position` and `quaternion`. */
  pose(body, { frame, share }, position, quaternion, other) {
    const p = this.position.data;
    const q = this.quaternion.data;
    const at = 3 * (frame * this.bodies + body);
    const turn = 4 * (frame * this.bodies + body);
    position.set(p[at], p[at + 1], p[at + 2]);
    quaternion.set(q[turn], q[turn + 1], q[turn + 2], q[turn + 3]);
    if (share > 0) {
      const next = at + 3 * this.bodies;
      const turned = turn + 4 * this.bodies;
      position.x += share * (p[next] - p[at]);
      position.y += share * (p[next + 1] - p[at + 1]);
      position.z += share * (p[next + 2] - p[at + 2]);
      other.set(q[turned], q[turned + 1], q[turned + 2], q[turned + 3]);
      quaternion.slerp(other, share);
    }
  }
}
