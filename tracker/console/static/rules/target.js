/** Where a rule or a link leads: a destination, or a split into variants. */

import { Checkbox, TextField } from "console/core/fields";
import { format } from "console/core/format";
import { html } from "console/core/html";
import { Button, OutLink } from "console/core/parts";
import { completedUrl } from "console/links/typed-url";
import { sharesOf } from "console/rules/words";

function newVariant(index, destination_url) {
  return { name: String.fromCharCode(65 + index), destination_url, weight: 50, active: true };
}

/**
 * The target `value`, {destination_url, split}. The split of a link stands beside its destination,
 * that of a rule in its place. `path` is the target's in errors, which `wrong(path)` returns.
 */
export function Target({ value, path = "", isLink, link, wrong, onChange }) {
  const { destination_url: url, split } = value;
  const choose = (on) => {
    const first = url ?? split.variants[0].destination_url;
    const variants = [newVariant(0, first), newVariant(1, "")];
    const destination = (isLink || !on) && { destination_url: first };
    onChange({ ...destination, ...(on && { split: { variants } }) });
  };
  const set = (typed) => onChange({ ...value, destination_url: typed });
  return html`<div class="stack close">
    <${Checkbox}
      label="Split these visitors into variants"
      checked=${Boolean(split)}
      onInput=${choose}
    />
    ${
      (isLink || !split) &&
      html`<${TextField}
        label=${split ? "Destination of bots" : "Destination"}
        inputmode="url"
        value=${url}
        error=${wrong(`${path}destination_url`)}
        onInput=${set}
        onBlur=${() => set(completedUrl(url))}
      />`
    }
    ${
      split &&
      html`<${Variants}
        variants=${split.variants}
        path=${`${path}split.variants`}
        ...${{ link, wrong }}
        onChange=${(variants) => onChange({ ...value, split: { ...split, variants } })}
      />`
    }
  </div>`;
}

function Variants({ variants, path, link, wrong, onChange }) {
  const shares = sharesOf(variants);
  const add = () => onChange([...variants, newVariant(variants.length, "")]);
  return html`
    ${variants.map(
      (variant, number) => html`<${Variant}
        key=${number}
        ...${{ variant, number, link, share: shares[number] }}
        error=${wrong(`${path}[${number}]`)}
        onChange=${(changed) => onChange(variants.with(number, changed))}
        onRemove=${variants.length > 2 && (() => onChange(variants.toSpliced(number, 1)))}
      />`,
    )}
    <div>
      <${Button} icon="plus" onClick=${add}>Add a variant<//>
    </div>
  `;
}

function Variant({ variant, number, share, link, error, onChange, onRemove }) {
  const set = (name) => (value) => onChange({ ...variant, [name]: value });
  const input = (name, label, others) => html`<input
    aria-label="${label} of variant ${number + 1}"
    placeholder=${label}
    value=${variant[name]}
    onInput=${({ target }) => set(name)(others ? target.valueAsNumber : target.value)}
    ...${others ?? { type: "text" }}
  />`;
  return html`<fieldset class="variant">
    <legend class="visually-hidden">Variant ${number + 1}</legend>
    ${input("name", "Name")} ${input("destination_url", "Destination")}
    ${input("weight", "Weight", { type: "number", min: 0 })}
    <span class="numeric">${format.percent(share)}</span>
    <${Checkbox} label="Active" checked=${variant.active} onInput=${set("active")} />
    ${variant.id && html`<${OutLink} url="${link.short_url}?variant=${variant.id}">Try it<//>`}
    <${Button}
      kind="quiet"
      icon="close"
      label="Remove variant ${number + 1}"
      disabled=${!onRemove}
      onClick=${onRemove}
    />
    ${error && html`<p class="error">${error}</p>`}
  </fieldset>`;
}
