'use strict';
console.debug('demo: a debug message');
console.log('demo: a message', {number: 1});
console.info('demo: some information');
console.warn('demo: a warning');
console.error('demo: an error message');
Promise.reject(new Error('demo: rejected on load'));
addEventListener('DOMContentLoaded', () => {
  document.getElementById('log').addEventListener('click', () => console.log('demo: clicked'));
  document.getElementById('throw').addEventListener('click', () => { throw new TypeError('demo: thrown by a click'); });
  document.getElementById('reject').addEventListener('click', () => { Promise.reject(new Error('demo: rejected by a click')); });
  document.getElementById('missing').addEventListener('click', () => fetch('/missing').then((r) => console.warn('demo: status', r.status)));
});
throw new Error('demo: thrown on load');
