import type { Plugin } from 'vite'
export function compressed(folder: string): Plugin
