// Two pictures of one thing: side by side, in turn (flicker), one over the other (slide), or further pictures such as
// their difference.

function comparedBlock(given, prose) {
  const picture = (label, src) => el("div", { "data-label": label }, el("img", { src, alt: label }), el("small", {}, label));
  const [first, second] = given.pictures.map((src, i) => picture(given.labels[i], src));
  const more = given.more.map(([label, src]) => picture(label, src));
  const stage = el("div", { class: "pictures" }, first, second, ...more);
  const slider = el("input", { type: "range", min: "0", max: "100", value: "50", "aria-label": `${given.labels[0]} or ${given.labels[1]}` });
  const views = [["side", "Side by side"], ["flicker", "Flicker"], ["slide", "Slide"], ...given.more.map(([label], i) => [`more${i}`, label])];
  let timer = null;

  const cut = () => { second.style.clipPath = stage.dataset.view === "slide" ? `inset(0 0 0 ${slider.value}%)` : ""; };
  const show = (view) => {
    clearInterval(timer);
    stage.dataset.view = view;
    const seen = view === "side" || view === "slide" ? [first, second] : view === "flicker" ? [first] : [more[+view.slice(4)]];
    for (const node of stage.children) node.hidden = !seen.includes(node);
    if (view === "flicker") timer = setInterval(() => { [first.hidden, second.hidden] = [second.hidden, first.hidden]; }, 600);
    slider.hidden = view !== "slide";
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.view === view));
    cut();
  };
  slider.addEventListener("input", cut);
  const buttons = views.map(([view, label]) => el("button", { type: "button", class: "quiet", "data-view": view, onclick: () => show(view) }, label));
  show("side");
  return { node: el("figure", { class: "block compared", "data-compared": given.name },
    el("figcaption", {}, el("h3", {}, given.title), el("div", { class: "views" }, ...buttons)),
    stage, slider, given.about ? el("p", { class: "about" }, ...prose(given.about)) : null) };
}
