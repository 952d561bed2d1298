// The token of a page: in the address's fragment once, and then kept by this tab alone.
function token() {
  const given = /^#token=([\w-]+)$/.exec(location.hash);
  try {
    if (given) sessionStorage.setItem("foretell-token", given[1]);
  } catch { /* then it is good for this page only */ }
  if (given) history.replaceState(null, "", location.pathname);
  try {
    return given ? given[1] : sessionStorage.getItem("foretell-token");
  } catch {
    return given ? given[1] : null;
  }
}
