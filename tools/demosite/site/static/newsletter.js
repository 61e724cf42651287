'use strict';
document.getElementById('subscribe').addEventListener('click', () => {
  document.getElementById('done').textContent = `Subscribed: ${document.getElementById('address').value}`;
});
