import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';
import { fixtures } from './fixtures/server';

// `vite dev` shows the fixtures, or, with CORDWOOD_INSPECTOR=PORT, what an inspector on that port answers.
const port = process.env['CORDWOOD_INSPECTOR'];
// An inspector refuses what other sites ask, so the page is passed off as its own.
const target = `http://127.0.0.1:${port}`;

export default defineConfig({
  plugins: [svelte(), ...(port === undefined ? [fixtures()] : [])],
  server: {
    host: '127.0.0.1',
    proxy: port === undefined ? {} : { '/api': { target, changeOrigin: true, headers: { origin: target } } },
  },
  build: {
    target: 'es2022',
    assetsInlineLimit: 0, // the page's policy forbids data: addresses
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1000,
  },
});
