// The objects of one kind, kept up to date by one watch.
import type { FeatureGate, FeatureGateList } from './types'
import { headers } from './session.svelte'

const PATH = '/apis/lockstep.dev/v1alpha1/featuregates'
/** Pauses between attempts, in milliseconds; the last is kept. */
const PAUSES = [250, 500, 1000, 2000, 5000]

export type State =
  | { is: 'loading' }
  | { is: 'live' }
  | { is: 'reconnecting'; since: Date }
  | { is: 'unauthorized' }
  | { is: 'forbidden'; why: string }
  | { is: 'unreachable'; why: string }

const pause = (length: number): Promise<void> => new Promise((done) => setTimeout(done, length))

class Refused extends Error {
  constructor(readonly code: number, message: string) {
    super(message)
  }
}

export class Live {
  gates = $state.raw<FeatureGate[]>([])
  state = $state<State>({ is: 'loading' })
  #version = ''
  #failures = 0
  #stop = new AbortController()

  async run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        if (!this.#version) await this.#list()
        await this.#watch()
        await pause(PAUSES[0] ?? 250)
      } catch (error) {
        if (this.#stop.signal.aborted) return
        if (this.#failed(error)) return
        await pause(PAUSES[Math.min(this.#failures++, PAUSES.length - 1)] ?? 5000)
      }
    }
  }

  stop(): void {
    this.#stop.abort()
  }

  /** Shows what is wrong; tells whether trying again is of no use. */
  #failed(error: unknown): boolean {
    const why = error instanceof Error ? error.message : String(error)
    const code = error instanceof Refused ? error.code : 0
    if (code === 410) {
      this.#version = ''
      return false
    }
    if (code === 401) {
      this.state = { is: 'unauthorized' }
      return true
    }
    if (code === 403) {
      this.state = { is: 'forbidden', why }
      return true
    }
    if (this.gates.length === 0) this.state = { is: 'unreachable', why }
    else if (this.state.is !== 'reconnecting') this.state = { is: 'reconnecting', since: new Date() }
    return false
  }

  /** What is shown is true from here on; an attempt alone says nothing. */
  #answered(): void {
    this.state = { is: 'live' }
    this.#failures = 0
  }

  async #list(): Promise<void> {
    const answer = await this.#ask(PATH)
    const list = (await answer.json()) as FeatureGateList
    this.#version = list.metadata.resourceVersion
    this.gates = list.items
    this.#answered()
  }

  async #watch(): Promise<void> {
    const query = `?watch=true&allowWatchBookmarks=true&resourceVersion=${encodeURIComponent(this.#version)}`
    const answer = await this.#ask(PATH + query)
    this.#answered()
    if (!answer.body) return
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
    let rest = ''
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      const lines = (rest + value).split('\n')
      rest = lines.pop() ?? ''
      this.#take(lines.filter((line) => line !== ''))
    }
  }

  /** Takes in several changes at once, so that the page is drawn once. */
  #take(lines: string[]): void {
    if (lines.length === 0) return
    const gates = new Map(this.gates.map((gate) => [gate.metadata.name, gate]))
    for (const line of lines) {
      const { type, object } = JSON.parse(line)
      if (type === 'ERROR') throw new Refused(object.code ?? 0, object.message ?? 'the watch failed')
      this.#version = object.metadata.resourceVersion
      if (type === 'BOOKMARK') continue
      if (type === 'DELETED') gates.delete(object.metadata.name)
      else gates.set(object.metadata.name, object)
    }
    this.gates = [...gates.values()].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
  }

  async #ask(path: string): Promise<Response> {
    const answer = await fetch(path, { headers: headers(), signal: this.#stop.signal })
    if (answer.ok) return answer
    const status = await answer.json().catch(() => ({}))
    throw new Refused(answer.status, status.message ?? answer.statusText)
  }
}
