/** The QR code of a link, in a colour and with a logo, to look at and to take away. */

import { useState } from "preact/hooks";
import { send } from "console/core/api";
import { Field } from "console/core/fields";
import { useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import { Button, ErrorNote } from "console/core/parts";
import { Dialog } from "console/parts/dialog";

const MOST_BYTES = 100_000;
const PNG_PIXELS = 1200;
/** The width of a logo with its white edge. A tenth of the area is a third of what may be missing. */
const LOGO_WIDTH = 0.3;

/** The picture, with its downloads. The logo stays in this browser. */
export function QrCode({ link }) {
  const [color, setColor] = useState("#000000");
  const [logo, setLogo] = useState("");
  const [wrong, setWrong] = useState("");
  const query = { color: color.slice(1), correction: logo ? "h" : "m" };
  const path = `/api/short-links/${link.id}/qr.svg`;
  const code = useLoad(
    async (signal) => {
      const svg = await (await send("GET", path, { query, signal })).text();
      return logo ? withLogo(svg, logo) : svg;
    },
    [path, color, logo],
  );
  const url = code.data && dataUrl(code.data);
  const pick = async ({ target: { files } }) => {
    const [file] = files;
    const isFit = /^image\/(png|svg\+xml)$/.test(file?.type) && file.size <= MOST_BYTES;
    setWrong(isFit || !file ? "" : "A PNG or SVG of at most 100 KB.");
    setLogo(isFit ? await read(file) : "");
  };
  return html`<div class="stack close">
    <div class="qr">${url && html`<img src=${url} alt="QR code of ${link.short_url}" />`}</div>
    <div class="row">
      <${Field} label="Colour">
        ${(given) =>
          html`<input
            type="color"
            ...${given}
            value=${color}
            onChange=${(event) => setColor(event.target.value)}
          />`}
      <//>
      <${Field} label="Logo" error=${wrong}>
        ${(given) =>
          html`<input type="file" accept="image/png,image/svg+xml" ...${given} onChange=${pick} />`}
      <//>
    </div>
    <${ErrorNote} error=${code.error} retry=${code.reload} />
    ${
      url &&
      !code.error &&
      html`<div class="row">
        <a class="button" href=${url} download="${link.slug}.svg">SVG</a>
        <${Button} onClick=${() => savePng(url, `${link.slug}.png`)}>PNG<//>
      </div>`
    }
  </div>`;
}

function dataUrl(svg) {
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}

function read(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}

/** Return a code with a logo in its middle. As a picture in a picture, an SVG cannot run anything. */
function withLogo(svg, logo) {
  const size = Number(/viewBox="0 0 (\d+)/.exec(svg)[1]);
  const square = (width) => {
    const start = (size - width) / 2;
    return `x="${start}" y="${start}" width="${width}" height="${width}"`;
  };
  const edge = `<rect fill="#fff" ${square(size * LOGO_WIDTH)}/>`;
  const image = `<image href="${logo}" ${square(size * LOGO_WIDTH * 0.85)}/>`;
  return svg.replace("</svg>", `${edge}${image}</svg>`);
}

async function savePng(url, name) {
  const image = new Image();
  image.src = url;
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), {
    width: PNG_PIXELS,
    height: PNG_PIXELS,
  });
  canvas.getContext("2d").drawImage(image, 0, 0, PNG_PIXELS, PNG_PIXELS);
  const link = Object.assign(document.createElement("a"), { download: name });
  link.href = canvas.toDataURL("image/png");
  link.click();
}

/** The dialog with the QR code of `link`. */
export function QrDialog({ link, onClose }) {
  const footer = html`<${Button} kind="main" onClick=${onClose}>Close<//>`;
  return html`<${Dialog} title="QR code" about=${link.short_url} ...${{ footer, onClose }}>
    <${QrCode} link=${link} />
  <//>`;
}
