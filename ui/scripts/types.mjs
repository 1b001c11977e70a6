// The types of the API, from what the server says about itself (openapi.json, which a test of the
// server keeps fresh).
import { readFileSync, writeFileSync } from 'node:fs'

const { schemas } = JSON.parse(readFileSync('openapi.json', 'utf8'))
const names = { spec: 'Spec', status: 'Status', perServer: 'Server', history: 'Entry' }
const written = new Map()

function typeOf(schema, name) {
  if (schema.type === 'array') return `${typeOf(schema.items, name)}[]`
  if (schema.type !== 'object') return { string: 'string', boolean: 'boolean', integer: 'number' }[schema.type]
  const own = names[name] ?? name
  const lines = Object.entries(schema.properties).map(([key, property]) => {
    const mark = schema.required?.includes(key) ? '' : '?'
    const comment = property.description ? `  /** ${property.description} */\n` : ''
    return `${comment}  ${key}${mark}: ${typeOf(property, key)}`
  })
  written.set(own, `/** ${schema.description} */\nexport interface ${own} {\n${lines.join('\n')}\n}`)
  return own
}

const gate = schemas['dev.lockstep.v1alpha1.FeatureGate']
for (const name of ['spec', 'status']) typeOf(gate.properties[name], name)
written.set('FeatureGate', `/** ${gate.description} */
export interface FeatureGate {
  metadata: { name: string; resourceVersion: string }
  spec: Spec
  status: Status
}

export interface FeatureGateList {
  metadata: { resourceVersion: string }
  items: FeatureGate[]
}`)
const text = `// Written by scripts/types.mjs from openapi.json; \`npm run build\` writes it again.\n\n${[...written.values()].join('\n\n')}\n`
writeFileSync('src/lib/types.ts', text)
