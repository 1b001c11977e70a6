// The address is the state: what is shown can be reloaded and shared.
import { SvelteURLSearchParams } from 'svelte/reactivity'

export const params = new SvelteURLSearchParams(location.search)

addEventListener('popstate', () => {
  const now = new URLSearchParams(location.search)
  for (const key of [...params.keys()]) if (!now.has(key)) params.delete(key)
  for (const [key, value] of now) if (params.get(key) !== value) params.set(key, value)
})

export function get(key: string): string {
  return params.get(key) ?? ''
}

/** Changes parts of the state. A change of view is a step back in history, others are not. */
export function set(changes: Record<string, string>, step: 'push' | 'replace' = 'replace'): void {
  for (const [key, value] of Object.entries(changes)) {
    if (value) params.set(key, value)
    else params.delete(key)
  }
  const query = params.toString()
  const address = location.pathname + (query ? `?${query}` : '')
  if (step === 'push') history.pushState(null, '', address)
  else history.replaceState(null, '', address)
}

/** The address with some parts changed, for links. */
export function link(changes: Record<string, string>): string {
  const next = new URLSearchParams(params.toString())
  for (const [key, value] of Object.entries(changes)) {
    if (value) next.set(key, value)
    else next.delete(key)
  }
  const query = next.toString()
  return location.pathname + (query ? `?${query}` : '')
}
