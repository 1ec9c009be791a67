// `node login.js login ORDER`: twenty records there and back, as somebody, perhaps over TLS.
'use strict'

const { readFileSync } = require('node:fs')
const { Kafka, logLevel } = require('kafkajs')

const RECORDS = 20
const asked = JSON.parse(process.argv[3])

const kafka = new Kafka({
  brokers: [asked.bootstrap],
  logLevel: logLevel.NOTHING,
  retry: { initialRetryTime: 50, retries: 5 },
  connectionTimeout: 10000,
  ssl: asked.authority && {
    ca: [readFileSync(asked.authority)],
    ...(asked.certificate && { cert: readFileSync(asked.certificate), key: readFileSync(asked.key) }),
  },
  sasl: asked.mechanism && {
    mechanism: asked.mechanism.toLowerCase(),
    username: asked.user,
    password: asked.password,
    oauthBearerProvider: async () => ({ value: asked.token }),
  },
})

async function main() {
  const producer = kafka.producer()
  await producer.connect()
  for (let n = 0; n < RECORDS; n++) {
    await producer.send({ topic: asked.topic, messages: [{ value: String(n) }] })
  }
  await producer.disconnect()
  const consumer = kafka.consumer({ groupId: `login-${asked.topic}`, maxWaitTimeInMs: 100 })
  await consumer.connect()
  await consumer.subscribe({ topics: [asked.topic], fromBeginning: true })
  let got = 0
  await new Promise((resolve, reject) => {
    consumer.on(consumer.events.CRASH, ({ payload }) => payload.restart || reject(payload.error))
    const eachMessage = async () => {
      if (++got === RECORDS) resolve()
    }
    consumer.run({ eachMessage }).catch(reject)
  })
  await consumer.disconnect()
}

main().then(
  () => process.exit(0),
  (error) => {
    console.log(`${error.name}: ${error.message}`)
    process.exit(1)
  },
)
