// What a page looks like, as computed from its styles: put into pages by the tests of `browser`.
"use strict";
const poolkeeperAudit = (() => {
  const CLEAR = [0, 0, 0, 0];
  const paint = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const colour = (said) => {
    if (said === "none" || said === "transparent") return CLEAR;
    if (!known.has(said)) {
      paint.clearRect(0, 0, 1, 1);
      paint.fillStyle = said;
      paint.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = paint.getImageData(0, 0, 1, 1).data;
      known.set(said, [r, g, b, a / 255]);
    }
    return known.get(said);
  };
  const over = (upper, lower) => {
    const part = upper[3];
    return [...[0, 1, 2].map((n) => upper[n] * part + lower[n] * (1 - part)), 1];
  };
  const luminance = (rgb) => {
    const [r, g, b] = rgb.slice(0, 3).map((each) => {
      const value = each / 255;
      return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => {
    const [low, high] = [luminance(a), luminance(b)].sort((one, other) => one - other);
    return (high + 0.05) / (low + 0.05);
  };
  const background = (element) => {
    const layers = [];
    for (let each = element; each; each = each.parentElement) {
      layers.push(colour(getComputedStyle(each).backgroundColor));
    }
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255, 1]);
  };
  const opacity = (element) => {
    let part = 1;
    for (let each = element; each; each = each.parentElement) {
      part *= Number(getComputedStyle(each).opacity);
    }
    return part;
  };
  const shown = (element) => element.checkVisibility({ visibilityProperty: true });

  // The backgrounds of a text in a picture: what shapes before it paint at three places of it. A
  // shape after it that covers it is returned as the colour of the text itself.
  const below = (text, ink) => {
    const picture = text.closest("svg"), box = text.getBBox(), page = background(picture);
    const shapes = Array.from(picture.querySelectorAll("path, rect"));
    return [0.02, 0.5, 0.98].map((part) => {
      const point = new DOMPoint(box.x + part * box.width, box.y + box.height / 2);
      let found = page, covered = false;
      for (const shape of shapes) {
        const fill = colour(getComputedStyle(shape).fill);
        if (fill[3] === 0 || !shape.isPointInFill(point)) continue;
        if (text.compareDocumentPosition(shape) & Node.DOCUMENT_POSITION_PRECEDING) {
          found = over(fill, found);
        } else covered = true;
      }
      return covered ? ink : found;
    });
  };
  const texts = () => {
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = [];
    while (walk.nextNode()) {
      const parent = walk.currentNode.parentElement, said = walk.currentNode.data.trim();
      if (said && !parent.closest("script, style, svg title, svg desc") && shown(parent)) {
        found.push([parent, said]);
      }
    }
    return found;
  };
  // [ratio, text, what it is in] of each text, the worst first.
  const contrasts = () => {
    const found = texts().map(([element, said]) => {
      const style = getComputedStyle(element), inside = element.closest("svg text");
      const ink = colour(inside ? style.fill : style.color), seen = [...ink];
      seen[3] *= opacity(element);
      const papers = inside ? below(inside, ink) : [background(element)];
      const worst = Math.min(...papers.map((paper) => ratio(over(seen, paper), paper)));
      return [worst, said.slice(0, 60), `${element.localName}.${element.getAttribute("class")}`];
    });
    for (const box of document.querySelectorAll("input[placeholder]")) {
      const ink = colour(getComputedStyle(box, "::placeholder").color);
      const paper = background(box);
      found.push([ratio(over(ink, paper), paper), box.placeholder, "placeholder"]);
    }
    return found.sort((a, b) => a[0] - b[0]);
  };
  // [pixels, text] of each text as it is shown, the smallest first.
  const sizes = () => texts().map(([element, said]) => {
    const inside = element.closest("svg text");
    const scale = inside ? inside.getScreenCTM().a : 1;
    return [parseFloat(getComputedStyle(element).fontSize) * scale, said.slice(0, 60)];
  }).sort((a, b) => a[0] - b[0]);
  // Pairs of texts of one picture that are written over each other, and those that are cut off.
  const overlaps = () => {
    const found = [];
    for (const picture of document.querySelectorAll("svg")) {
      const frame = picture.getBoundingClientRect();
      const all = Array.from(picture.querySelectorAll("text"), (text) => {
        const { left, right, top, bottom } = text.getBoundingClientRect();
        return { said: text.textContent, left, right, top, bottom };
      }).filter((each) => each.right > each.left);
      for (const each of all) {
        if (each.left < frame.left - 1 || each.right > frame.right + 1) {
          found.push([each.said, "the edge"]);
        }
      }
      all.forEach((a, n) => all.slice(n + 1).forEach((b) => {
        const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (wide > 1 && high > 5) found.push([a.said, b.said]);
      }));
    }
    return found;
  };
  // Where the focus is: `number` in the order of the document, and whether a reader sees it.
  const focused = () => {
    const element = document.activeElement;
    if (!element || element === document.body) return null;
    const style = getComputedStyle(element), place = element.getBoundingClientRect();
    const number = Array.from(document.querySelectorAll("*")).indexOf(element);
    const x = Math.min(Math.max(place.left + Math.min(place.width, 20) / 2, 0), innerWidth - 1);
    const y = Math.min(Math.max(place.top + Math.min(place.height, 20) / 2, 0), innerHeight - 1);
    const top = document.elementFromPoint(x, y);
    const inView = place.bottom > 0 && place.top < innerHeight && place.right > 0
      && place.left < innerWidth;
    return {
      number,
      name: `${element.localName} ${(element.textContent || "").trim().slice(0, 40)}`,
      outline: style.outlineStyle === "none" ? 0 : parseFloat(style.outlineWidth),
      contrast: ratio(colour(style.outlineColor), background(element.parentElement)),
      seen: inView && (element.contains(top) || top.contains(element)
        || Boolean(top.closest("label")?.contains(element))),
    };
  };
  return { contrasts, sizes, overlaps, focused };
})();
globalThis.poolkeeperAudit = poolkeeperAudit;
