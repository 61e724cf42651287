// What a page saw of an action, for tests to read: window.log holds the events
// in their order, as the page's own capture listeners get them. Moves are left
// out unless the page's root element has data-moves.
'use strict';
window.log = [];
window.note = (type, more) => {
  if (window.log.length < 10000) window.log[window.log.length] = {type, ...more};
};
(() => {
  const names = [
    'pointerdown', 'pointerup', 'pointercancel', 'mousedown', 'mouseup', 'click', 'auxclick', 'dblclick', 'contextmenu', 'wheel',
    'keydown', 'keyup', 'beforeinput', 'input', 'change', 'invalid', 'submit', 'reset', 'focus', 'blur', 'paste', 'cancel',
    'dragstart', 'dragenter', 'dragover', 'dragleave', 'drop', 'dragend', 'compositionstart', 'compositionend',
  ];
  if ('moves' in document.documentElement.dataset) names.push('pointermove', 'mousemove', 'mouseover', 'mouseenter');
  // Taken now: some pages replace or hide what a prototype has.
  const attribute = Element.prototype.getAttribute;
  const where = (e) => {
    const t = e.composedPath()[0];
    if (t === window) return 'window';
    return (t instanceof Element && attribute.call(t, 'id')) || String(t.localName ?? t.nodeName);
  };
  for (const name of names) {
    window.addEventListener(name, (e) => {
      window.note(e.type, {
        isTrusted: e.isTrusted, x: e.clientX, y: e.clientY, button: e.button, detail: e.detail, key: e.key, code: e.code,
        inputType: e.inputType, data: e.data, target: where(e), alt: e.altKey, ctrl: e.ctrlKey, meta: e.metaKey, shift: e.shiftKey,
      });
    }, {capture: true, passive: true});
  }
})();
// The same server under its other name, which is another site for a browser.
window.elsewhere = (path) => {
  const port = new URLSearchParams(location.search).get('port') || location.port;
  const host = location.hostname === '127.0.0.1' ? 'localhost' : '127.0.0.1';
  return `http://${host}:${port}${path}`;
};
