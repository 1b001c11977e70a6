// Compressed forms of every built file. One that still holds its file is left as it is, so that the
// same source gives the same bytes whichever release of a compressor is at hand.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, brotliDecompressSync, constants, gunzipSync, gzipSync } from 'node:zlib'

const forms = [
  ['.br', (bytes) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }), brotliDecompressSync],
  ['.gz', (bytes) => gzipSync(bytes, { level: 9 }), gunzipSync],
]

export function compressed(folder) {
  const kept = new Map()
  return {
    name: 'compressed',
    apply: 'build',
    buildStart() {
      if (!existsSync(folder)) return
      for (const name of readdirSync(folder)) kept.set(name, readFileSync(join(folder, name)))
    },
    closeBundle() {
      const names = readdirSync(folder).filter((name) => !/\.(br|gz)$/.test(name))
      for (const name of names) {
        const plain = readFileSync(join(folder, name))
        for (const [ending, compress, expand] of forms) {
          const before = kept.get(name + ending)
          const holds = before !== undefined && expand(before).equals(plain)
          writeFileSync(join(folder, name + ending), holds ? before : compress(plain))
        }
      }
    },
  }
}
