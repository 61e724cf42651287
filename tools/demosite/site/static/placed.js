'use strict';
document.getElementById('receipt').addEventListener('click', (event) => {
  window.open(event.target.dataset.receipt, 'receipt', 'width=420,height=520');
});
window.addEventListener('message', (event) => {
  if (event.origin !== location.origin || event.data !== 'receipt confirmed') return;
  document.getElementById('status').textContent = 'The receipt is confirmed.';
});
