// What is known about gates, as functions of what the API says. No state, no requests.
import type { Entry, FeatureGate, Server } from './types'

/** A release line, as numbers: 1.9 comes before 1.10. */
export type Minor = readonly [number, number]

export function minor(text: string): Minor {
  const [major, rest] = text.split('.')
  return [Number(major) || 0, Number(rest) || 0]
}

export function compareMinors(a: string, b: string): number {
  const [x, y] = [minor(a), minor(b)]
  return x[0] - y[0] || x[1] - y[1]
}

export function plusMinors(text: string, count: number): string {
  const [major, number] = minor(text)
  return `${major}.${Math.max(0, number + count)}`
}

/** What holds for a gate at a version; nothing before its history. */
export interface Held {
  stage: string
  default: boolean
  locked: boolean
  since: string
}

/** The last entry that holds for a server of a version which must get along with the one before. */
export function heldAt(gate: FeatureGate, version: string): Held | undefined {
  const compatible = plusMinors(version, -1)
  let inherited: string | undefined
  let found: Entry | undefined
  for (const entry of gate.status.history) {
    inherited = entry.minCompatibilityVersion ?? inherited
    const fits = inherited === undefined || compareMinors(compatible, inherited) >= 0
    if (compareMinors(entry.version, version) <= 0 && fits) found = entry
  }
  return found && { stage: found.stage, default: found.default, locked: found.locked, since: found.version }
}

/** Whether the gate may be gone in a release to come. A program that knows it has it. */
export function isGoneAt(gate: FeatureGate, version: string): boolean {
  return mayGoAt(gate, version) && compareMinors(version, binaryOf(gate)) > 0
}

function mayGoAt(gate: FeatureGate, version: string): boolean {
  const end = gate.status.removeIn
  return end !== undefined && compareMinors(end, version) <= 0
}

const LETTERS: Record<string, string> = { Alpha: 'α', Beta: 'β', GA: 'GA', Deprecated: 'D', PreAlpha: '–' }

export function letter(stage: string): string {
  return LETTERS[stage] ?? stage
}

/** All servers that any gate knows, by id. */
export function serversOf(gates: readonly FeatureGate[]): Server[] {
  const found = new Map<string, Server>()
  for (const gate of gates) for (const server of gate.status.perServer) if (!found.has(server.id)) found.set(server.id, server)
  return [...found.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
}

export function valueOn(gate: FeatureGate, id: string): Server | undefined {
  return gate.status.perServer.find((server) => server.id === id)
}

export function isOffDefault(gate: FeatureGate): boolean {
  return gate.status.perServer.some((server) => server.value !== server.default)
}

export function disagrees(gate: FeatureGate): boolean {
  return new Set(gate.status.perServer.map((server) => server.value)).size > 1
}

/** The binary's version of a component, the newest of all servers'. */
export function binaryOf(gate: FeatureGate): string {
  return gate.status.perServer.map((server) => server.binaryVersion).sort(compareMinors).at(-1) ?? '0.0'
}

/** Locked for so long that no version that can be emulated still needs the gate. */
export function isReadyForRemoval(gate: FeatureGate): boolean {
  return mayGoAt(gate, binaryOf(gate))
}

/** Whether the gate may go within the next three releases. */
export function disappearsSoon(gate: FeatureGate): boolean {
  return isGoneAt(gate, plusMinors(binaryOf(gate), 3))
}

export interface Filter {
  text: string
  component: string
  stage: string
  only: string
}

const KINDS = new Map([
  ['changed', isOffDefault],
  ['differs', disagrees],
  ['soon', disappearsSoon],
  ['removable', isReadyForRemoval],
])
/** What the text of a filter is looked for in, of each gate it was ever looked for in. */
const haystacks = new WeakMap<FeatureGate, string>()

function haystack(gate: FeatureGate): string {
  let words = haystacks.get(gate)
  if (words === undefined) {
    words = `${gate.spec.gate} ${gate.spec.component} ${gate.spec.description}`.toLowerCase()
    haystacks.set(gate, words)
  }
  return words
}

/** The gates that fit. What is cheap to know is asked first, since this runs at each key. */
export function matching(gates: readonly FeatureGate[], filter: Filter): FeatureGate[] {
  const words = filter.text.trim().toLowerCase().split(/\s+/)
  const fits = KINDS.get(filter.only) ?? (() => true)
  return gates.filter((gate) => {
    if (filter.component && gate.spec.component !== filter.component) return false
    if (filter.stage && gate.status.stage !== filter.stage) return false
    const text = haystack(gate)
    return words.every((word) => text.includes(word)) && fits(gate)
  })
}

/** What an upgrade or a downgrade changes about a gate. */
export type Change = 'added' | 'removed' | 'flipped on' | 'flipped off' | 'locked' | 'unlocked' | 'promoted'

export function changes(gate: FeatureGate, from: string, to: string): Change[] {
  const before = isGoneAt(gate, from) ? undefined : heldAt(gate, from)
  const after = isGoneAt(gate, to) ? undefined : heldAt(gate, to)
  if (!before && !after) return []
  if (!before) return ['added']
  if (!after) return ['removed']
  const found: Change[] = []
  if (before.default !== after.default) found.push(after.default ? 'flipped on' : 'flipped off')
  if (before.locked !== after.locked) found.push(after.locked ? 'locked' : 'unlocked')
  if (before.stage !== after.stage && found.length === 0) found.push('promoted')
  return found
}

/** Whether a server with today's values would refuse to start as the other version. */
export function blocks(gate: FeatureGate, to: string): boolean {
  const set = gate.status.perServer.filter((server) => ['flag', 'env', 'file'].includes(server.source))
  if (set.length === 0) return false
  if (isGoneAt(gate, to)) return true
  const held = heldAt(gate, to)
  return !held || (held.locked && set.some((server) => server.value !== held.default))
}

/** The versions worth a column: what the binary can emulate, and the release after it. */
export function columns(gates: readonly FeatureGate[]): string[] {
  const newest = gates.map(binaryOf).filter((version) => minor(version)[0] > 0).sort(compareMinors).at(-1)
  if (!newest) return []
  return [-4, -3, -2, -1, 0, 1].map((step) => plusMinors(newest, step))
}

/** The flag that sets what is set today. */
export function flagLine(gates: readonly FeatureGate[], id: string): string {
  const items = gates.flatMap((gate) => {
    const server = valueOn(gate, id)
    if (!server || server.value === server.default) return []
    const prefix = gate.spec.component === 'kube' ? '' : `${gate.spec.component}:`
    return [`${prefix}${gate.spec.gate}=${server.value}`]
  })
  return `--feature-gates=${items.join(',')}`
}
