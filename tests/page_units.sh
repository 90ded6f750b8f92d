#!/bin/sh
# The page's own tests: types, lint, units. web/node_modules was made by the build.
set -e
cd "$(dirname "$0")/../web"
npm run --silent check
npm run --silent lint
npm test --silent
