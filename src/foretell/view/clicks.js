// Click points in a picture. The chosen point goes where you click; arrow keys move it by half a pixel.

const at = (id) => document.getElementById(id);
const data = JSON.parse(at("data").textContent);
const canvas = at("canvas"), pen = canvas.getContext("2d");
const clicked = new Map(data.points.filter((p) => p.uv).map((p) => [p.name, p.uv]));
let chosen = data.points.find((p) => !clicked.has(p.name))?.name ?? data.points[0].name;
let shown = {}, doubted = null, pointer = null, ended = false;

const given = /^#token=([\w-]+)$/.exec(location.hash);
try {
  if (given) sessionStorage.setItem("foretell-token", given[1]);
} catch { /* then it lives as long as the page */ }
const token = given?.[1] ?? sessionStorage.getItem("foretell-token") ?? "";
history.replaceState(null, "", location.pathname);

canvas.width = data.width;
canvas.height = data.height;
const picture = new Image();
picture.src = "image";
picture.onload = draw;

// Pixels of the picture per pixel of the screen.
const zoom = () => data.width / (canvas.getBoundingClientRect().width || data.width);

function place(event) {
  const box = canvas.getBoundingClientRect();
  const scale = Math.min(box.width / data.width, box.height / data.height); // object-fit: contain
  const left = box.left + (box.width - scale * data.width) / 2, top = box.top + (box.height - scale * data.height) / 2;
  const uv = [(event.clientX - left) / scale, (event.clientY - top) / scale];
  return uv[0] >= 0 && uv[1] >= 0 && uv[0] <= data.width && uv[1] <= data.height ? uv : null;
}

function mark([u, v], colour, size, cross) {
  pen.strokeStyle = colour;
  pen.beginPath();
  if (cross) {
    pen.moveTo(u - size, v - size); pen.lineTo(u + size, v + size);
    pen.moveTo(u - size, v + size); pen.lineTo(u + size, v - size);
  } else pen.arc(u, v, size, 0, 2 * Math.PI);
  pen.stroke();
}

// A magnifier beside the pointer, five times as large.
function magnify([u, v]) {
  const size = 130 * zoom(), part = size / 5;
  const x = u + 30 * zoom() + size > data.width ? u - 30 * zoom() - size : u + 30 * zoom();
  const y = Math.max(0, Math.min(data.height - size, v - size / 2));
  pen.save();
  pen.imageSmoothingEnabled = false;
  pen.drawImage(picture, u - part / 2, v - part / 2, part, part, x, y, size, size);
  pen.strokeStyle = "#ffe600";
  pen.strokeRect(x, y, size, size);
  pen.beginPath();
  pen.moveTo(x + size / 2, y); pen.lineTo(x + size / 2, y + size);
  pen.moveTo(x, y + size / 2); pen.lineTo(x + size, y + size / 2);
  pen.stroke();
  pen.restore();
}

function draw() {
  pen.clearRect(0, 0, data.width, data.height);
  pen.drawImage(picture, 0, 0);
  pen.lineWidth = 1.5 * zoom();
  pen.font = `600 ${13 * zoom()}px sans-serif`;
  for (const [name, uv] of Object.entries(shown)) {
    if (clicked.has(name)) {
      pen.strokeStyle = "#ff00c8";
      pen.beginPath(); pen.moveTo(...clicked.get(name)); pen.lineTo(...uv); pen.stroke();
    }
    mark(uv, "#ff00c8", 5 * zoom(), true);
  }
  for (const [name, uv] of clicked) {
    mark(uv, name === chosen ? "#ffffff" : "#ffe600", 6 * zoom(), false);
    pen.fillStyle = name === chosen ? "#ffffff" : "#ffe600";
    pen.fillText(name, uv[0] + 9 * zoom(), uv[1] - 7 * zoom());
  }
  if (pointer) magnify(pointer);
}

function list() {
  at("points").replaceChildren(...data.points.map((point) => {
    const item = document.createElement("li"), button = document.createElement("button");
    const name = document.createElement("b"), where = document.createElement("small"), off = document.createElement("span");
    name.textContent = point.name;
    where.textContent = `${point.xyz.map((v) => +v.toFixed(4)).join(", ")} m`;
    const uv = clicked.get(point.name), seen = shown[point.name];
    if (uv && seen) off.textContent = `${Math.hypot(uv[0] - seen[0], uv[1] - seen[1]).toFixed(1)} px off`;
    button.type = "button";
    button.setAttribute("aria-pressed", String(point.name === chosen));
    button.onclick = () => { chosen = point.name; list(); draw(); };
    button.append(document.createElement("i"), name, where, off);
    item.className = [uv ? "done" : "", point.name === doubted ? "doubted" : ""].join(" ");
    item.append(button);
    return item;
  }));
  at("hint").textContent = ended ? "Saved. You can close this page."
    : clicked.has(chosen) ? `${chosen} is set; click again or use the arrow keys to move it` : `Click ${chosen} in the picture`;
  at("solve").disabled = at("save").disabled = ended || !token || clicked.size < 4;
}

function set(uv) {
  clicked.set(chosen, uv);
  shown = {};
  doubted = null;
}

canvas.addEventListener("pointermove", (event) => { pointer = place(event); draw(); });
canvas.addEventListener("pointerleave", () => { pointer = null; draw(); });
canvas.addEventListener("click", (event) => {
  const uv = place(event);
  if (!uv || ended) return;
  set(uv);
  chosen = data.points.find((p) => !clicked.has(p.name))?.name ?? chosen;
  list();
  draw();
});
canvas.addEventListener("keydown", (event) => {
  const step = { ArrowLeft: [-0.5, 0], ArrowRight: [0.5, 0], ArrowUp: [0, -0.5], ArrowDown: [0, 0.5] }[event.key];
  if (!step || !clicked.has(chosen)) return;
  event.preventDefault();
  const [u, v] = clicked.get(chosen);
  set([u + step[0], v + step[1]]);
  pointer = clicked.get(chosen);
  list();
  draw();
});

async function ask(path) {
  at("problem").textContent = "";
  try {
    const reply = await fetch(path, { method: "POST", headers: { "X-Foretell-Token": token, "Content-Type": "application/json" },
      body: JSON.stringify(Object.fromEntries(clicked)) });
    const answer = await reply.json();
    if (answer.error) throw new Error(answer.error);
    ({ shown, doubted } = answer);
    at("answer").textContent = answer.text;
    ended = path === "save";
  } catch (error) {
    at("problem").textContent = error.message;
  }
  list();
  draw();
}
at("solve").onclick = () => ask("solve");
at("save").onclick = () => ask("save");
if (!token) at("problem").textContent = "This page was opened without the token in the link that foretell printed.";
list();
