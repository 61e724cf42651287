// States, and with roles, names and values all that is said of an element.
const aria = (() => {
  const { attr, has, is, up, tag, html } = dom;
  const { role, summaryRole } = roles;
  const { secret, value } = values;

  const CHECKABLE = new Set(['checkbox', 'radio', 'menuitemcheckbox', 'menuitemradio', 'option', 'switch', 'treeitem']);
  const SELECTABLE = new Set(['gridcell', 'option', 'row', 'tab', 'rowheader', 'columnheader', 'treeitem']);
  const HEADING = /^h([1-6])$/;

  const TRISTATE = { true: true, false: false, mixed: 'mixed' };
  const flag = (el, name) => ({ true: true, false: false })[attr(el, name)];

  // true, false, "mixed", or undefined; a toggle button is checked when it is
  // pressed.
  function checked(el, r) {
    if (tag(el) === 'input' && html(el) && (el.type === 'checkbox' || el.type === 'radio')) {
      if (r === 'button') return TRISTATE[attr(el, 'aria-pressed')];
      return el.type === 'checkbox' && el.indeterminate ? 'mixed' : el.checked;
    }
    if (CHECKABLE.has(r)) return has(el, 'aria-checked') ? TRISTATE[attr(el, 'aria-checked')] : r === 'option' || r === 'treeitem' ? undefined : false;
    if (r === 'button' && has(el, 'aria-pressed')) return TRISTATE[attr(el, 'aria-pressed')];
    return undefined;
  }

  function expanded(el) {
    if (has(el, 'aria-expanded')) return flag(el, 'aria-expanded');
    const t = tag(el);
    if (t === 'details') return el.open;
    if (t === 'summary') return summaryRole(el) === 'button' ? dom.parentNode(el).open : undefined;
    if (has(el, 'popovertarget') && (t === 'button' || t === 'input') && el.popoverTargetElement) return is(el.popoverTargetElement, ':popover-open');
    return undefined;
  }

  function selected(el, r) {
    if (tag(el) === 'option' && html(el)) {
      const list = up(el, 'select');
      return list && secret(list) ? undefined : el.selected;
    }
    return SELECTABLE.has(r) ? flag(el, 'aria-selected') : undefined;
  }

  // Disabled by itself, its fieldset, or aria-disabled here or above.
  function disabled(el) {
    return roles.off(el) || ariaDisabled(el);
  }

  function ariaDisabled(el) {
    for (let n = el; n; n = dom.parent(n)) {
      if (dom.type(n) !== 1) continue;
      const value = attr(n, 'aria-disabled');
      if (value === 'true') return true;
      if (value === 'false') return false;
    }
    return false;
  }

  const CAN_BE_REQUIRED = new Set(['input', 'select', 'textarea']);
  const required = (el) => (CAN_BE_REQUIRED.has(tag(el)) && el.required === true) || attr(el, 'aria-required') === 'true';

  function readonly(el) {
    if (el instanceof HTMLInputElement || el instanceof HTMLTextAreaElement) {
      if (el.readOnly && is(el, ':read-only')) return true;
    }
    return attr(el, 'aria-readonly') === 'true';
  }

  function level(el, r) {
    const given = has(el, 'aria-level') ? parseInt(attr(el, 'aria-level'), 10) : 0;
    if (given > 0) return given;
    if (r !== 'heading') return undefined;
    const m = HEADING.exec(tag(el));
    return m ? Number(m[1]) : 2;
  }

  function states(el, r = role(el)) {
    return {
      checked: checked(el, r), expanded: expanded(el), selected: selected(el, r), disabled: disabled(el),
      required: required(el), readonly: readonly(el), level: level(el, r),
    };
  }

  return {
    ...strings, ...roles, ...names, secret, value,
    states, checked, expanded, selected, ariaDisabled, required, level,
  };
})();
