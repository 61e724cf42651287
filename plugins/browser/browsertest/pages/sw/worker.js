// Answers /pages/sw/synthetic itself, and asks the server's other name for
// /pages/sw/elsewhere, a request that no page made.
console.log('from a service worker');
addEventListener('install', () => skipWaiting());
addEventListener('activate', (e) => e.waitUntil(clients.claim()));
addEventListener('fetch', (e) => {
  const u = new URL(e.request.url);
  if (u.pathname === '/pages/sw/synthetic') e.respondWith(new Response('from the worker'));
  if (u.pathname === '/pages/sw/elsewhere') {
    const host = u.hostname === '127.0.0.1' ? 'localhost' : '127.0.0.1';
    e.respondWith(fetch(`http://${host}:${u.port}/status?code=200&body=elsewhere`, {mode: 'no-cors'}).then(() => new Response('fetched'), (err) => new Response('refused: ' + err)));
  }
});
