// Who the viewer is: a token in this tab, and nowhere else.
const KEY = 'lockstep.token'

let token = sessionStorage.getItem(KEY) ?? ''

export function headers(): Record<string, string> {
  return token ? { authorization: `Bearer ${token}` } : {}
}

export function signIn(value: string): void {
  token = value
  sessionStorage.setItem(KEY, value)
}

export function signOut(): void {
  token = ''
  sessionStorage.removeItem(KEY)
}

export function isSignedIn(): boolean {
  return token !== ''
}

/** How viewers sign in here. */
export async function begin(): Promise<'token' | 'invitation'> {
  const invitation = new URLSearchParams(location.hash.slice(1)).get('t')
  if (invitation) {
    history.replaceState(null, '', location.pathname + location.search)
    const answer = await fetch('/ui/session', { method: 'POST', headers: { authorization: `Bearer ${invitation}` } })
    if (answer.ok) signIn((await answer.json()).token)
  }
  const answer = await fetch('/ui/session').catch(() => undefined)
  const { signIn: how } = answer?.ok ? await answer.json() : { signIn: 'token' }
  return how
}
