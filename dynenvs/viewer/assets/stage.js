/** The place: sky, ground, light, camera; it draws only when something has changed. */

import {
  BackSide,
  Color,
  DirectionalLight,
  Fog,
  HemisphereLight,
  Mesh,
  MeshLambertMaterial,
  OrbitControls,
  PCFShadowMap,
  PerspectiveCamera,
  PlaneGeometry,
  Scene,
  ShaderMaterial,
  SphereGeometry,
  Vector3,
  WebGLRenderer,
} from "three";

const LOOKS = {
  light: {
    top: "#6f9fd2", low: "#f3efe6", ground: "#a3abae", tile: "#b1b9ba", line: "#7f8a90",
    sun: 3.0, sky: 1.5, shade: "#8a8f94",
  },
  dark: {
    top: "#0b1019", low: "#28323f", ground: "#2b333c", tile: "#323b45", line: "#4d5966",
    sun: 2.3, sky: 0.95, shade: "#3d4753",
  },
};
const SLOW = 0.026; // frames that take longer make pictures coarser [s]
const QUICK = 0.013; // and such that take less make them finer [s]
const PATIENCE = 0.25; // time after which what stands still is drawn finer [s]
const SOFT = 0.6; // what they begin with where there is no graphics card
const COARSEST = 0.4; // pixels drawn for each of the picture's, along a side

const SKY_VERTEX = `
varying vec3 vWay;
void main() {
  vWay = position;
  gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
}`;
const SKY_FRAGMENT = `
uniform vec3 top, low;
varying vec3 vWay;
void main() {
  float height = max(normalize(vWay).z, 0.0);
  gl_FragColor = vec4(mix(low, top, 1.0 - exp(-3.2 * height)), 1.0);
  #include <colorspace_fragment>
}`;

/** A dull material with a square grid on what lies level: tiles by turns, lines between them. */
function gridded(unit, options) {
  const material = new MeshLambertMaterial(options);
  const uniforms = {
    uUnit: { value: unit },
    uGround: { value: new Color() },
    uTile: { value: new Color() },
    uLine: { value: new Color() },
  };
  material.onBeforeCompile = (shader) => {
    Object.assign(shader.uniforms, uniforms);
    shader.vertexShader = shader.vertexShader
      .replace("#include <common>", "#include <common>\nvarying vec3 vPlace, vUp;")
      .replace(
        "#include <project_vertex>",
        `#include <project_vertex>
        vec4 place = vec4(transformed, 1.0);
        #ifdef USE_INSTANCING
          place = instanceMatrix * place;
        #endif
        vPlace = (modelMatrix * place).xyz;
        vUp = normal;`
      );
    shader.fragmentShader = shader.fragmentShader
      .replace(
        "#include <common>",
        `#include <common>
        uniform float uUnit;
        uniform vec3 uGround, uTile, uLine;
        varying vec3 vPlace, vUp;`
      )
      .replace(
        "#include <color_fragment>",
        `#include <color_fragment>
        vec2 cell = vPlace.xy / uUnit;
        vec2 width = fwidth(cell);
        float blur = max(width.x, width.y);
        float turn = mod(floor(cell.x) + floor(cell.y), 2.0);
        vec3 tint = mix(uGround, uTile, mix(turn, 0.5, smoothstep(0.15, 0.7, blur)));
        vec2 away = abs(fract(cell - 0.5) - 0.5) / max(width, vec2(1e-6));
        float line = 1.0 - clamp(min(away.x, away.y) - 0.3, 0.0, 1.0);
        line *= (1.0 - smoothstep(0.08, 0.5, blur)) * step(0.6, vUp.z);
        diffuseColor.rgb *= mix(tint, uLine, 0.7 * line);`
      );
  };
  return { material, uniforms };
}

export class Stage {
  constructor(canvas, film) {
    const { unit, camera: eye, floor } = film.scene;
    this.film = film;
    this.unit = unit;
    this.canvas = canvas;
    // Without a graphics card every sample of every pixel is dear
    this.soft = isSoftware();
    this.renderer = new WebGLRenderer({
      canvas,
      antialias: !this.soft,
      powerPreference: "high-performance",
    });
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = PCFShadowMap;
    this.scene = new Scene();
    this.camera = new PerspectiveCamera(eye.field, 1, 0.02 * unit, 900 * unit);
    this.camera.up.set(0, 0, 1);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = true;
    this.controls.dampingFactor = 0.12;
    this.controls.minDistance = 0.15 * unit;
    this.controls.maxDistance = 120 * unit;
    this.controls.maxPolarAngle = 0.5 * Math.PI - 0.01;
    this.controls.addEventListener("change", () => (this.changed = true));
    this.follows = eye.follows;
    this.home = new Vector3(...eye.focus);
    this.focus = this.home.clone();
    this.makeSky();
    this.makeLight(eye.distance);
    this.makeGround(floor);
    this.scale = this.soft ? SOFT : 1;
    this.slowness = this.idle = 0;
    this.sharp = false;
    this.frames = 0;
    this.changed = true;
    this.resize();
    this.lookHome();
  }

  makeSky() {
    this.sky = new Mesh(
      new SphereGeometry(400 * this.unit, 24, 16),
      new ShaderMaterial({
        uniforms: { top: { value: new Color() }, low: { value: new Color() } },
        vertexShader: SKY_VERTEX,
        fragmentShader: SKY_FRAGMENT,
        side: BackSide,
        depthWrite: false,
        fog: false,
      })
    );
    this.scene.add(this.sky);
    this.scene.fog = new Fog("#ffffff", 14 * this.unit, 70 * this.unit);
  }

  makeLight(distance) {
    this.hemisphere = new HemisphereLight();
    this.hemisphere.position.set(0, 0, 1);
    this.sun = new DirectionalLight("#fff8ee");
    this.sun.castShadow = true;
    const { shadow } = this.sun;
    const reach = Math.max(0.62 * distance, 1.2 * this.unit);
    this.reach = reach;
    Object.assign(shadow.camera, {
      left: -reach, right: reach, top: reach, bottom: -reach, near: 0.1 * reach, far: 8 * reach,
    });
    shadow.mapSize.setScalar(this.soft ? 768 : 2048);
    shadow.bias = -0.0004;
    shadow.normalBias = 0.02 * this.unit;
    shadow.radius = this.soft ? 1.5 : 3.5;
    this.scene.add(this.hemisphere, this.sun, this.sun.target);
  }

  makeGround(floor) {
    this.grids = [gridded(this.unit, {}), gridded(this.unit, {})];
    this.terrain = this.grids[0].material;
    if (floor === null) return;
    const size = 300 * this.unit;
    this.ground = new Mesh(new PlaneGeometry(size, size), this.grids[1].material);
    this.ground.position.z = floor;
    this.ground.receiveShadow = true;
    this.scene.add(this.ground);
  }

  /** "light" or "dark". */
  dress(name) {
    const look = LOOKS[name];
    this.sky.material.uniforms.top.value.set(look.top);
    this.sky.material.uniforms.low.value.set(look.low);
    this.scene.fog.color.set(look.low);
    this.hemisphere.color.set("#ffffff");
    this.hemisphere.groundColor.set(look.shade);
    this.hemisphere.intensity = look.sky;
    this.sun.intensity = look.sun;
    for (const { uniforms } of this.grids) {
      uniforms.uGround.value.set(look.ground);
      uniforms.uTile.value.set(look.tile);
      uniforms.uLine.value.set(look.line);
    }
    this.changed = true;
  }

  /** Where the camera stood at first, seen from where it looks now. */
  lookHome() {
    const { camera: eye } = this.film.scene;
    const narrow = Math.max(1, 0.95 / this.camera.aspect);
    const distance = eye.distance * narrow;
    const level = Math.cos(eye.elevation);
    const shift = new Vector3().copy(this.focus).sub(this.home);
    this.controls.enableDamping = false; // what is left of a turn ends here
    this.controls.update();
    this.controls.enableDamping = true;
    this.controls.target.set(...eye.target).add(shift);
    this.camera.position.set(
      this.controls.target.x + distance * level * Math.cos(eye.azimuth),
      this.controls.target.y + distance * level * Math.sin(eye.azimuth),
      this.controls.target.z + distance * Math.sin(eye.elevation)
    );
    this.controls.update();
    this.changed = true;
  }

  /** Go with the robot: the camera keeps its way of looking. */
  goTo(focus) {
    if (!this.follows) return;
    const shift = focus.clone().sub(this.focus);
    if (shift.lengthSq() === 0) return;
    this.focus.copy(focus);
    this.controls.target.add(shift);
    this.camera.position.add(shift);
  }

  resize(scale = this.scale) {
    const { clientWidth: width, clientHeight: height } = this.canvas.parentElement;
    if (!width || !height) return;
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio, 2) * scale);
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
    this.changed = true;
  }

  /** Draw if anything has changed; `took` is the time since the last picture [s]. */
  draw(took) {
    this.controls.update();
    if (!this.changed) return this.sharpen(took);
    if (this.sharp) this.resize();
    this.changed = this.sharp = false;
    this.idle = 0;
    this.render();
    this.adapt(took);
    return true;
  }

  /** What has stood still for a while is drawn once more, with all pixels. */
  sharpen(took) {
    this.idle += took;
    if (this.scale === 1 || this.sharp || this.idle < PATIENCE) return false;
    this.resize(1);
    this.sharp = true;
    this.changed = false;
    this.render();
    return true;
  }

  render() {
    const { target } = this.controls;
    this.sky.position.copy(this.camera.position);
    this.sun.target.position.copy(target);
    this.sun.position.copy(target).add(new Vector3(-1.5, -1.9, 3.4).multiplyScalar(this.reach));
    if (this.ground) {
      const snap = (x) => Math.round(x / this.unit) * this.unit;
      this.ground.position.set(snap(target.x), snap(target.y), this.ground.position.z);
    }
    this.renderer.render(this.scene, this.camera);
    this.frames += 1;
  }

  /** Pictures as fine as the machine draws them quickly. */
  adapt(took) {
    const share = took > 0.1 ? 0.4 : 0.08;
    this.slowness = (1 - share) * this.slowness + share * Math.min(took, 0.2);
    this.calm = (this.calm || 0) + took;
    const wanted = this.slowness > SLOW ? 0.8 : this.slowness < QUICK ? 1.2 : 1;
    if (wanted === 1 || this.calm < (wanted < 1 ? 0.5 : 4)) return;
    const scale = Math.min(Math.max(this.scale * wanted, COARSEST), 1);
    if (scale === this.scale) return;
    this.scale = scale;
    this.calm = 0;
    this.resize();
  }
}

/** Whether pictures are drawn by the processor alone. */
function isSoftware() {
  const context = document.createElement("canvas").getContext("webgl2");
  const told = context && context.getExtension("WEBGL_debug_renderer_info");
  const name = told ? context.getParameter(told.UNMASKED_RENDERER_WEBGL) : "";
  return /swiftshader|llvmpipe|software/i.test(name);
}
