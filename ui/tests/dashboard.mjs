// The dashboard in a browser, against real servers: node tests/dashboard.mjs, started by
// `cargo xtask ui` with the addresses and tokens of its servers in the environment.
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import test, { after, before } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { chromium } from 'playwright-core'

const { DASHBOARD_URL: url, DASHBOARD_TOKEN: token, DASHBOARD_SHOTS: shots, CHROMIUM: executablePath } = process.env
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
/** How long anything may take on a machine that has other things to do. */
const PATIENCE = 240_000
let browser

before(async () => {
  mkdirSync(shots, { recursive: true })
  browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
})
after(() => browser.close())

/** A page of somebody who has signed in. */
async function visit(path = '', options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options })
  context.setDefaultTimeout(PATIENCE)
  await context.addInitScript((token) => sessionStorage.setItem('lockstep.token', token), token)
  const page = await context.newPage()
  const strangers = []
  page.on('request', (request) => new URL(request.url()).origin === new URL(url).origin || strangers.push(request.url()))
  page.on('console', (message) => /Content.Security.Policy/i.test(message.text()) && strangers.push(message.text()))
  page.strangers = strangers
  await page.goto(`${url}/ui/${path}`)
  return page
}

async function live(page) {
  await page.locator('output.state[data-state=live]').waitFor()
  await page.locator('h1').waitFor()
}

/** What the thread of a page has worked, in milliseconds, without waiting for others of the machine. */
async function spent(session) {
  const { metrics } = await session.send('Performance.getMetrics')
  const counted = metrics.filter(({ name }) => ['ScriptDuration', 'LayoutDuration', 'RecalcStyleDuration'].includes(name))
  return counted.reduce((sum, { value }) => sum + value * 1000, 0)
}

/** Waits until what is read is what is expected; what was read last is told otherwise. */
async function until(read, expected) {
  const end = Date.now() + PATIENCE
  let last
  do {
    last = await read()
    if (isDeepStrictEqual(last, expected)) return
    await new Promise((done) => setTimeout(done, 50))
  } while (Date.now() < end)
  assert.deepEqual(last, expected)
}

const gates = (page) => page.locator('.matrix tbody th a').allTextContents()

for (const colorScheme of ['light', 'dark']) {
  for (const [size, viewport] of [['wide', { width: 1440, height: 900 }], ['narrow', { width: 320, height: 720 }]]) {
    for (const [view, path] of [
      ['matrix', ''],
      ['versions', '?tab=versions&from=1.33&to=1.36'],
      ['servers', '?tab=servers'],
      ['feature', '?gate=kube.watchlist'],
      ['missing', '?gate=kube.nothing'],
    ]) {
      test(`U7: axe finds nothing: ${view}, ${colorScheme}, ${size}`, async () => {
        const page = await visit(path, { colorScheme, viewport })
        await live(page)
        await page.screenshot({ path: `${shots}/${view}-${colorScheme}-${size}.png` })
        await page.evaluate(axe)
        const { violations } = await page.evaluate(() => globalThis.axe.run())
        assert.deepEqual(violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)]), [])
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
        assert.ok(wide <= 0, `the page is ${wide} px too wide`)
        assert.deepEqual(page.strangers, [])
        await page.context().close()
      })
    }
  }
}

test('8.1 Features: the filter narrows, and U1: the address is the state', async () => {
  const page = await visit()
  await live(page)
  await until(async () => (await gates(page)).length > 3, true)
  const all = await gates(page)
  await page.fill('#filter', 'watchlist')
  await until(() => gates(page), ['WatchList'])
  await until(() => new URL(page.url()).search, '?q=watchlist')
  await page.reload()
  await live(page)
  await until(() => gates(page), ['WatchList'])
  await page.selectOption('#stage', 'Alpha')
  await page.getByText('Nothing matches').waitFor()
  await page.getByRole('button', { name: 'Clear the filter' }).click()
  await until(() => gates(page), all)
  await page.context().close()
})

test('8.1 Features: what differs from the default, and the line to copy', async () => {
  const page = await visit('?only=changed')
  await live(page)
  await until(() => gates(page), ['WatchList'])
  const lines = () => page.locator('.copy code').allTextContents()
  await until(async () => (await lines()).sort(), ['--feature-gates=', '--feature-gates=WatchList=false', 'kubectl get featuregates -o wide'])
  await page.context().close()
})

test('§9 dashboard page: what is ready for removal', async () => {
  const page = await visit('?q=nothing-yet')
  await page.route('**/featuregates*', async (route) => {
    if (route.request().url().includes('watch=')) return route.continue()
    const answer = await route.fetch()
    const list = await answer.json()
    const gate = list.items.find((item) => item.metadata.name === 'kube.watchlist')
    gate.status.removeIn = '1.36'
    await route.fulfill({ json: list })
  })
  await page.goto(`${url}/ui/`)
  await live(page)
  await page.getByRole('button', { name: 'ready for removal' }).click()
  await until(() => gates(page), ['WatchList'])
  await until(() => new URL(page.url()).search, '?only=removable')
  await page.context().close()
})

test('8.1 Features: two versions are compared', async () => {
  const page = await visit('?tab=versions')
  await live(page)
  await page.selectOption('#from', '1.33')
  await page.selectOption('#to', '1.36')
  await until(() => new URL(page.url()).search, '?tab=versions&from=1.33&to=1.36')
  await page.locator('section.group tbody tr').first().waitFor()
  await page.locator('.verdict', { hasText: '1.36 starts' }).waitFor()
  await page.context().close()
})

test('§9 dashboard page: the difference between two servers', async () => {
  const page = await visit('?tab=servers')
  await live(page)
  await until(() => page.locator('tbody th a').allTextContents(), ['WatchList'])
  await until(async () => (await page.locator('tbody td b').allTextContents()).sort(), ['off', 'on'])
  await page.context().close()
})

test('U4: keys lead to a gate and back', async () => {
  const page = await visit()
  await live(page)
  await page.keyboard.press('Control+k')
  await page.locator('dialog[open] input').waitFor()
  await page.keyboard.type('watchlist')
  await until(() => page.locator('#found li span').allTextContents(), ['WatchList'])
  await page.keyboard.press('Enter')
  await page.locator('h1', { hasText: 'WatchList' }).waitFor()
  await page.keyboard.press('g')
  await page.keyboard.press('f')
  await page.locator('h1', { hasText: 'Features' }).waitFor()
  await page.keyboard.press('/')
  await until(() => page.evaluate(() => document.activeElement.id), 'filter')
  await page.goBack()
  await page.locator('h1', { hasText: 'WatchList' }).waitFor()
  await page.context().close()
})

test('U2: a lost connection is told, and found again', async () => {
  const page = await visit('?q=nothing-yet')
  let watches = 0
  await page.route('**/featuregates?watch=*', (route) => (watches++ ? route.abort() : route.fulfill({ body: '' })))
  await page.goto(`${url}/ui/`)
  await page.locator('output.state[data-state=reconnecting]').waitFor()
  await until(() => watches > 3, true)
  assert.ok((await gates(page)).length > 3)
  assert.match(await page.locator('output.state').textContent(), /stale since/)
  await page.unroute('**/featuregates?watch=*')
  await page.locator('output.state[data-state=live]').waitFor()
  await page.context().close()
})

test('U6: without a token the page asks for one, and a wrong one is told', async () => {
  const context = await browser.newContext()
  context.setDefaultTimeout(PATIENCE)
  const page = await context.newPage()
  await page.goto(`${url}/ui/`)
  const asked = page.locator('h1').filter({ hasText: /Sign in|Not allowed/ })
  await asked.waitFor()
  await context.addInitScript(() => sessionStorage.setItem('lockstep.token', 'wrong'))
  await page.reload()
  await page.locator('h1', { hasText: 'Sign in' }).waitFor()
  await context.close()
})

test('U3: of a thousand gates only the rows in sight are drawn', async () => {
  const page = await visit('?q=nothing-yet')
  await page.route('**/featuregates*', async (route) => {
    if (route.request().url().includes('watch=')) return
    const answer = await route.fetch()
    const list = await answer.json()
    const gate = list.items.find((item) => item.metadata.name === 'kube.watchlist')
    list.items = Array.from({ length: 1000 }, (_, index) => ({ ...gate, metadata: { name: `kube.g${index}`, resourceVersion: '1' }, spec: { ...gate.spec, gate: `Gate${index}` } }))
    await route.fulfill({ json: list })
  })
  await page.goto(`${url}/ui/`)
  await page.getByText('1000 of 1000').waitFor()
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  const begin = await spent(session)
  const texts = ['gate1', 'gate10', 'gate5', '']
  for (const text of texts) {
    await page.fill('#filter', text)
    const left = Array.from({ length: 1000 }, (_, index) => `Gate${index}`).filter((gate) => gate.toLowerCase().includes(text))
    await page.getByText(`${left.length} of 1000`).waitFor()
    await until(async () => (await gates(page)).every((gate, index) => gate === left[index]), true)
    const drawn = (await gates(page)).length
    assert.ok(drawn > 10 && drawn < 100, `${drawn} rows are drawn`)
  }
  const each = ((await spent(session)) - begin) / texts.length
  console.log(`filtering 1000 gates took ${each.toFixed(1)} ms of script, style and layout`)
  await page.context().close()
})

test('U8 and U9: headers, missing files, other names', async () => {
  const page = await fetch(`${url}/ui/`)
  assert.match(page.headers.get('content-security-policy'), /^default-src 'self'; frame-ancestors 'none'/)
  assert.equal((await fetch(`${url}/ui/app.js.map`)).status, 404)
  assert.equal((await fetch(`${url}/ui/features`)).status, 404)
  assert.equal((await fetch(`${url}/apis/lockstep.dev/v1alpha1/featuregates`, { headers: { origin: 'http://evil.example' } })).status, 403)
  const tag = page.headers.get('etag')
  assert.equal((await fetch(`${url}/ui/`, { headers: { 'if-none-match': tag } })).status, 304)
})
