'use strict';
document.getElementById('confirm').addEventListener('click', () => {
  window.opener?.postMessage('receipt confirmed', location.origin);
  window.close();
});
document.getElementById('close').addEventListener('click', () => window.close());
