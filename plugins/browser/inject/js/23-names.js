// Names: the accessible name computation (accname 1.2).
const names = (() => {
  const { attr, has, tag, html } = dom;
  const { flat, tidy } = strings;
  const { role } = roles;
  const { secret, rawValue, EMBEDDED } = values;

  const NAME_MAX = 200;

  const FROM_CONTENT = new Set(`button cell checkbox columnheader gridcell heading link menuitem menuitemcheckbox
    menuitemradio option radio row rowheader switch tab tooltip treeitem generic`.split(/\s+/));

  const NODES_MAX = 2000;
  const DEPTH_MAX = 200;
  const NEVER = new Set(['script', 'style', 'noscript', 'template', 'head', 'datalist']);

  // The state of one name's computation: what it is the name of, how much it
  // may still look at, and where it stands.
  const walk = (el, rendered = dom.rendered(el)) =>
    ({ of: el, nodes: NODES_MAX, length: 0, depth: 0, hidden: !rendered, referred: false });

  function labelled(el, at) {
    if (at.referred || !has(el, 'aria-labelledby')) return '';
    const parts = [];
    for (const target of dom.labelledBy(el)) {
      const part = flat(within(target, at));
      if (part) parts.push(part);
    }
    return parts.join(' ');
  }

  // The text of an element that another is named by, whether hidden or not.
  function within(target, at) {
    const { hidden, referred } = at;
    at.hidden = !dom.shown(target) || attr(target, 'aria-hidden') === 'true';
    at.referred = true;
    const text = compute(target, at, false);
    at.hidden = hidden;
    at.referred = referred;
    return text;
  }

  // A control inside a label counts with what it holds.
  function embedded(el, r) {
    if (!EMBEDDED.has(r)) return undefined;
    return secret(el) ? '' : rawValue(el, r) || '';
  }

  const LABELABLE = new Set(['input', 'select', 'textarea', 'button', 'meter', 'output', 'progress']);

  function fromLabels(el, at) {
    if (at.referred) return '';
    if (!LABELABLE.has(tag(el)) && !tag(el).includes('-')) return '';
    let list = dom.labels(el);
    // Inside another's name, a label around the control has been read already.
    if (el !== at.of) list = list.filter((label) => !dom.contains(label, el));
    if (list.length === 0) return '';
    return list.map((label) => flat(within(label, at))).filter(Boolean).join(' ');
  }

  function child(el, name) {
    for (let c = dom.firstElement(el); c; c = dom.nextElement(c)) if (tag(c) === name) return c;
    return null;
  }

  const BUTTON_TEXT = { submit: 'Submit', reset: 'Reset', image: 'Submit' };

  function inputName(el, at) {
    const label = fromLabels(el, at);
    if (label) return label;
    switch (el.type) {
      case 'button': case 'submit': case 'reset':
        return has(el, 'value') && (attr(el, 'value') || el.type === 'button') ? el.value : BUTTON_TEXT[el.type] || '';
      case 'image': return attr(el, 'alt') || attr(el, 'title') || BUTTON_TEXT.image;
      case 'file': return attr(el, 'title') || (el.multiple ? 'Choose Files' : 'Choose File');
    }
    return '';
  }

  const fromChild = (name) => (el, at) => {
    const c = child(el, name);
    return c ? within(c, at) : '';
  };

  // Names that HTML gives, before those of content and title.
  const NATIVE = new Map(Object.entries({
    input: inputName,
    button: fromLabels,
    select: fromLabels,
    textarea: fromLabels,
    meter: fromLabels,
    output: fromLabels,
    progress: fromLabels,
    img: (el) => attr(el, 'alt') || '',
    area: (el) => attr(el, 'alt') || '',
    fieldset: fromChild('legend'),
    figure: fromChild('figcaption'),
    table: (el, at) => fromChild('caption')(el, at) || attr(el, 'summary') || '',
    optgroup: (el) => attr(el, 'label') || '',
    option: (el) => attr(el, 'label') || '',
  }));

  function native(el, at) {
    const t = tag(el);
    const f = NATIVE.get(t);
    if (f && html(el)) return f(el, at);
    if (!html(el)) {
      const title = child(el, 'title');
      return title ? dom.text(title) : attr(el, 'xlink:title') || '';
    }
    return t.includes('-') ? fromLabels(el, at) : '';
  }

  // Whether a child adds nothing to a name because it is not there.
  function left(el, at) {
    if (attr(el, 'aria-hidden') === 'true') return !at.hidden;
    return at.hidden ? NEVER.has(tag(el)) : !dom.shown(el);
  }

  const inline = (el) => {
    const d = dom.style(el).display;
    return d === 'inline' || d === 'contents' || d === 'none';
  };

  function content(el, at) {
    const pseudo = !at.hidden && generated.has(el);
    if (!pseudo && dom.firstElement(el) === null && !dom.shadow(el) && tag(el) !== 'slot' && !has(el, 'aria-owns')) {
      const text = dom.text(el);
      at.length += text.length;
      return text.length > 8 * NAME_MAX ? text.slice(0, 8 * NAME_MAX) : text;
    }
    if (at.depth >= DEPTH_MAX) return '';
    at.depth++;
    let out = pseudo ? generated.text(el, '::before') : '';
    for (const node of dom.children(el)) {
      if (at.nodes-- <= 0 || at.length > 4 * NAME_MAX) break;
      out += part(node, at);
    }
    for (const owned of has(el, 'aria-owns') ? dom.owns(el) : []) {
      if (at.nodes-- > 0 && !dom.contains(owned, el)) out += part(owned, at);
    }
    if (pseudo) out += generated.text(el, '::after');
    at.depth--;
    return out;
  }

  function part(node, at) {
    switch (dom.type(node)) {
      case 3: {
        const text = dom.text(node);
        at.length += text.trim().length;
        return text.length > 8 * NAME_MAX ? text.slice(0, 8 * NAME_MAX) : text;
      }
      case 1: {
        if (tag(node) === 'br') return ' ';
        // A control says nothing in the label around it.
        if (node === at.of || left(node, at)) return '';
        const text = compute(node, at, false);
        return text && !inline(node) ? ` ${text} ` : text;
      }
    }
    return '';
  }

  // The name of an element (top), or what it adds to the name of another.
  function compute(el, at, top, r = role(el)) {
    const text = labelled(el, at);
    if (text) return text;
    if (!top && el !== at.of) {
      const held = embedded(el, r);
      if (held !== undefined) return held;
    }
    const label = attr(el, 'aria-label');
    if (label !== null && label.trim()) return label;
    if (!top && el === at.of && EMBEDDED.has(r)) return '';
    if (r !== 'none' || tag(el) === 'input') {
      const given = native(el, at);
      if (given.trim()) return given;
    }
    if (!top || FROM_CONTENT.has(r)) {
      const inner = content(el, at);
      if (inner.trim()) return inner;
      if (tag(el) === 'summary' && r === 'button') return 'Details';
    }
    return attr(el, 'title') || (top ? hint(el) : '');
  }

  function hint(el) {
    const t = tag(el);
    return (t === 'input' || t === 'textarea' ? attr(el, 'placeholder') : '') || attr(el, 'aria-placeholder') || '';
  }

  // The accessible name, well-formed and cut. What has no role at all is
  // named by its content too: it is asked only for what can be clicked.
  // The role, and that it is rendered, save work when they are known.
  const name = (el, r = role(el), rendered = dom.rendered(el)) => tidy(compute(el, walk(el, rendered), true, r), NAME_MAX);

  // Whether an element is named by what is in it.
  function byContent(el, r = role(el)) {
    if (!FROM_CONTENT.has(r) || attr(el, 'aria-label')?.trim()) return false;
    const at = walk(el, true);
    return !labelled(el, at) && !native(el, at).trim();
  }

  // The text in an element, for things that are not named by their content.
  const text = (el, max = NAME_MAX) => tidy(content(el, walk(el)), max);

  return { name, byContent, text, content: (el) => content(el, walk(el)), NAME_MAX };
})();
