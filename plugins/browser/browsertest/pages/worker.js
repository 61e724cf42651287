console.log('from a worker');
postMessage('ready');
setTimeout(() => { throw new Error('thrown in a worker'); }, 20);
Promise.reject(new Error('rejected in a worker'));
