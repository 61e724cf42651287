// Lists to choose from, and boxes to tick.
(() => {
  const { fail, describe, short, until, resolve, ready } = act;
  const { squeeze, shown, fire, focus } = edits;

  const LISTED = 50; // options told when none fits

  const label = (o) => o.label || o.text;
  const off = (o) => o.disabled || (o.parentElement instanceof HTMLOptGroupElement && o.parentElement.disabled);

  // list is the select an option or label belongs to, and what is wanted of it.
  function list(el, wanted) {
    const own = el instanceof HTMLOptionElement ? dom.up(el, 'select') : null;
    return own ? { el: own, values: wanted ?? [el.value], option: wanted ? null : el } : { el, values: wanted ?? [] };
  }

  // select chooses options by value or by label: value is one or a list. look: it
  // only waits until they can be chosen.
  async function select(arg) {
    const wanted = arg.value === undefined || arg.value === null ? null : [arg.value].flat().map(String);
    const { el, chosen, ...answer } = await until(arg, () => {
      const found = resolve(arg.target, 'select');
      if (!found.el) return found;
      const { el, values, option } = list(found.el, wanted);
      if (!(el instanceof HTMLSelectElement)) return fail('wrong_element', { reason: 'not a select: click it, then the option' });
      if (!wanted && !option) return fail('no_value');
      if (!el.multiple && values.length !== 1) return fail('wrong_element', { reason: 'takes one value' });
      return ready(el, 'select') ?? pick(el, values, option);
    });
    if (!answer.ok || arg.look) return JSON.stringify(answer);
    const before = new Set(el.selectedOptions);
    const changed = before.size !== chosen.size || [...chosen].some((o) => !before.has(o));
    if (changed) {
      focus(el);
      if (el.multiple) for (const o of el.options) o.selected = chosen.has(o);
      else for (const o of chosen) o.selected = true;
      fire(el, 'input', 'change');
    }
    const labels = aria.secret(el) ? null : { labels: Array.from(el.selectedOptions, (o) => short(label(o))).slice(0, 100) };
    const matches = el.selectedOptions.length === chosen.size && [...el.selectedOptions].every((o) => chosen.has(o));
    return JSON.stringify({ ok: true, ...shown(el), ...labels, matches, el: describe(el) });
  }

  // pick finds the option of each value: by its value before by its label.
  function pick(el, values, option) {
    const all = [...el.options], chosen = new Set();
    for (const v of values) {
      let fits = option ? [option] : all.filter((o) => o.value === v);
      if (!fits.length) fits = all.filter((o) => squeeze(label(o)) === squeeze(v));
      const good = fits.find((o) => !off(o));
      if (!good) return fail('no_option', { reason: fits.length ? 'disabled' : 'missing', ...offered(all) });
      chosen.add(good);
    }
    return { ok: true, el, chosen };
  }

  function offered(all) {
    const options = all.slice(0, LISTED).map((o) => (
      { value: bytes.cut(o.value, 80), label: short(label(o)), ...(off(o) && { disabled: true }) }));
    return { options, ...(all.length > LISTED && { more: all.length - LISTED }) };
  }

  api.select = select;
})();

const ticks = (() => {
  const { fail, describe, resolve } = act;

  const ROLES = new Set(['checkbox', 'radio', 'switch', 'menuitemcheckbox', 'menuitemradio']);

  const native = (el) => el instanceof HTMLInputElement && (el.type === 'checkbox' || el.type === 'radio');

  // now is true, false or "mixed".
  const now = (el) => aria.checked(el, aria.role(el)) ?? false;

  // why an element cannot be ticked or unticked, or null.
  function why(el, action) {
    const role = aria.role(el);
    if (!native(el) && !ROLES.has(role)) return fail('wrong_element', { reason: 'not a checkbox, radio button or switch' });
    const radio = native(el) ? el.type === 'radio' : role.endsWith('radio');
    return action === 'uncheck' && radio ? fail('wrong_element', { reason: 'a radio button is unchecked by checking another' }) : null;
  }

  // state tells how a box is ticked: the one that was clicked, by the token of that. Of
  // one that the page has removed a browser's own box still says it.
  function state({ target, action, token }) {
    dom.fresh();
    const clicked = token && guard.element(token);
    if (clicked && !dom.connected(clicked)) return JSON.stringify({ ok: true, ...(native(clicked) && { checked: now(clicked) }) });
    const found = clicked ? { el: clicked } : resolve(target, 'check');
    const no = found.el ? why(found.el, action) : found;
    return JSON.stringify(no ?? { ok: true, checked: now(found.el), el: describe(found.el) });
  }

  api.state = state;
  return { why, native, now };
})();
