// What controls hold, and whose values are secret.
const values = (() => {
  const { attr, tag, html } = dom;
  const { cut, flat } = strings;
  const { role, editingHost, INPUTS } = roles;

  const VALUE_MAX = 500;

  // ---- secrets

  const SECRET = /(?:^|\s)(?:one-time-code|current-password|new-password|cc-[a-z-]+)(?:\s|$)/i;
  const wasPassword = new WeakSet();

  // A field whose value is nobody's business. One that was a password field
  // stays one when the page shows its text.
  function secret(el) {
    if (el instanceof HTMLInputElement && el.type === 'password') {
      wasPassword.add(el);
      return true;
    }
    if (wasPassword.has(el)) return true;
    const complete = attr(el, 'autocomplete');
    if (complete && SECRET.test(complete)) return true;
    const t = tag(el);
    if ((t === 'input' && INPUTS.get(el.type) === undefined) || t === 'textarea' || editingHost(el)) {
      const mask = dom.style(el).webkitTextSecurity;
      return !!mask && mask !== 'none';
    }
    return false;
  }

  // ---- values

  // Roles whose value stands for them in another's name.
  const EMBEDDED = new Set(['textbox', 'searchbox', 'combobox', 'listbox', 'slider', 'spinbutton', 'scrollbar']);

  const WITHOUT_VALUE = new Set(['button', 'submit', 'reset', 'image', 'checkbox', 'radio', 'hidden']);
  const RANGE = new Set(['slider', 'spinbutton', 'progressbar', 'scrollbar', 'meter', 'separator']);

  function rawValue(el, r) {
    const t = html(el) ? tag(el) : '';
    switch (t) {
      case 'input':
        if (WITHOUT_VALUE.has(el.type)) return undefined;
        if (el.type === 'file') return Array.from(el.files || [], (f) => f.name).join(', ');
        return el.value;
      case 'textarea': return el.value;
      case 'select': return Array.from(el.selectedOptions, optionText).join(', ');
      case 'progress': return el.position < 0 ? undefined : String(el.value);
      case 'meter': return String(el.value);
    }
    if (RANGE.has(r)) return attr(el, 'aria-valuetext') || attr(el, 'aria-valuenow') || undefined;
    if (r === 'textbox' || r === 'searchbox' || (r === 'combobox' && editingHost(el))) return names.content(el);
    if (r === 'combobox' || r === 'listbox') return chosen(el);
    return undefined;
  }

  const optionText = (option) => flat(attr(option, 'label') || dom.text(option));

  function chosen(el) {
    if (dom.firstElement(el) === null) return undefined;
    const picked = dom.many(el, '[role=option][aria-selected=true]');
    return picked.length ? Array.from(picked, (o) => names.name(o)).join(', ') : undefined;
  }

  // What a control holds, cut; undefined when that says nothing or is secret.
  function value(el, r = role(el)) {
    if (!EMBEDDED.has(r) && !RANGE.has(r) && tag(el) !== 'input') return undefined;
    if (secret(el)) return undefined;
    const v = rawValue(el, r);
    if (v === undefined || v === '') return undefined;
    return cut((v.length > 8 * VALUE_MAX ? v.slice(0, 8 * VALUE_MAX) : v).toWellFormed(), VALUE_MAX);
  }

  return { secret, rawValue, value, EMBEDDED };
})();
