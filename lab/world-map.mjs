/**
 * Draw `tracker/console/static/reports/world.js`, the shapes of the world map.
 *
 * Run in a folder with the packages:
 *   npm install world-atlas@2.0.2 d3-geo@3.1.2 topojson-client@3.1.0 i18n-iso-countries@7.14.0
 *   node world-map.mjs > world.js
 *
 * Shapes are those of Natural Earth at 1:110 million (public domain), in the Equal Earth projection,
 * whose areas are true. States that are too small for it become dots, from those at 1:50 million.
 */

import { createRequire } from "node:module";

import { geoCentroid, geoEqualEarth, geoPath } from "d3-geo";
import { feature } from "topojson-client";

const require = createRequire(`${process.cwd()}/`);
const countries = require("i18n-iso-countries");
const WIDTH = 960;
const HEIGHT = 468;
const ANTARCTICA = "AQ";

const features = (file) => feature(require(`world-atlas/${file}.json`), "countries").features;
const codeOf = (shape) =>
  shape.id === undefined ? undefined : countries.numericToAlpha2(shape.id);
const isDrawn = (shape) => codeOf(shape) && codeOf(shape) !== ANTARCTICA;

const large = features("countries-110m").filter((shape) => codeOf(shape) !== ANTARCTICA);
const small = features("countries-50m").filter(isDrawn);
const projection = geoEqualEarth().fitSize([WIDTH, HEIGHT], {
  type: "FeatureCollection",
  features: large,
});
const path = geoPath(projection).digits(0);

const known = new Set(large.map(codeOf));
const shapes = large.map((shape) => [codeOf(shape) ?? "", shortened(path(shape))]);
const dots = small
  .filter((shape) => !known.has(codeOf(shape)))
  .map((shape) => [
    codeOf(shape),
    ...projection(geoCentroid(shape)).map((value) => Math.round(value)),
  ])
  .sort();

/** Return a path with steps instead of places, without the points that rounding has made equal. */
function shortened(text) {
  const rings = text
    .slice(1, -1)
    .split("ZM")
    .map((ring) => ring.split("L").map((point) => point.split(",").map(Number)));
  const steps = rings.map(([first, ...others]) => {
    let last = first;
    const moves = others
      .map((point) => {
        const move = [point[0] - last[0], point[1] - last[1]];
        last = point;
        return move;
      })
      .filter(([x, y]) => x || y);
    return moves.length > 1
      ? `M${first.join(" ")}l${moves.flat().join(" ").replaceAll(" -", "-")}z`
      : "";
  });
  return steps.join("") || text;
}

const lines = (list) => list.map((one) => `  ${JSON.stringify(one)},`).join("\n");
console.log(`/** The shapes of countries, drawn by lab/world-map.mjs from world-atlas 2.0.2 (public domain). */

export const WIDTH = ${WIDTH};
export const HEIGHT = ${HEIGHT};

/** The countries: code and path. Without a code: disputed areas, which no count has. */
export const SHAPES = [
${lines(shapes)}
];

/** States too small for a shape: code, x and y. */
export const DOTS = [
${lines(dots)}
];`);
