import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

const INTO = "../src/turnkeeper/server/console_files";
const WORTH_IT = 1_024;

/** Writes every file once more in less bytes, so that the server need not do it at each visit. */
function compressed(): Plugin {
  return {
    name: "compressed",
    apply: "build",
    closeBundle() {
      for (const name of readdirSync(INTO, { recursive: true, encoding: "utf8" })) {
        const path = join(INTO, name);
        if (!/\.(js|css|html|svg)$/.test(name) || statSync(path).size < WORTH_IT) continue;
        const content = readFileSync(path);
        writeFileSync(`${path}.br`, brotliCompressSync(content));
        writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }));
      }
    },
  };
}

export default defineConfig({
  base: "/console/",
  plugins: [react(), compressed()],
  build: {
    outDir: INTO,
    emptyOutDir: true,
    // A data: URL would need a hole in the policy of the page.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2022",
  },
  worker: { format: "es" },
  server: { proxy: { "/api": "http://127.0.0.1:8765" } },
});
