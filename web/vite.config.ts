import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  base: "/ui/",
  plugins: [react()],
  build: {
    outDir: "../packages/tacit-memory/src/tacit/daemon/static",
    emptyOutDir: true,
    assetsInlineLimit: 0, // the page's policy loads nothing from data: but pictures
    chunkSizeWarningLimit: 700,
    reportCompressedSize: false,
    target: "es2022",
  },
});
