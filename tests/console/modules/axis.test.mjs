import assert from "node:assert/strict";
import { test } from "node:test";
import { format } from "console/core/format";
import { axisLabels, compactText, scaledValues, ticks } from "console/reports/axis";

for (const [values, marks] of [
  [[], [0, 1]],
  [
    [0, 0],
    [0, 1],
  ],
  [[1], [0, 1]],
  [
    [3, 1],
    [0, 1, 2, 3],
  ],
  [[7], [0, 2, 4, 6, 8]],
  [[40], [0, 10, 20, 30, 40]],
  [[98_765], [0, 20_000, 40_000, 60_000, 80_000, 100_000]],
  [[0.3], [0, 0.1, 0.2, 0.3]],
  [[0.0333], [0, 0.01, 0.02, 0.03, 0.04]],
  [[12.5], [0, 2, 4, 6, 8, 10, 12, 14]],
  [
    [-3, 2],
    [0, 1, 2],
  ],
])
  test(`the marks of ${JSON.stringify(values)}`, () => assert.deepEqual(ticks(values), marks));

test("marks begin at zero, reach every value, and are few", () => {
  for (let value = 1e-6; value < 1e12; value *= 1.37) {
    const marks = ticks([value]);
    assert.equal(marks[0], 0);
    assert.ok(marks.at(-1) >= value * (1 - 1e-9), value);
    assert.ok(marks.at(-2) < value, value);
    assert.ok(marks.length >= 3 && marks.length <= 8, `${value}: ${marks}`);
    for (const mark of marks) assert.ok(String(mark).replace(/\D|0/g, "").length <= 2, mark);
  }
});

test("the rate of an unfinished step does not stretch the axis", () => {
  const steps = [{ value: 0.02 }, { value: 1, until: "04:14" }];
  assert.deepEqual(scaledValues(steps, undefined, format.percent), [0.02]);
  assert.deepEqual(scaledValues(steps, [{ value: 0.5 }], format.percent), [0.02, 0.5]);
  assert.deepEqual(scaledValues(steps, undefined, format.number), [0.02, 1]);
  assert.deepEqual(scaledValues(steps.slice(1), [{ value: null }], format.percent), [1, 0]);
});

test("marks of rates are per cent, others are short", () => {
  assert.equal(compactText(0.1, format.percent), "10%");
  assert.equal(compactText(20_000, format.number), "20K");
});

const WIDTH = 600;

/** Return the labels of so many steps, with characters 6 pixels wide. */
function labels(keys) {
  const steps = keys.map((key) => ({ key, label: key }));
  const x = (index) => (index * WIDTH) / Math.max(1, steps.length - 1);
  return axisLabels(steps, { x, width: WIDTH, lengthOf: (text) => 6 * text.length });
}

const day = (index) => new Date(Date.UTC(2026, 0, 1 + index)).toISOString().slice(0, 10);
const hour = (index) =>
  `${day(Math.floor(index / 24))}T${String(index % 24).padStart(2, "0")}:00+00:00`;

for (const [count, key] of [
  [1, day],
  [7, day],
  [28, day],
  [731, day],
  [24, hour],
  [24 * 31, hour],
])
  test(`labels of ${count} steps by ${key.name} neither touch nor leave the chart`, () => {
    const shown = labels(Array.from({ length: count }, (_, index) => key(index)));
    assert.ok(shown.length >= 1);
    let end = -Infinity;
    for (const { text, from } of shown) {
      assert.ok(from >= Math.max(0, end), text);
      end = from + 6 * text.length;
    }
    assert.ok(end <= WIDTH);
  });

test("hours have their hour below them, and midnight the day", () => {
  const texts = labels(Array.from({ length: 24 }, (_, index) => hour(index))).map(
    ({ text }) => text,
  );
  assert.match(texts[0], /Jan/);
  assert.deepEqual([...new Set(texts.slice(1).map((text) => text.slice(2)))], [":00"]);
});
