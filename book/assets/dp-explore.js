// Moves the figures of the book: native sliders swap pictures that were drawn when the book was built.
// No dependencies, no requests but for the pictures themselves; works from file:// too.
"use strict";

function explore(figure) {
  const data = JSON.parse(figure.querySelector(".dp-frames").textContent);
  const sliders = [...figure.querySelectorAll("input[type=range]")];
  const picture = figure.querySelector(".dp-picture");
  const readout = figure.querySelector(".dp-readout");
  const spoken = (index, place) => {  // as Python's format "4g", which wrote the words of the start
    const value = data.values[index][place], [digits, power] = value.toExponential(3).split("e").map(Number);
    const sign = power < 0 ? "-" : "+";
    return power < -4 || power > 3 ? `${digits}e${sign}${String(Math.abs(power)).padStart(2, "0")}` : `${Number(value.toPrecision(4))}`;
  };
  const address = (places) => data.base + places.join("-") + ".webp";
  const places = () => sliders.map((slider) => Number(slider.value));
  const fetched = new Map(); // address -> image; kept, so that the browser keeps it decoded
  let wanted = "";

  function load(source) {
    if (!fetched.has(source)) {
      const image = new Image();
      image.src = source;
      fetched.set(source, image.decode ? image.decode().catch(() => {}) : Promise.resolve());
    }
    return fetched.get(source);
  }

  function neighbors() { // one step of each slider, fetched before it is asked for
    const here = places();
    sliders.forEach((slider, index) => [-1, 1].forEach((step) => {
      const there = here.slice();
      there[index] += step;
      if (there[index] >= 0 && there[index] <= Number(slider.max)) load(address(there));
    }));
  }

  function move() {
    const here = places();
    const source = address(here);
    sliders.forEach((slider, index) => {
      const text = spoken(index, here[index]);
      slider.setAttribute("aria-valuetext", text);
      slider.closest(".dp-slider").querySelector(".dp-value").textContent = text;
    });
    readout.textContent = data.readouts[here.join("-")];
    wanted = source;
    load(source).then(() => { // a picture that comes after the slider has moved on is dropped
      if (wanted !== source) return;
      picture.src = source;
      neighbors();
    });
  }

  sliders.forEach((slider) => slider.addEventListener("input", move));
  figure.querySelector(".dp-reset").addEventListener("click", () => {
    sliders.forEach((slider) => { slider.value = slider.dataset.start; });
    move();
  });
  figure.addEventListener("pointerenter", neighbors, { once: true });
  figure.addEventListener("focusin", neighbors, { once: true });
  window.addEventListener("pageshow", () => { // a browser may restore a moved slider when the reader comes back
    if (sliders.some((slider) => slider.value !== slider.dataset.start)) move();
  });
  figure.querySelector(".dp-sliders").hidden = false;
}

document.querySelectorAll("figure.dp-explore").forEach(explore);

// Paper cannot be unfolded: open what is folded while the page prints, then fold it again.
let opened = [];
window.addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("article details:not([open]):not(.dp-uses)")];
  opened.forEach((one) => { one.open = true; });
});
window.addEventListener("afterprint", () => {
  opened.forEach((one) => { one.open = false; });
  opened = [];
});
