// Written by scripts/types.mjs from openapi.json; `npm run build` writes it again.

/** What the gate is. */
export interface Spec {
  /** What it is a part of. */
  component: string
  /** What must be on for it to be on. */
  dependsOn: string[]
  /** What it is for. */
  description: string
  /** Its name, as --feature-gates takes it. */
  gate: string
}

/** What holds from a version on. */
export interface Entry {
  /** What it is if nobody says anything. */
  default: boolean
  /** Whether it can be changed no more. */
  locked: boolean
  /** The entry holds only for servers that need not get along with anything older. */
  minCompatibilityVersion?: string
  /** How far it is: Alpha, Beta, GA, Deprecated, or PreAlpha before its time. */
  stage: string
  /** The first version. */
  version: string
}

/** One server. */
export interface Server {
  /** The version of the component in that program. */
  binaryVersion: string
  /** What it is if nobody says anything. */
  default: boolean
  /** The version it emulates. */
  emulationVersion: string
  /** The machine it runs on. */
  host: string
  /** The name of the server's lease in kube-system. */
  id: string
  /** Whether it can be changed no more. */
  locked: boolean
  /** The oldest version it must get along with. */
  minCompatibilityVersion: string
  /** The version since which that holds. */
  since: string
  /** Who decided that: default, flag, env, file, override, AllAlpha or AllBeta. */
  source: string
  /** How far it is: Alpha, Beta, GA, Deprecated, or PreAlpha before its time. */
  stage: string
  /** Whether the gate is on there. */
  value: boolean
}

/** What servers decided. */
export interface Status {
  /** What it is if nobody says anything. */
  default: boolean
  /** Whether it is on, on every server. */
  enabled: boolean
  /** Oldest first. */
  history: Entry[]
  /** Whether it can be changed no more. */
  locked: boolean
  /** Each server that lives. */
  perServer: Server[]
  /** The version that may go without it. */
  removeIn?: string
  /** The version since which that holds. */
  since: string
  /** Who decided the values. */
  source: string
  /** How far it is: Alpha, Beta, GA, Deprecated, or PreAlpha before its time. */
  stage: string
}

/** A feature gate as the servers have it. Written by servers alone. */
export interface FeatureGate {
  metadata: { name: string; resourceVersion: string }
  spec: Spec
  status: Status
}

export interface FeatureGateList {
  metadata: { resourceVersion: string }
  items: FeatureGate[]
}
