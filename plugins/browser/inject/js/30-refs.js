// Refs: names for elements that outlive the call, and never the element.
//
// A ref stands for one element with one role and one name. Nothing of the
// page is kept alive by it, and nothing is written into the page.
const refs = (() => {
  const KEPT = 16; // refs of one element under names it had before
  const byElement = new WeakMap(); // element → its entries, newest last
  const byRef = new Map(); // ref → {el: WeakRef, ref, role, name}
  const given = new Map(); // "gen first" → last number, of the latest ranges
  const RANGES = 4096;
  let sweepAt = 4096;

  // The ref of an element: the one it has while its role and name are what
  // they were, else the next one.
  function of(el, role, name, next) {
    const entries = byElement.get(el);
    if (entries) {
      const last = entries[entries.length - 1];
      if (last.role === role && last.name === name) return last.ref;
    }
    const entry = { el: entries ? entries[0].el : new WeakRef(el), ref: next(), role, name };
    byRef.set(entry.ref, entry);
    if (!entries) byElement.set(el, [entry]);
    else {
      entries.push(entry);
      if (entries.length > KEPT) byRef.delete(entries.shift().ref);
    }
    return entry.ref;
  }

  // The element of a ref, or why there is none.
  function get(ref) {
    const entry = byRef.get(ref);
    if (!entry) return { reason: wasGiven(ref) ? 'detached' : 'unknown' };
    const el = entry.el.deref();
    if (!el || !dom.connected(el)) return { reason: 'detached' };
    if (aria.role(el) !== entry.role || aria.name(el) !== entry.name) return { reason: 'changed' };
    return { el };
  }

  // Notes that the numbers from…next-1 of a generation were given out here, so
  // that a ref whose element was collected is still known as one.
  function gave(gen, from, next) {
    if (next <= from) return;
    given.set(`${gen} ${from}`, { gen, from, next });
    if (given.size > RANGES) given.delete(given.keys().next().value);
    sweep();
  }

  function wasGiven(ref) {
    const m = /^@e(\d+)_(\d+)$/.exec(ref);
    if (!m) return false;
    const gen = Number(m[1]);
    const n = Number(m[2]);
    for (const r of given.values()) if (r.gen === gen && r.from <= n && n < r.next) return true;
    return false;
  }

  // Drops the entries of collected elements whenever the table has doubled.
  function sweep() {
    if (byRef.size < sweepAt) return;
    for (const [ref, entry] of byRef) if (!entry.el.deref()) byRef.delete(ref);
    sweepAt = Math.max(4096, 2 * byRef.size);
  }

  return { of, get, gave };
})();
