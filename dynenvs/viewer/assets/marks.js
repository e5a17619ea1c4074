/** What is drawn about the robot: forces, friction cones, centre of mass, footsteps, targets. */

import {
  CircleGeometry,
  Color,
  ConeGeometry,
  CylinderGeometry,
  DoubleSide,
  InstancedMesh,
  Matrix4,
  Mesh,
  MeshBasicMaterial,
  Quaternion,
  RingGeometry,
  SphereGeometry,
  Vector3,
} from "three";

const FORCE = "#e8493f";
const CONE = "#f2a03c";
const CENTER = "#ffb03b";
const FEET = ["#3a6ebe", "#e0824a", "#4aa37c", "#a35fa8"]; // by turns
const UP = new Vector3(0, 0, 1);
const PRINTS = 400; // footsteps that are drawn at most: the latest

/** Instances of one geometry whose number changes from picture to picture. */
class Crowd {
  constructor(scene, geometry, material) {
    Object.assign(this, { scene, geometry, material, mesh: null, count: 0 });
    this.matrix = new Matrix4();
    this.visible = true;
  }

  begin(wanted) {
    if (!this.mesh || this.mesh.instanceMatrix.count < wanted) {
      if (this.mesh) this.scene.remove(this.mesh);
      this.mesh = new InstancedMesh(this.geometry, this.material, Math.max(16, 2 * wanted));
      this.mesh.frustumCulled = false;
      this.mesh.renderOrder = this.material.transparent ? 2 : 1;
      this.scene.add(this.mesh);
    }
    this.count = 0;
    this.mesh.visible = this.visible;
  }

  add(position, turn, scale, color) {
    this.matrix.compose(position, turn, scale);
    this.mesh.setMatrixAt(this.count, this.matrix);
    if (color) this.mesh.setColorAt(this.count, color);
    this.count += 1;
  }

  end() {
    this.mesh.count = this.count;
    this.mesh.instanceMatrix.needsUpdate = true;
    if (this.mesh.instanceColor) this.mesh.instanceColor.needsUpdate = true;
  }
}

const plain = (color, options) => new MeshBasicMaterial({ color, ...options });

export class Marks {
  constructor(film, scene) {
    this.film = film;
    const { unit, camera } = film.scene;
    const line = 0.0042 * camera.distance;
    Object.assign(this, { unit, line, shown: {} });
    const shaft = new CylinderGeometry(1, 1, 1, 12).translate(0, 0.5, 0).rotateX(0.5 * Math.PI);
    const head = new ConeGeometry(1, 1, 18).translate(0, 0.5, 0).rotateX(0.5 * Math.PI);
    const cone = new ConeGeometry(1, 1, 28, 1, true).translate(0, -0.5, 0).rotateX(-0.5 * Math.PI);
    const sheer = { transparent: true, depthWrite: false, side: DoubleSide };
    this.shafts = new Crowd(scene, shaft, plain(FORCE));
    this.heads = new Crowd(scene, head, plain(FORCE));
    this.cones = new Crowd(scene, cone, plain(CONE, { ...sheer, opacity: 0.24 }));
    this.prints = new Crowd(
      scene,
      new CircleGeometry(1, 26),
      plain("#ffffff", { ...sheer, opacity: 0.5, polygonOffset: true, polygonOffsetFactor: -4 })
    );
    this.makeCenter(scene);
    this.targets = new Crowd(
      scene,
      new RingGeometry(0.78, 1, 32).rotateX(0.5 * Math.PI),
      plain("#2ea078", { side: DoubleSide })
    );
  }

  makeCenter(scene) {
    const above = { depthTest: false, transparent: true };
    this.ball = new Mesh(new SphereGeometry(3.0 * this.line, 20, 14), plain(CENTER, above));
    this.rim = new Mesh(new SphereGeometry(3.9 * this.line, 20, 14), plain("#26303f", above));
    this.plumb = new Mesh(
      new CylinderGeometry(0.55, 0.55, 1, 8).translate(0, -0.5, 0).rotateX(0.5 * Math.PI),
      plain(CENTER, { ...above, opacity: 0.75 })
    );
    this.foot = new Mesh(
      new RingGeometry(3.2 * this.line, 4.3 * this.line, 28),
      plain(CENTER, { ...above, opacity: 0.9 })
    );
    this.plumb.renderOrder = this.foot.renderOrder = 7;
    this.rim.renderOrder = 8;
    this.ball.renderOrder = 9;
    scene.add(this.ball, this.rim, this.plumb, this.foot);
  }

  /** Which marks there are. */
  get kinds() {
    const kinds = ["forces", "cones", "centre"];
    return this.film.scene.feet ? [...kinds, "footsteps"] : kinds;
  }

  show(kind, on) {
    this.shown[kind] = on;
  }

  update(place, time) {
    const nearest = place.share > 0.5 ? place.frame + 1 : place.frame;
    this.updateContacts(this.film.contacts[nearest]);
    this.updateCenter(place);
    this.updatePrints(time);
    this.updateTargets(this.film.targets[nearest]);
  }

  updateContacts(contacts) {
    const { newton } = this.film.scene;
    const { forces, cones } = this.shown;
    const scratch = [new Vector3(), new Vector3(), new Vector3(), new Quaternion(), new Vector3()];
    const [point, force, normal, turn, scale] = scratch;
    for (const crowd of [this.shafts, this.heads, this.cones]) crowd.begin(contacts.count);
    for (let i = 0; i < contacts.count; i++) {
      point.fromArray(contacts.points, 3 * i);
      force.fromArray(contacts.forces, 3 * i).multiplyScalar(newton);
      normal.fromArray(contacts.normals, 3 * i);
      const height = force.dot(normal);
      if (cones && contacts.friction[i] > 0 && height > 0.2 * this.line) {
        const radius = height * contacts.friction[i];
        this.cones.add(point, turn.setFromUnitVectors(UP, normal), scale.set(radius, radius, height));
      }
      const length = force.length();
      if (!forces || length < 0.5 * this.line) continue;
      turn.setFromUnitVectors(UP, force.divideScalar(length));
      const tip = Math.min(5 * this.line, 0.45 * length);
      const thin = Math.min(this.line, 0.3 * length);
      this.shafts.add(point, turn, scale.set(thin, thin, length - tip));
      point.addScaledVector(force, length - tip);
      this.heads.add(point, turn, scale.set(0.42 * tip, 0.42 * tip, tip));
    }
    for (const crowd of [this.shafts, this.heads, this.cones]) crowd.end();
  }

  updateCenter(place) {
    const center = this.film.point("center", place, this.ball.position);
    const focus = this.film.point("focus", place, new Vector3());
    const on = Boolean(this.shown.centre);
    const ground = this.film.scene.camera.follows ? focus.z : this.film.scene.floor;
    const standing = on && ground !== null && center.z > ground;
    this.ball.visible = this.rim.visible = on;
    this.plumb.visible = this.foot.visible = standing;
    this.rim.position.copy(center);
    if (!standing) return;
    this.plumb.position.copy(center);
    this.plumb.scale.set(this.line, this.line, center.z - ground);
    this.foot.position.set(center.x, center.y, ground + 0.2 * this.line);
  }

  updatePrints(time) {
    const seen = this.shown.footsteps ? this.film.prints.filter((one) => one.start <= time) : [];
    const latest = seen.slice(-PRINTS);
    this.prints.begin(latest.length);
    const turn = new Quaternion();
    const about = new Quaternion();
    const scale = new Vector3();
    const color = new Color();
    for (const one of latest) {
      const normal = new Vector3(...one.normal);
      about.setFromAxisAngle(UP, one.heading);
      turn.setFromUnitVectors(UP, normal).multiply(about);
      const place = new Vector3(...one.point).addScaledVector(normal, 0.25 * this.line);
      const least = 3.2 * this.line;
      scale.set(Math.max(1.25 * one.half[0], least), Math.max(1.25 * one.half[1], least), 1);
      this.prints.add(place, turn, scale, color.set(FEET[one.foot % FEET.length]));
    }
    this.prints.end();
  }

  updateTargets(targets) {
    this.targets.begin(targets.length / 3);
    const place = new Vector3();
    const size = new Vector3(1, 1, 1).multiplyScalar(7 * this.line);
    for (let i = 0; i < targets.length; i += 3) {
      this.targets.add(place.fromArray(targets, i), new Quaternion(), size);
    }
    this.targets.end();
  }
}
