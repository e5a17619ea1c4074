/** The model's solids as instanced meshes: as many draw calls as there are kinds of shapes. */

import {
  BoxGeometry,
  BufferAttribute,
  BufferGeometry,
  CapsuleGeometry,
  Color,
  CylinderGeometry,
  DoubleSide,
  InstancedMesh,
  Matrix4,
  MeshStandardMaterial,
  PlaneGeometry,
  Quaternion,
  RoundedBoxGeometry,
  SphereGeometry,
  Vector3,
} from "three";
import { numbers } from "film";

const BEVEL = 0.28; // rounding of a box's edges, as a share of its smallest half edge
const WALL = 3; // what is seen of a wall [units]
const SLOPE = 300; // and of a slope [units]
const CREASE = Math.cos((35 * Math.PI) / 180); // triangles that lean by more meet at an edge
const ONE = new Vector3(1, 1, 1);

/** Two triangles between four corners given in turn. */
function square(positions, indices, corners) {
  const at = positions.length / 3;
  for (const corner of corners) positions.push(...corner);
  indices.push(at, at + 1, at + 2, at, at + 2, at + 3);
}

function meshOf(positions, indices) {
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new BufferAttribute(new Float32Array(positions), 3));
  geometry.setIndex(indices);
  return geometry;
}

/** A smooth surface over a regular grid. */
function heightField(part) {
  const heights = numbers(part.heights);
  const [rows, columns] = part.heights.shape;
  const positions = [];
  const indices = [];
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) {
      const [x, y] = [part.origin[0] + i * part.spacing[0], part.origin[1] + j * part.spacing[1]];
      positions.push(x, y, heights[i * columns + j]);
      if (i + 1 < rows && j + 1 < columns) {
        const at = i * columns + j;
        indices.push(at, at + columns, at + columns + 1, at, at + columns + 1, at + 1);
      }
    }
  }
  const geometry = meshOf(positions, indices);
  geometry.computeVertexNormals();
  return geometry;
}

/** Flat tops, and walls where two blocks differ. */
function blockField(part) {
  const heights = numbers(part.heights);
  const [rows, columns] = part.heights.shape;
  const [dx, dy] = part.spacing;
  const positions = [];
  const indices = [];
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) {
      const [x, y] = [part.origin[0] + i * dx, part.origin[1] + j * dy];
      const z = heights[i * columns + j];
      square(positions, indices, [[x, y, z], [x + dx, y, z], [x + dx, y + dy, z], [x, y + dy, z]]);
      const ahead = i + 1 < rows ? heights[(i + 1) * columns + j] : z;
      const left = j + 1 < columns ? heights[i * columns + j + 1] : z;
      if (ahead !== z) {
        const wall = [[x + dx, y, z], [x + dx, y, ahead], [x + dx, y + dy, ahead], [x + dx, y + dy, z]];
        square(positions, indices, ahead < z ? wall : wall.reverse());
      }
      if (left !== z) {
        const wall = [[x, y + dy, z], [x + dx, y + dy, z], [x + dx, y + dy, left], [x, y + dy, left]];
        square(positions, indices, left < z ? wall.reverse() : wall);
      }
    }
  }
  const geometry = meshOf(positions, indices);
  const flat = geometry.toNonIndexed();
  flat.computeVertexNormals();
  return flat;
}

function hull(part) {
  const geometry = meshOf(numbers(part.corners), Array.from(numbers(part.faces))).toNonIndexed();
  geometry.computeVertexNormals();
  return geometry;
}

/** A visual mesh: each corner has the mean normal of those about it that lean by less than CREASE. */
function surface(part) {
  const faces = numbers(part.faces);
  const geometry = meshOf(numbers(part.corners), Array.from(faces)).toNonIndexed();
  const at = geometry.getAttribute("position");
  const areas = []; // normals as long as twice the triangles' areas
  const about = new Map();
  const [a, b, c] = [new Vector3(), new Vector3(), new Vector3()];
  for (let k = 0; 3 * k < faces.length; k++) {
    [a, b, c].forEach((corner, i) => corner.fromBufferAttribute(at, 3 * k + i));
    areas.push(b.sub(a).cross(c.sub(a)).clone());
    for (let i = 3 * k; i < 3 * k + 3; i++) {
      if (!about.has(faces[i])) about.set(faces[i], []);
      about.get(faces[i]).push(k);
    }
  }
  const facets = areas.map((area) => area.clone().normalize());
  const normals = new Float32Array(3 * faces.length);
  for (let i = 0; i < faces.length; i++) {
    const own = facets[Math.floor(i / 3)];
    a.set(0, 0, 0);
    for (const k of about.get(faces[i])) if (facets[k].dot(own) > CREASE) a.add(areas[k]);
    a.normalize().toArray(normals, 3 * i);
  }
  return geometry.setAttribute("normal", new BufferAttribute(normals, 3));
}

/** A shape's geometry in its own axes; the long axis of capsules and cylinders is z. */
function geometryOf(part, unit) {
  const [a, b, c] = part.size;
  switch (part.type) {
    case "sphere":
      return new SphereGeometry(a, 28, 18);
    case "capsule":
      return new CapsuleGeometry(a, 2 * b, 8, 22).rotateX(0.5 * Math.PI);
    case "cylinder":
      return new CylinderGeometry(a, a, 2 * b, 26).rotateX(0.5 * Math.PI);
    case "box":
      return new RoundedBoxGeometry(2 * a, 2 * b, 2 * c, 2, BEVEL * Math.min(a, b, c));
    case "convex":
      return hull(part);
    case "mesh":
      return surface(part);
    case "height_field":
      return heightField(part);
    case "block_field":
      return blockField(part);
    default:
      if (part.slope) return new PlaneGeometry(SLOPE * unit, SLOPE * unit);
      // A half space: a pane just below its surface
      return new BoxGeometry(WALL * unit, WALL * unit, 0.03 * unit).translate(0, 0, -0.015 * unit);
  }
}

const isGround = (part) => part.type.endsWith("field") || part.type === "half_space";

export class Shapes {
  /** `ground` is the material of fields of terrain. */
  constructor(film, scene, ground) {
    this.film = film;
    this.matrices = film.scene.bodies.map(() => new Matrix4());
    this.groups = [];
    const kinds = new Map();
    for (const part of film.scene.parts) {
      if (part.type === "half_space" && part.level) continue; // the stage's floor
      const alone = part.type === "convex" || part.type === "mesh" || isGround(part);
      const kind = alone ? part : `${part.type} ${part.size} ${part.body === 0} ${part.covered}`;
      if (!kinds.has(kind)) kinds.set(kind, []);
      kinds.get(kind).push(part);
    }
    for (const parts of kinds.values()) this.groups.push(this.group(parts, scene, ground));
    this.scratch = [new Vector3(), new Quaternion(), new Quaternion(), new Matrix4()];
  }

  group(parts, scene, ground) {
    const terrain = isGround(parts[0]);
    const field = parts[0].type.endsWith("field") || parts[0].slope;
    const pane = parts[0].type === "half_space" ? { transparent: true, opacity: 0.5 } : {};
    const shiny = { roughness: 0.55, metalness: 0.05, ...pane };
    if (parts[0].type === "mesh") shiny.side = DoubleSide;
    const material = field ? ground : new MeshStandardMaterial(shiny);
    const geometry = geometryOf(parts[0], this.film.scene.unit);
    const mesh = new InstancedMesh(geometry, material, parts.length);
    mesh.frustumCulled = false;
    mesh.castShadow = !terrain || parts[0].type === "block_field";
    mesh.receiveShadow = true;
    const locals = parts.map((part, i) => {
      if (!field) mesh.setColorAt(i, new Color(part.color));
      const turn = new Quaternion(...part.quaternion);
      return new Matrix4().compose(new Vector3(...part.position), turn, ONE);
    });
    scene.add(mesh);
    return { mesh, parts, locals, still: parts.every((part) => part.body === 0), placed: false };
  }

  /** Whether there are visual meshes, which stand for shapes that touch. */
  get clad() {
    return this.groups.some((group) => group.parts[0].type === "mesh");
  }

  /** Show the visual meshes, or the shapes that touch. */
  show(touching) {
    for (const { mesh, parts } of this.groups) {
      if (parts[0].type === "mesh") mesh.visible = !touching;
      else if (parts[0].covered) mesh.visible = touching;
    }
  }

  /** Put every body where it is at a place in the film. */
  update(place) {
    const [position, quaternion, other, matrix] = this.scratch;
    this.matrices.forEach((m, body) => {
      this.film.pose(body, place, position, quaternion, other);
      m.compose(position, quaternion, ONE);
    });
    for (const group of this.groups) {
      if (group.still && group.placed) continue;
      group.parts.forEach((part, i) => {
        group.mesh.setMatrixAt(i, matrix.multiplyMatrices(this.matrices[part.body], group.locals[i]));
      });
      group.mesh.instanceMatrix.needsUpdate = true;
      group.placed = true;
    }
  }
}
