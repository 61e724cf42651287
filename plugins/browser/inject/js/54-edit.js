// Fields: what makes one ready for text, what sets it where text cannot, and
// what it holds afterwards.
const edits = (() => {
  const { own } = dom;
  const { fail, describe, until, resolve, ready, rich, up } = act;

  // Kinds of <input> that take typed text, and those that take a value whole.
  const TYPED = new Set(['text', 'search', 'email', 'tel', 'url', 'password', 'number']);
  const WHOLE = new Map(Object.entries({
    'date': 'yyyy-mm-dd', 'time': 'hh:mm', 'datetime-local': 'yyyy-mm-ddThh:mm', 'month': 'yyyy-mm', 'week': 'yyyy-Www',
    'color': '#rrggbb', 'range': 'a number from min to max, in steps',
  }));
  const INSTEAD = { file: 'upload', checkbox: 'check', radio: 'check', select: 'select' };
  const VALUE = 4096; // bytes of a value that are told unless asked for more
  const VALUES = 100; // of a list

  const focus = own(HTMLElement, 'focus');
  const dispatch = own(EventTarget, 'dispatchEvent');
  const innerText = own(HTMLElement, 'innerText');

  // kind says how an element is edited: text, whole, rich, or null for not at all.
  function kind(el) {
    if (el instanceof HTMLInputElement) return TYPED.has(el.type) ? 'text' : WHOLE.has(el.type) ? 'whole' : null;
    if (el instanceof HTMLTextAreaElement) return 'text';
    return rich(el) ? 'rich' : null;
  }

  // why an element cannot be edited, or null.
  function why(el) {
    if (kind(el)) return aria.states(el).readonly && !/^(range|color)$/.test(el.type) ? fail('readonly') : null;
    const use = INSTEAD[el instanceof HTMLInputElement ? el.type : dom.tag(el)];
    return fail('not_editable', use && { reason: `use ${use}` });
  }

  // hold resolves a target, and waits until it can be used.
  const hold = (arg, action) => until(arg, () => {
    const found = resolve(arg.target, action);
    return found.el ? ready(found.el, action) ?? { ok: true, el: found.el } : found;
  });

  function fire(el, ...types) {
    for (const type of types) dispatch(el, new Event(type, { bubbles: true, composed: type === 'input' }));
  }

  // edit waits for a field and makes it ready for what is sent next, which how
  // says: "insert" the text, press "delete", send "keys", or nothing, for what
  // needed nothing ("done"). One that takes a value "whole" is asked for again with
  // set, and gets it.
  async function edit(arg) {
    const question = calls.current();
    const { el, ...answer } = await hold(arg, arg.action);
    if (!answer.ok) return JSON.stringify(answer);
    const text = arg.action === 'clear' ? '' : String(arg.value ?? '');
    const k = kind(el);
    const done = k === 'whole' ? whole(el, text, arg.set) : prepare(el, k, arg.action, text, question);
    return JSON.stringify(done.ok ? { ...done, el: describe(el) } : done);
  }

  // whole gives a field a whole value, unless it is only looked at. Another of the
  // same kind, which the page never sees, tells first whether it is one.
  function whole(el, text, set) {
    const probe = new DOMParser().parseFromString('<input>', 'text/html').querySelector('input');
    for (const name of ['type', 'min', 'max', 'step']) if (dom.has(el, name)) probe.setAttribute(name, dom.attr(el, name));
    probe.value = text;
    const fits = {
      range: () => text.trim() !== '' && Number(probe.value) === Number(text),
      color: () => probe.value === text.toLowerCase(),
    }[el.type] ?? (() => (probe.value === '') === (text === ''));
    if (!fits()) return fail('not_editable', { reason: 'malformed', expected: WHOLE.get(el.type) });
    if (!set) return { ok: true, how: 'whole' };
    focus(el);
    if (el.value !== probe.value) {
      el.value = probe.value; // this world's setter: what the page put on its own object is not called
      fire(el, 'input', 'change');
    }
    return { ok: true, ...shown(el), matches: el.value === probe.value };
  }

  function prepare(el, k, action, text, question) {
    if (el.type === 'number' && action !== 'type' && text !== '' && !(text.trim() !== '' && Number.isFinite(Number(text)))) {
      return fail('not_editable', { reason: 'malformed', expected: 'a number' });
    }
    const host = k === 'rich' ? up(el, (e) => !rich(dom.parent(e))) : el;
    focus(host, { preventScroll: false });
    if (dom.focused() !== host) return fail('not_editable', { reason: 'focus_moved' });
    if (action === 'type') {
      caretToEnd(el, k);
      typed = { token: (typed?.token ?? 0) + 1, el: new WeakRef(el), text: held(el) + line(el, text) };
      return { ok: true, how: 'keys', typed: typed.token, token: guard.text(el, host, question, true) };
    }
    const empty = k === 'rich' ? !dom.text(el) && !dom.one(el, 'img,video,hr,table,li') : !el.value && !el.validity.badInput;
    if (text === '' && empty) return { ok: true, how: 'done', ...shown(el) };
    if (k === 'rich') selectContents(el);
    else el.select();
    return { ok: true, how: text === '' ? 'delete' : 'insert', token: guard.text(el, host, question, text === '') };
  }

  function selectContents(el) {
    const range = new Range();
    range.selectNodeContents(el);
    const s = getSelection();
    s.removeAllRanges();
    s.addRange(range);
  }

  function caretToEnd(el, k) {
    if (k === 'rich') {
      selectContents(el);
      getSelection().collapseToEnd();
    } else if (el.type === 'number' || el.type === 'email') { // these have no ranges
      el.select();
      getSelection().modify('move', 'forward', 'lineboundary');
    } else {
      el.setSelectionRange(el.value.length, el.value.length);
    }
  }

  // held is what an element holds: a text, a list of them, or undefined.
  function held(el) {
    if (el instanceof HTMLSelectElement) {
      const values = Array.from(el.selectedOptions, (o) => o.value);
      return el.multiple ? values : values[0] ?? '';
    }
    const k = kind(el);
    return k === 'rich' ? innerText(el).replace(/\n$/, '') : k ? el.value : undefined;
  }

  // The latest field that keys were sent to, and what it should hold then.
  let typed = null;

  // line is as much of a text as its keys write into the field they begin in: a
  // tab leads out of it, and a new line only submits the form of one.
  function line(el, text) {
    const [inside] = text.split('\t');
    return el instanceof HTMLInputElement ? inside.replace(/[\r\n]/g, '') : inside;
  }

  // shown is what may be told of it: nothing that is secret.
  function shown(el, max = VALUE) {
    const now = held(el);
    if (now === undefined) return null;
    if (aria.secret(el)) return { secret: true };
    if (Array.isArray(now)) return { value: now.slice(0, VALUES).map((v) => bytes.cut(v, 256)), ...(now.length > VALUES && { truncated: true }) };
    const cut = bytes.cut(now, max);
    return { value: cut, ...(cut.length < now.length && { truncated: true }) };
  }

  const squeeze = (s) => s.replace(/\s+/g, ' ').trim();
  const lines = (s) => s.replace(/\r\n?/g, '\n');
  const same = (el, a, b) => (kind(el) === 'rich' ? squeeze(a) === squeeze(b) : lines(a) === lines(b));

  // value reads back what an element holds. With what edit gave, token or typed,
  // it is that very element; blocked tells of text that went elsewhere and was
  // stopped, and matches whether it holds what it should. sent: keys or a text were, and
  // it fails when they have gone into another document. With inputs it waits for so
  // many.
  function value({ target, token, typed: keys, expect, sent: text, inputs }) {
    if (inputs) return guard.after(token, inputs, () => value({ target, token, expect, sent: text }));
    dom.fresh();
    const sent = keys && typed?.token === keys ? typed : null;
    let el = token ? guard.element(token) : sent?.el.deref();
    const ended = token ? guard.end(token) : null;
    const tell = (answer) => JSON.stringify(ended?.blocked ? { ...answer, blocked: ended.blocked, begun: ended.begun } : answer);
    // Of a key that came down here what it writes may have gone into another document.
    const strayed = text && ended && !ended.hit && !ended.blocked && (!ended.begun || guard.away());
    expect = sent?.text ?? expect;
    if (!el || !dom.connected(el)) {
      if (strayed) return JSON.stringify(guard.elsewhere(null));
      const found = resolve(target, 'fill');
      if (!found.el) return tell(found);
      el = found.el;
    }
    const now = held(el);
    if (now === undefined) return strayed ? JSON.stringify(guard.elsewhere(null)) : tell(fail('not_editable'));
    const answer = { ok: true, ...shown(el) };
    if (expect !== undefined) answer.matches = Array.isArray(now) ? now.join('\n') === [expect].flat().join('\n') : same(el, now, String(expect));
    const at = dom.focused();
    const lost = strayed && !answer.matches && guard.elsewhere(el);
    if (lost) return JSON.stringify(lost);
    if (sent && at && at !== dom.body() && !dom.contains(el, at) && !dom.contains(at, el)) answer.focus = describe(at);
    return tell(answer);
  }

  Object.assign(api, { edit, value });
  return { why, hold, fire, focus, shown, squeeze };
})();
