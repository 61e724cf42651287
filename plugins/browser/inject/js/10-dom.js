// The composed tree: what is rendered, through slots and shadow roots.
//
// A form and the document answer to the names of what they hold: with
// <input name=parentNode> the property is that input. So nothing here reads
// a property from a node of the page: the getters come from the prototypes,
// which in this world no page can change.
const dom = (() => {
  const get = (type, name) => Object.getOwnPropertyDescriptor(type.prototype, name).get;

  // own reads a property of a node, or calls a method, by its prototype.
  const own = (type, name) => {
    const d = Object.getOwnPropertyDescriptor(type.prototype, name);
    return d.get ? (o) => d.get.call(o) : (o, ...args) => d.value.apply(o, args);
  };

  const nodeTypeOf = get(Node, 'nodeType');
  const parentNodeOf = get(Node, 'parentNode');
  const firstChildOf = get(Node, 'firstChild');
  const nextSiblingOf = get(Node, 'nextSibling');
  const textContentOf = get(Node, 'textContent');
  const isConnectedOf = get(Node, 'isConnected');
  const ownerDocumentOf = get(Node, 'ownerDocument');
  const assignedSlotOf = get(Element, 'assignedSlot');
  const textAssignedSlotOf = get(Text, 'assignedSlot');
  const localNameOf = get(Element, 'localName');
  const shadowRootOf = get(Element, 'shadowRoot');
  const firstElementChildOf = { 1: get(Element, 'firstElementChild'), 9: get(Document, 'firstElementChild'), 11: get(DocumentFragment, 'firstElementChild') };
  const nextElementSiblingOf = get(Element, 'nextElementSibling');
  const inertOf = get(HTMLElement, 'inert');
  const documentElementOf = get(Document, 'documentElement');
  const bodyOf = get(Document, 'body');
  const titleOf = get(Document, 'title');
  const doctypeOf = get(Document, 'doctype');
  const baseURIOf = get(Node, 'baseURI');
  const activeElementOf = get(Document, 'activeElement');
  const labelledByOf = get(Element, 'ariaLabelledByElements');
  const styleSheetsOf = get(Document, 'styleSheets');
  const adoptedStyleSheetsOf = get(Document, 'adoptedStyleSheets');
  const E = Element.prototype;
  const { getAttribute, hasAttribute, hasAttributes, matches, closest, checkVisibility, getBoundingClientRect } = E;
  const allOf = Document.prototype.getElementsByTagName;
  const { getRootNode, contains: nodeContains } = Node.prototype;
  const { assignedNodes } = HTMLSlotElement.prototype;
  const queryOne = { 9: Document.prototype.querySelector, 11: DocumentFragment.prototype.querySelector, 1: E.querySelector };
  const queryMany = { 9: Document.prototype.querySelectorAll, 11: DocumentFragment.prototype.querySelectorAll, 1: E.querySelectorAll };

  const type = (n) => nodeTypeOf.call(n);
  const parentNode = (n) => parentNodeOf.call(n);
  const firstChild = (n) => firstChildOf.call(n);
  const nextSibling = (n) => nextSiblingOf.call(n);
  const text = (n) => textContentOf.call(n);
  const connected = (n) => isConnectedOf.call(n) && ownerDocumentOf.call(n) === document;
  const tag = (el) => localNameOf.call(el);
  const firstElement = (n) => firstElementChildOf[type(n)].call(n);
  const nextElement = (el) => nextElementSiblingOf.call(el);
  const attr = (el, name) => getAttribute.call(el, name);
  const has = (el, name) => hasAttribute.call(el, name);
  const bare = (el) => !hasAttributes.call(el);
  const is = (el, selector) => matches.call(el, selector);
  const up = (el, selector) => closest.call(el, selector);
  const rootNode = (n) => getRootNode.call(n);
  const rect = (el) => getBoundingClientRect.call(el);
  const html = (el) => el instanceof HTMLElement;

  const labelledBy = (el) => labelledByOf.call(el) || [];

  // The elements that aria-owns adds to the children of an element.
  function owns(el) {
    const root = rootNode(el);
    if (!queryOne[type(root)]) return [];
    return attr(el, 'aria-owns').trim().split(/\s+/).filter(Boolean)
      .map((id) => one(root, `#${CSS.escape(id)}`)).filter(Boolean);
  }

  const sheets = (r) => r === document ?
    [...styleSheetsOf.call(r), ...adoptedStyleSheetsOf.call(r)] : [...r.styleSheets, ...r.adoptedStyleSheets];

  const one = (root, selector) => queryOne[type(root)].call(root, selector);
  const many = (root, selector) => queryMany[type(root)].call(root, selector);

  // Closed shadow roots that were given: this world cannot find them itself.
  const closedRoots = new WeakMap();
  let anyClosed = false;

  function openRoot(host, root) {
    closedRoots.set(host, root);
    anyClosed = true;
  }

  const shadow = (el) => shadowRootOf.call(el) || (anyClosed ? closedRoots.get(el) : undefined) || null;

  // The slot of a node below a host with a closed root, whose assignedSlot is
  // kept from us: the first slot of that name.
  function closedSlot(node, host) {
    const at = anyClosed && closedRoots.get(host);
    if (!at) return null;
    const name = type(node) === 1 ? attr(node, 'slot') || '' : '';
    for (const slot of many(at, 'slot')) if ((attr(slot, 'name') || '') === name) return slot;
    return null;
  }

  // The node a node is rendered in; null above the document element.
  function parent(node) {
    const kind = type(node);
    if (kind === 11) return node instanceof ShadowRoot ? node.host : null;
    const slot = kind === 1 ? assignedSlotOf.call(node) : kind === 3 ? textAssignedSlotOf.call(node) : null;
    if (slot) return slot;
    const up = parentNode(node);
    if (!up) return null;
    switch (type(up)) {
      case 11: return up instanceof ShadowRoot ? up.host : null;
      case 9: return null;
    }
    return closedSlot(node, up) || up;
  }

  // The nodes assigned to a slot, or null when it shows its own content.
  function assigned(slot) {
    const nodes = assignedNodes.call(slot);
    return nodes.length ? nodes : null;
  }

  // The child nodes as rendered.
  function children(node) {
    if (type(node) === 1) {
      if (tag(node) === 'slot' && html(node)) {
        const nodes = assigned(node);
        if (nodes) return nodes;
      }
      node = shadow(node) || node;
    }
    const list = [];
    for (let c = firstChild(node); c; c = nextSibling(c)) list.push(c);
    return list;
  }

  function contains(a, b) {
    if (nodeContains.call(a, b)) return true;
    for (let n = b; n; n = parent(n)) if (n === a) return true;
    return false;
  }

  class SelectorError extends Error {}

  // Every open or given root below the document, found once in a call.
  let rootsFound = null;

  function roots() {
    if (rootsFound) return rootsFound;
    rootsFound = [document];
    for (let i = 0; i < rootsFound.length; i++) rootsFound.push(...rootsBelow(rootsFound[i]));
    return rootsFound;
  }

  // The same, or the document alone when it has more elements than max.
  const rootsWithin = (max) => (allOf.call(document, '*').length > max ? [document] : roots());

  function rootsBelow(at) {
    const found = [];
    for (const el of many(at, '*')) {
      const r = shadow(el);
      if (r) found.push(r);
    }
    return found;
  }

  function selecting(selector, f) {
    try {
      return f();
    } catch (e) {
      if (e instanceof DOMException && e.name === 'SyntaxError') {
        throw new SelectorError(`${JSON.stringify(selector)} is not a valid selector`);
      }
      throw e;
    }
  }

  function query(selector) {
    return selecting(selector, () => {
      const el = one(document, selector);
      if (el) return el;
      for (const r of roots()) {
        const found = one(r, selector);
        if (found) return found;
      }
      return null;
    });
  }

  const queryAll = (selector) => selecting(selector, () => roots().flatMap((r) => [...many(r, selector)]));

  let styles = new Map();
  let labelMaps = new Map();
  let modalFound;
  const freshened = [];

  // Forgets what was kept for the call before: each call begins with it.
  function fresh() {
    styles = new Map();
    labelMaps = new Map();
    rootsFound = null;
    modalFound = undefined;
    for (const f of freshened) f();
  }

  function style(el) {
    let s = styles.get(el);
    if (!s) styles.set(el, (s = getComputedStyle(el)));
    return s;
  }

  const withVisibility = { visibilityProperty: true };
  const sees = (el) => checkVisibility.call(el, withVisibility);
  const contents = (el) => style(el).display === 'contents';

  // A box, or display:contents: what CSS renders. A child of something with
  // display:contents has a box exactly when it is rendered.
  function rendered(el) {
    for (let n = el; n; n = parent(n)) {
      if (checkVisibility.call(n)) return true;
      if (!contents(n)) return false;
    }
    return true;
  }

  // Rendered and neither visibility:hidden nor collapsed.
  function shown(el) {
    if (checkVisibility.call(el, withVisibility)) return true;
    return contents(el) && style(el).visibility === 'visible' && rendered(el);
  }

  function hasBox(el) {
    const r = rect(el);
    return r.width > 0 && r.height > 0;
  }

  // Has something on the page that can be seen or hit, by its geometry and
  // not by paint: opacity 0 counts.
  function visible(el) {
    if (checkVisibility.call(el, withVisibility)) return hasBox(el);
    if (tag(el) === 'area') return areaVisible(el);
    return contents(el) && contentsVisible(el);
  }

  const LOOK_MAX = 1000;

  // Whether anything in an element without a box of its own can be seen. It
  // looks at so many nodes and no more.
  function contentsVisible(el) {
    const stack = [el];
    for (let looked = 0; stack.length && looked < LOOK_MAX; looked++) {
      const n = stack.pop();
      for (const c of children(n)) {
        if (type(c) === 3 ? textVisible(c, n) : type(c) === 1 && checkVisibility.call(c, withVisibility) && hasBox(c)) return true;
        if (type(c) === 1 && contents(c)) stack.push(c);
      }
    }
    return false;
  }

  function textVisible(node, el) {
    if (style(el).visibility !== 'visible' || !rendered(el)) return false;
    const range = new Range();
    range.selectNodeContents(node);
    const r = range.getBoundingClientRect();
    return r.width > 0 && r.height > 0;
  }

  // An area of a map has no box: it is where the image is.
  function areaVisible(el) {
    const map = up(el, 'map');
    const name = map && (attr(map, 'name') || attr(map, 'id'));
    if (!name) return false;
    const img = one(rootNode(el), `img[usemap="#${CSS.escape(name)}"]`);
    return !!img && visible(img);
  }

  // Not to be interacted with: an inert ancestor, or a modal dialog that it is
  // not in.
  function inert(el) {
    const top = modal();
    if (top && !contains(top, el)) return true;
    for (let n = el; n; n = parent(n)) {
      if (html(n) && inertOf.call(n)) return true;
      if (n === top) return false;
    }
    return false;
  }

  // The modal dialog that makes the rest of the document inert, if one is
  // open. Of several it is the one that no other makes inert: the one around the
  // focus, else the last in the tree.
  function modal() {
    if (modalFound === undefined) modalFound = topModal();
    return modalFound;
  }

  const MODAL = 'dialog:modal';
  const MODAL_NODES_MAX = 50000; // of a document that is looked through for one

  function topModal() {
    const focus = focused();
    for (let n = focus; n; n = parent(n)) if (type(n) === 1 && is(n, MODAL)) return n;
    const open = many(document, MODAL);
    if (open.length) return open[open.length - 1];
    // The focus is in a dialog when it opens, and can come to nothing behind it.
    if (focus && focus !== bodyOf.call(document)) return null;
    for (const root of rootsWithin(MODAL_NODES_MAX)) {
      const its = root === document ? [] : many(root, MODAL);
      if (its.length) return its[its.length - 1];
    }
    return null;
  }

  // The labels of a control. `labels` of an element walks its whole tree, so
  // with many controls it is asked the other way: each label for its control.
  function labels(el) {
    const r = rootNode(el);
    let map = labelMaps.get(r);
    if (!map) {
      labelMaps.set(r, (map = new Map()));
      if (queryMany[type(r)]) {
        for (const label of many(r, 'label')) {
          const control = label instanceof HTMLLabelElement && label.control;
          if (!control) continue;
          const list = map.get(control);
          if (list) list.push(label);
          else map.set(control, [label]);
        }
      }
    }
    return map.get(el) || [];
  }

  const standsIn = new Set(['checkbox', 'radio', 'file']);

  // The visible label that a click goes to when its control cannot be seen:
  // the usual form of a styled checkbox, radio button or file chooser.
  function proxy(el) {
    if (!(el instanceof HTMLInputElement) || !standsIn.has(el.type)) return null;
    return labels(el).find(visible) || null;
  }

  // The element with the focus, inside shadow roots too.
  function focused() {
    let el = activeElementOf.call(document);
    for (let r; el && (r = shadow(el)) && r.activeElement; ) el = r.activeElement;
    return el;
  }

  return {
    own, parent, children, contains, query, queryAll, style, fresh, visible, rect, openRoot, SelectorError,
    // The same things of one node, safe from the names a form gives away.
    type, tag, attr, has, bare, is, up, text, html, connected, parentNode, firstChild, nextSibling,
    firstElement, nextElement, rootNode, labelledBy, owns, sheets, shadow, assigned, one, many,
    rendered, shown, hasBox, sees, inert, modal, labels, proxy, focused,
    roots, rootsWithin,
    documentElement: () => documentElementOf.call(document),
    body: () => bodyOf.call(document),
    title: () => titleOf.call(document),
    doctype: () => doctypeOf.call(document),
    // The address that those in attributes are relative to.
    absolute(url) {
      const base = baseURIOf.call(document);
      return URL.canParse(url, base) ? new URL(url, base).href : url;
    },
    // f is called whenever the caches are emptied.
    onFresh: (f) => freshened.push(f),
  };
})();
