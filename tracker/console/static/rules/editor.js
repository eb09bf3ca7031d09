/** The editor of rules: their order, conditions and targets, and where all others are led. */

import { useLayoutEffect, useRef } from "preact/hooks";
import { html } from "console/core/html";
import { Button } from "console/core/parts";
import { Condition, newCondition } from "console/rules/conditions";
import { Target } from "console/rules/target";

/**
 * The editor of `fields`, {destination_url, rules, split}. `wrong(path)` returns the error below a
 * path of the API, if there is one. A new rule has a `key` in place of an id.
 */
export function RulesEditor({ link, fields, change, wrong }) {
  const { rules, ...others } = fields;
  const box = useRef(null);
  const wanted = useRef([]);
  // An element that is moved or removed loses the focus.
  useLayoutEffect(() => {
    const found = wanted.current.map((selector) => box.current.querySelector(selector));
    found.find(Boolean)?.focus();
    wanted.current = [];
  });
  const set = (changed, focus = []) => {
    wanted.current = focus;
    change({ rules: changed });
  };
  const add = () => {
    const made = { key: Math.random(), name: `Rule ${rules.length + 1}`, destination_url: "" };
    const focus = [`[data-rule="${rules.length}"] input`];
    set([...rules, { ...made, conditions: [newCondition("country")] }], focus);
  };
  const move = (at, by) => () => {
    const buttons = by < 0 ? ["up", "down"] : ["down", "up"];
    const focus = buttons.map((one) => `[data-rule="${at + by}"] .${one}:enabled`);
    set(rules.toSpliced(at, 1).toSpliced(at + by, 0, rules[at]), focus);
  };
  return html`<div class="stack" ref=${box}>
    ${rules.map(
      (rule, at) => html`<${Rule}
        key=${rule.id ?? rule.key}
        ...${{ rule, at, link, wrong }}
        onChange=${(changed, focus) => set(rules.with(at, changed), focus)}
        onUp=${at > 0 && move(at, -1)}
        onDown=${at < rules.length - 1 && move(at, 1)}
        onRemove=${() => set(rules.toSpliced(at, 1), [".add-rule"])}
      />`,
    )}
    <div>
      <${Button} icon="plus" class="add-rule" onClick=${add}>Add a rule<//>
    </div>
    <section class="card">
      <h2>${rules.length ? "All other visitors" : "All visitors"}</h2>
      <${Target}
        value=${others}
        isLink
        ...${{ link, wrong }}
        onChange=${({ destination_url, split = null }) => change({ destination_url, split })}
      />
    </section>
  </div>`;
}

function Rule({ rule, at, link, wrong, onChange, onUp, onDown, onRemove }) {
  const { id, key, name, conditions, ...target } = rule;
  const path = `rules[${at}].`;
  const title = `rule ${at + 1}`;
  const set = (changed, focus) => onChange({ ...rule, conditions: changed }, focus);
  const within = (selector) => [`[data-rule="${at}"] ${selector}`];
  const added = within(`[data-condition="${conditions.length}"] select`);
  const add = () => set([...conditions, newCondition("country")], added);
  return html`<section class="card" data-rule=${at} aria-label="Rule ${at + 1}">
    <div class="rule-head">
      <h2>${at + 1}</h2>
      <input
        type="text"
        aria-label="Name of ${title}"
        maxlength="100"
        value=${name}
        onInput=${({ target: { value } }) => onChange({ ...rule, name: value })}
      />
      <${Button} class="up" label="Up, ${title}" disabled=${!onUp} onClick=${onUp}>Up<//>
      <${Button} class="down" label="Down, ${title}" disabled=${!onDown} onClick=${onDown}>
        Down
      <//>
      <${Button} kind="danger" icon="trash" label="Remove ${title}" onClick=${onRemove} />
    </div>
    ${conditions.map(
      (condition, number) => html`<${Condition}
        key=${number}
        ...${{ condition, number }}
        error=${wrong(`${path}conditions[${number}]`)}
        onChange=${(changed) => set(conditions.with(number, changed))}
        onRemove=${() => set(conditions.toSpliced(number, 1), within(".add-condition"))}
      />`,
    )}
    <div>
      <${Button} icon="plus" class="add-condition" onClick=${add}>Add a condition<//>
    </div>
    <${Target}
      value=${target}
      ...${{ path, link, wrong }}
      onChange=${(changed) => onChange({ id, key, name, conditions, ...changed })}
    />
  </section>`;
}
