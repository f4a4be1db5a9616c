// Draws each figure of the page in the page's colours: `var(--fast)` in a figure is that of the style sheet.
async function unpacked(name) {
  const packed = Uint8Array.from(atob(document.getElementById(name).textContent), (c) => c.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

function draw() {
  const style = getComputedStyle(document.documentElement);
  for (const spec of document.querySelectorAll("script[data-chart]")) {
    const text = spec.textContent.replace(/var\((--[a-z0-9]+)\)/g, (_, name) => style.getPropertyValue(name).trim());
    const figure = JSON.parse(text);
    const options = { responsive: true, displaylogo: false, modeBarButtons: [["toImage"]] };
    Plotly.react(document.getElementById(spec.dataset.chart), figure.data, figure.layout, options);
  }
}

function onPaper(printed) {
  document.documentElement.classList.toggle("paper", printed);
  draw();
}

unpacked("plotly").then((library) => {
  const script = document.createElement("script");
  script.textContent = library;
  document.head.append(script);
  for (const place of document.querySelectorAll(".chart")) place.textContent = "";
  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  addEventListener("beforeprint", () => onPaper(true));
  addEventListener("afterprint", () => onPaper(false));
});
