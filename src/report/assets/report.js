// Adds what needs a script: hiding curves, saving figures, opening the samples a link leads to. The page
// says everything without it.
(() => {
  "use strict";
  const each = (selector, action) => document.querySelectorAll(selector).forEach(action);

  // A click on a legend entry hides or shows its curve, in both sizes of the figure.
  const toggle = (name) => {
    let off = false;
    each(".legend-entry", (entry) => {
      if (entry.dataset.series === name) off = entry.classList.toggle("off");
    });
    each(".series:not(.legend-entry)", (curve) => {
      if (curve.dataset.series === name) curve.classList.toggle("off", off);
    });
  };
  each(".legend-entry", (entry) => {
    entry.setAttribute("role", "button");
    entry.setAttribute("tabindex", "0");
    entry.setAttribute("aria-label", "Hide or show " + entry.dataset.series);
    entry.addEventListener("click", () => toggle(entry.dataset.series));
    entry.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      toggle(entry.dataset.series);
    });
  });

  // Saves the figure as it is shown, with the style sheet inside, so that it looks the same elsewhere.
  const save = (figure) => {
    const shown = [...figure.querySelectorAll("svg")].find((svg) => svg.getBoundingClientRect().width > 0);
    const copy = shown.cloneNode(true);
    const style = document.createElementNS("http://www.w3.org/2000/svg", "style");
    style.textContent = document.getElementById("figure-style").textContent;
    copy.prepend(style);
    const blob = new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = figure.id + ".svg";
    link.click();
    URL.revokeObjectURL(link.href);
  };
  each("figure", (figure) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Save SVG";
    button.addEventListener("click", () => save(figure));
    figure.querySelector(".figure-head").append(button);
  });

  // A link to samples opens every <details> around them.
  const reveal = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let node = target; node; node = node.parentElement) {
      if (node.tagName === "DETAILS") node.open = true;
    }
    target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  reveal();

  document.documentElement.dataset.ready = "true";
})();
