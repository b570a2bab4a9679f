// A real OpenID Connect provider on loopback: `oidc-provider`, certified, with RS256 and a required code challenge.
// node oidc_provider.mjs MODULES PORT PEOPLE CLIENT SECRET REDIRECT_URI; PEOPLE is a JSON file of claims by subject, read at every login.
// It prints one line as soon as it listens, and signs with a new key at every start.
import { generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

const [modules, port, people, client, secret, redirect] = process.argv.slice(2)
const { Provider } = await import(pathToFileURL(`${modules}/oidc-provider/lib/index.js`))
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const key = { ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: `key-${process.pid}` }
const issuer = `http://127.0.0.1:${port}`

const provider = new Provider(issuer, {
    clients: [
        {
            client_id: client,
            ...(secret ? { client_secret: secret } : {}),
            token_endpoint_auth_method: secret ? 'client_secret_basic' : 'none',
            application_type: 'native', // plain HTTP, on loopback
            redirect_uris: [redirect],
        },
    ],
    claims: {
        openid: ['sub'],
        profile: ['name', 'preferred_username', 'groups'],
        email: ['email', 'email_verified'],
    },
    findAccount: (_, sub) => ({
        accountId: sub,
        claims: () => ({ sub, ...JSON.parse(readFileSync(people, 'utf8'))[sub] }),
    }),
    jwks: { keys: [key] },
    cookies: { keys: ['only for tests'] },
    pkce: { required: () => true },
})
provider.listen(Number(port), '127.0.0.1', () => console.log(`listens on ${issuer}`))
