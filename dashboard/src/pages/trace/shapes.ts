/** The program of the nodes for WebGL: the shapes of RiskBadge with a border, as signed distances. */
import { NodeProgram, type ProgramInfo } from 'sigma/rendering';
import type { NodeDisplayData, RenderParams } from 'sigma/types';
import { floatColor } from 'sigma/utils';

/** Numbers of the shapes in the shader. */
export const SHAPE = { LOW: 0, MEDIUM: 1, HIGH: 2, CRITICAL: 3, UNKNOWN: 4, GROUP: 5 } as const;

export interface ShapedNode {
  readonly shape: number;
  readonly fill: string;
}

const VERTEX = /* glsl */ `
attribute vec4 a_id;
attribute vec4 a_color;
attribute vec4 a_fill;
attribute vec2 a_position;
attribute float a_size;
attribute float a_shape;
attribute float a_angle;
uniform mat3 u_matrix;
uniform float u_sizeRatio;
uniform float u_correctionRatio;
varying vec4 v_color;
varying vec4 v_fill;
varying vec2 v_point;
varying float v_pixel;
varying float v_shape;
const float bias = 255.0 / 254.0;
void main() {
  float radius = a_size * u_correctionRatio / u_sizeRatio * 2.0;
  vec2 corner = 2.0 * vec2(cos(a_angle), sin(a_angle));
  gl_Position = vec4((u_matrix * vec3(a_position + corner * radius, 1)).xy, 0, 1);
  v_point = corner;
  v_pixel = 2.0 * u_correctionRatio / radius;
  v_shape = a_shape;
  #ifdef PICKING_MODE
  v_color = a_id;
  #else
  v_color = a_color;
  #endif
  v_color.a *= bias;
  v_fill = a_fill;
  v_fill.a *= bias;
}`;

const FRAGMENT = /* glsl */ `
precision highp float;
varying vec4 v_color;
varying vec4 v_fill;
varying vec2 v_point;
varying float v_pixel;
varying float v_shape;
float distanceTo(vec2 p) {
  vec2 a = abs(p);
  if (v_shape < 0.5) return length(p) - 0.95;
  if (v_shape < 1.5) return max(-p.y - 0.5, a.x * 0.866 + p.y * 0.5 - 0.5);
  if (v_shape < 2.5) return (a.x + a.y - 1.0) * 0.7071;
  if (v_shape < 3.5) return max(max(a.x, a.y), (a.x + a.y) * 0.7071) - 0.92;
  if (v_shape < 4.5) return length(p) - 0.95;
  return max(a.x, a.y) - 0.7;
}
void main() {
  float far = distanceTo(v_point);
  #ifdef PICKING_MODE
  gl_FragColor = far > 0.0 ? vec4(0.0) : v_color;
  #else
  // A border of one and a half pixels, at most a third of the node.
  float border = min(1.5 * v_pixel, 0.3);
  vec4 line = v_color;
  if (v_shape > 3.5 && v_shape < 4.5 && sin(atan(v_point.y, v_point.x) * 8.0) < -0.3 && v_pixel < 0.3) line = v_fill;
  vec4 inside = mix(v_fill, line, smoothstep(-border - v_pixel, -border, far));
  gl_FragColor = mix(inside, vec4(0.0), smoothstep(-v_pixel, 0.0, far));
  #endif
}`;

const { FLOAT, UNSIGNED_BYTE, TRIANGLES } = WebGLRenderingContext;

/** Draws nodes in their shapes. */
export class ShapeProgram extends NodeProgram<'u_sizeRatio' | 'u_correctionRatio' | 'u_matrix'> {
  getDefinition() {
    return {
      VERTICES: 3,
      VERTEX_SHADER_SOURCE: VERTEX,
      FRAGMENT_SHADER_SOURCE: FRAGMENT,
      METHOD: TRIANGLES,
      UNIFORMS: ['u_sizeRatio', 'u_correctionRatio', 'u_matrix'] as const,
      ATTRIBUTES: [
        { name: 'a_position', size: 2, type: FLOAT },
        { name: 'a_size', size: 1, type: FLOAT },
        { name: 'a_shape', size: 1, type: FLOAT },
        { name: 'a_color', size: 4, type: UNSIGNED_BYTE, normalized: true },
        { name: 'a_fill', size: 4, type: UNSIGNED_BYTE, normalized: true },
        { name: 'a_id', size: 4, type: UNSIGNED_BYTE, normalized: true },
      ],
      CONSTANT_ATTRIBUTES: [{ name: 'a_angle', size: 1, type: FLOAT }],
      CONSTANT_DATA: [[0], [(2 * Math.PI) / 3], [(4 * Math.PI) / 3]],
    };
  }

  processVisibleItem(nodeIndex: number, start: number, data: NodeDisplayData): void {
    const { shape, fill } = data as NodeDisplayData & ShapedNode;
    this.array.set(
      [data.x, data.y, data.size, shape, floatColor(data.color), floatColor(fill), nodeIndex],
      start,
    );
  }

  setUniforms(
    { sizeRatio, correctionRatio, matrix }: RenderParams,
    { gl, uniformLocations }: ProgramInfo,
  ): void {
    gl.uniform1f(uniformLocations.u_sizeRatio as WebGLUniformLocation, sizeRatio);
    gl.uniform1f(uniformLocations.u_correctionRatio as WebGLUniformLocation, correctionRatio);
    gl.uniformMatrix3fv(uniformLocations.u_matrix as WebGLUniformLocation, false, matrix);
  }
}
